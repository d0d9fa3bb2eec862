//! The one source of wall-clock time, except for the API client, which always uses the system's.
//!
//! Durations are measured with tokio's monotonic clock; this one is for timestamps, which are shown and compared across
//! restarts. Under a paused tokio clock, [`Clock::following_tokio`] moves with it.

use crate::model::Timestamp;
use tokio::time::Instant;

/// Knows the time. Cheap to copy.
#[derive(Debug, Clone, Copy)]
pub struct Clock(Source);

#[derive(Debug, Clone, Copy)]
enum Source {
    System,
    Tokio {
        origin: Instant,
        at_origin: Timestamp,
    },
}

/// One moment by both clocks.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    /// For timestamps; may jump.
    pub wall: Timestamp,
    /// For durations within this process; never jumps.
    pub monotonic: Instant,
}

impl Clock {
    /// The system's clock.
    #[must_use]
    pub fn system() -> Self {
        Self(Source::System)
    }

    /// A clock that shows `start` now and then moves with tokio's clock.
    #[must_use]
    pub fn following_tokio(start: Timestamp) -> Self {
        Self(Source::Tokio {
            origin: Instant::now(),
            at_origin: start,
        })
    }

    #[must_use]
    pub fn now(&self) -> Timestamp {
        match self.0 {
            Source::System => Timestamp::from_millis(jiff::Timestamp::now().as_millisecond()),
            Source::Tokio { origin, at_origin } => at_origin.saturating_add(origin.elapsed()),
        }
    }

    #[must_use]
    pub fn moment(&self) -> Moment {
        Moment {
            wall: self.now(),
            monotonic: Instant::now(),
        }
    }
}
