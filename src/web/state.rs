//! The state that all handlers share.

use crate::{
    diagnosis::Finding,
    domain::document::Document,
    metrics::{exposition::Exposition, instruments::Instruments},
    support::clock::Clock,
};
use std::sync::Arc;
use tokio::{sync::watch, time::Instant};

/// The last publication with its diagnosis, which is renewed while document and exposition stay.
#[derive(Debug)]
pub struct Current {
    pub document: Arc<Document>,
    pub exposition: Arc<Exposition>,
    /// The findings, sorted by kind.
    pub findings: Vec<Finding>,
}

/// The state of all handlers.
#[derive(Debug)]
pub struct AppState {
    pub current: watch::Receiver<Arc<Current>>,
    /// The last heartbeat of the task that polls.
    pub alive: watch::Receiver<Instant>,
    pub instruments: Arc<Instruments>,
    pub clock: Clock,
    pub telemetry_path: String,
    /// The name of the API for people: its host, or `the demo`.
    pub api: Arc<str>,
}

impl AppState {
    /// Returns the last publication with its diagnosis.
    pub fn current(&self) -> Arc<Current> {
        Arc::clone(&self.current.borrow())
    }
}
