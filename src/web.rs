//! The web side: listeners, router, scrapes, status page, and the protection of all that.
//!
//! It only reads what was published: no request here ever waits for a poll or asks the API. Connections, requests and
//! responses are bounded in number, size and time, so that no client can hold up another, or the shutdown.

mod auth;
mod connection;
pub mod file;
mod joined;
mod limit;
mod listen;
mod negotiate;
mod page;
mod protection;
mod scrape;
mod service;
#[cfg(test)]
mod testing;
mod tls;

pub use listen::{BindError, Listener, bind, passed_by_systemd};
pub use protection::Protection;

use crate::{clock::Clock, config::WebConfig, exposition::Published, instruments::Instruments};
use std::{future::Future, sync::Arc};
use tokio::sync::{mpsc, oneshot, watch};

/// What the web side is made of.
#[derive(Debug)]
pub struct App {
    /// `None` until something is published for the first time.
    pub published: watch::Receiver<Option<Arc<Published>>>,
    pub instruments: Arc<Instruments>,
    /// Each change takes effect from the next request.
    pub settings: watch::Receiver<Arc<WebConfig>>,
    /// Takes the requests to `/-/reload`; `None` where there is nothing to reload.
    pub reload: Option<mpsc::Sender<ReloadRequest>>,
    /// A reload puts a new web configuration file into force by [`Protection::replace_by`].
    pub protection: Protection,
    pub clock: Clock,
}

/// Someone asked for a reload over HTTP and waits for its outcome.
#[derive(Debug)]
pub struct ReloadRequest {
    /// Takes the outcome: done, or the message that says why nothing was changed.
    pub answer: oneshot::Sender<Result<(), String>>,
}

/// Serves until `shutdown` is done; then stops accepting, finishes the requests under way, and returns, within 4
/// seconds at most.
pub async fn serve(listeners: Vec<Listener>, app: App, shutdown: impl Future<Output = ()>) {
    let in_force = app.protection.description();
    if !in_force.is_empty() {
        tracing::info!(in_force = in_force.join("; "), "the web configuration is in force");
    }
    let follow = app.protection.clone().follow(Arc::clone(&app.instruments), app.clock);
    let server = Arc::new(service::Server::new(app));
    tokio::select! {
        () = connection::serve(listeners, server, shutdown) => {}
        () = follow => {}
    }
}
