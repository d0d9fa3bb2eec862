//! A hardened HTTP server: listeners, connections, TLS, authentication, limits, and the web
//! configuration file of Prometheus' exporter-toolkit, which it follows.
//!
//! The server knows nothing of the routes that it serves: a [`Server`] takes an [`axum::Router`],
//! of which [`protect`] makes the part behind the web configuration file.

mod accept;
mod auth;
mod connection;
mod follower;
mod limit;
pub mod listen;
mod protection;
mod supervisor;
#[cfg(test)]
pub mod testing;
pub mod web_config;

pub use accept::run;
pub use protection::protect;

use axum::Router;
use std::sync::Arc;
use supervisor::{Supervisor, max_connections};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use web_config::WebConfigFile;

/// A server that [`run`] runs. Clones share everything.
#[derive(Clone)]
pub struct Server {
    router: Router,
    /// The web configuration file under which the next request is served.
    active: watch::Sender<Arc<WebConfigFile>>,
    observe: Arc<dyn Fn(Event) + Send + Sync>,
    supervisor: Arc<Supervisor>,
    /// Cancelled to stop the server.
    stop: CancellationToken,
}

/// An event that the owner of a server may count or report.
pub enum Event {
    /// A TLS handshake failed otherwise than by a client that left.
    HandshakeFailed,
    /// A changed web configuration file became active, or was refused.
    FileChanged(anyhow::Result<Arc<WebConfigFile>>),
}

impl Server {
    /// Returns a server that runs until `stop` is cancelled.
    pub fn new(
        router: Router,
        file: WebConfigFile,
        observe: impl Fn(Event) + Send + Sync + 'static,
        stop: CancellationToken,
    ) -> Self {
        Self {
            router,
            active: watch::Sender::new(Arc::new(file)),
            observe: Arc::new(observe),
            supervisor: Arc::new(Supervisor::new(max_connections())),
            stop,
        }
    }

    fn file(&self) -> Arc<WebConfigFile> {
        Arc::clone(&self.active.borrow())
    }
}
