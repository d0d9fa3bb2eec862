//! The state that all handlers share.

use crate::{
    config::WebConfig,
    diagnosis::Finding,
    domain::document::Document,
    metrics::{exposition::Exposition, instruments::Instruments},
    support::clock::Clock,
};
use std::sync::Arc;
use tokio::{
    sync::{mpsc, oneshot, watch},
    time::Instant,
};

/// A reload over HTTP: the sender of its outcome, which is a message if nothing has changed.
pub type ReloadRequest = oneshot::Sender<Result<(), String>>;

/// The last publication with its diagnosis, which is renewed while document and exposition stay.
#[derive(Debug)]
pub struct Current {
    pub document: Arc<Document>,
    pub exposition: Arc<Exposition>,
    /// The findings, sorted by kind.
    pub findings: Vec<Finding>,
}

/// The state of all handlers. A reload replaces it by one with other settings.
#[derive(Debug, Clone)]
pub struct AppState {
    pub current: watch::Receiver<Arc<Current>>,
    /// The last heartbeat of the task that polls.
    pub alive: watch::Receiver<Instant>,
    pub instruments: Arc<Instruments>,
    /// The channel for requests to `/-/reload`.
    pub reload: mpsc::Sender<ReloadRequest>,
    pub clock: Clock,
    pub settings: WebConfig,
    /// The host of the API, for people.
    pub api: Arc<str>,
}

impl AppState {
    /// Returns the same state with other settings.
    pub fn reconfigured(&self, settings: WebConfig) -> Arc<Self> {
        Arc::new(Self {
            settings,
            ..self.clone()
        })
    }

    /// Returns the last publication with its diagnosis.
    pub fn current(&self) -> Arc<Current> {
        Arc::clone(&self.current.borrow())
    }
}
