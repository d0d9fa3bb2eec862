//! When bytes of a connection last moved, in either direction, to find idle ones.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    time::{Instant, sleep_until},
};
use tokio_util::io::{InspectReader, InspectWriter};

/// The last instant at which a byte moved, to the millisecond.
#[derive(Debug)]
pub struct Moved {
    pub opened_at: Instant,
    millis: AtomicU64,
}

impl Moved {
    pub fn now() -> Arc<Self> {
        Arc::new(Self {
            opened_at: Instant::now(),
            millis: AtomicU64::new(0),
        })
    }

    /// The stream, whose bytes are observed.
    pub fn watch<S: AsyncRead + AsyncWrite + Unpin>(
        self: &Arc<Self>,
        stream: S,
    ) -> impl AsyncRead + AsyncWrite + Unpin + use<S> {
        let (reading, writing) = (Arc::clone(self), Arc::clone(self));
        let stream = InspectReader::new(stream, move |bytes| reading.note(bytes));
        InspectWriter::new(stream, move |bytes| writing.note(bytes))
    }

    fn note(&self, bytes: &[u8]) {
        if !bytes.is_empty() {
            let passed = u64::try_from(self.opened_at.elapsed().as_millis()).unwrap_or(u64::MAX);
            self.millis.store(passed, Ordering::Relaxed);
        }
    }

    pub fn last(&self) -> Instant {
        self.opened_at + Duration::from_millis(self.millis.load(Ordering::Relaxed))
    }

    /// Ends when no byte has moved for this long.
    pub async fn rested(&self, pause: Duration) {
        while self.last() + pause > Instant::now() {
            sleep_until(self.last() + pause).await;
        }
    }
}
