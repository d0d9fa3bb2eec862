//! The web side: listeners, router, scrapes, status page, and the protection of all that.
//!
//! It only reads what was published: no request here ever waits for a poll or calls the API. Connections and responses are
//! bounded in number, size and time, and where there are too many, those of the client that has most are ended
//! ([`crate::server::fair_share`]). A client can delay others by the work that it asks for, such as verifying passwords, and no longer than
//! that takes; the shutdown by 4 seconds at most.

pub mod app;
mod follow;
mod middleware;
mod negotiate;
mod page;
mod router;
mod scrape;
pub mod state;
#[cfg(test)]
pub mod testing;

pub use app::App;
pub use state::{ReloadRequest, Shared};

use tokio::net::TcpListener;

/// Serves until the app is to stop; then stops accepting, finishes the requests under way, and returns, within 4
/// seconds at most.
pub async fn serve(listeners: Vec<TcpListener>, app: App) {
    let description = app.current().site.file.description.clone();
    if !description.is_empty() {
        tracing::info!(description, "the web configuration is in force");
    }
    tokio::select! {
        () = crate::server::accept::serve(listeners, app.clone()) => {}
        () = follow::follow(app) => {}
    }
}
