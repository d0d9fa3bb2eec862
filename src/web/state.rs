//! The state that all handlers share.

use crate::{
    config::WebConfig,
    diagnosis::{self, Finding},
    metrics::{exposition::Published, instruments::Instruments},
    support::clock::Clock,
};
use std::sync::Arc;
use tokio::{
    sync::{Semaphore, mpsc, oneshot, watch},
    time::Instant,
};

/// A reload over HTTP: the sender of its outcome, which is a message if nothing has changed.
pub type ReloadRequest = oneshot::Sender<Result<(), String>>;

/// The state of all handlers. A reload replaces it by one with other settings.
#[derive(Debug)]
pub struct AppState {
    pub published: watch::Receiver<Arc<Published>>,
    /// The last heartbeat of the task that polls.
    pub alive: watch::Receiver<Instant>,
    pub instruments: Arc<Instruments>,
    /// The channel for requests to `/-/reload`.
    pub reload: mpsc::Sender<ReloadRequest>,
    pub clock: Clock,
    pub settings: WebConfig,
    /// The permits of `web.max_requests`, one for each scrape whose body is being prepared.
    pub scrapes: Semaphore,
}

impl AppState {
    pub fn new(
        published: watch::Receiver<Arc<Published>>,
        alive: watch::Receiver<Instant>,
        instruments: Arc<Instruments>,
        reload: mpsc::Sender<ReloadRequest>,
        clock: Clock,
        settings: WebConfig,
    ) -> Arc<Self> {
        Arc::new(Self {
            published,
            alive,
            instruments,
            reload,
            clock,
            scrapes: Semaphore::new(settings.max_requests),
            settings,
        })
    }

    /// Returns the same state with other settings.
    pub fn reconfigured(&self, settings: WebConfig) -> Arc<Self> {
        Self::new(
            self.published.clone(),
            self.alive.clone(),
            Arc::clone(&self.instruments),
            self.reload.clone(),
            self.clock,
            settings,
        )
    }

    /// Returns the last publication.
    pub fn published(&self) -> Arc<Published> {
        Arc::clone(&self.published.borrow())
    }

    /// Returns the current findings, worst first.
    pub fn findings(&self, published: &Published) -> Vec<Finding> {
        let facts = self.instruments.facts();
        let now = self.clock.now();
        diagnosis::findings(&published.snapshot, &published.status, &facts, now)
    }
}
