//! The web side: listeners, router, scrapes, status page, and the protection of all that.
//!
//! It only reads what was published: no request here ever waits for a poll or calls the API. Connections, requests and
//! responses are bounded in number, size and time, so that no client can delay another, or the shutdown.

mod accept;
mod app;
mod auth;
mod connection;
mod follow;
mod handshake;
mod limit;
mod listen;
mod middleware;
mod moved;
mod negotiate;
mod page;
mod router;
mod scrape;
mod state;
#[cfg(test)]
mod testing;
mod web_config;

pub use app::App;
pub use listen::{BindError, bind};
pub use state::{ReloadRequest, Sources};
pub use web_config::{WebConfigError, WebConfigFile};

use std::future::Future;
use tokio::net::TcpListener;

/// Serves until `shutdown` is done; then stops accepting, finishes the requests under way, and returns, within 4
/// seconds at most.
pub async fn serve(listeners: Vec<TcpListener>, app: App, shutdown: impl Future<Output = ()>) {
    let in_force = app.in_force().site.file.description().join("; ");
    if !in_force.is_empty() {
        tracing::info!(in_force, "the web configuration is in force");
    }
    tokio::select! {
        () = accept::serve(listeners, app.clone(), shutdown) => {}
        () = follow::follow(app) => {}
    }
}
