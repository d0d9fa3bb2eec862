//! The one source of wall-clock time; the log writes the system's.
//!
//! Durations are measured with tokio's monotonic clock; this one is for timestamps, which are shown and compared across
//! restarts.

use crate::model::Timestamp;
use tokio::time::Instant;

/// Knows the time. Cheap to copy.
#[derive(Debug, Clone, Copy)]
pub enum Clock {
    System,
    /// For tests with a paused clock.
    #[cfg(test)]
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
    pub fn system() -> Self {
        Self::System
    }

    pub fn now(self) -> Timestamp {
        match self {
            Self::System => Timestamp::from_millis(jiff::Timestamp::now().as_millisecond()),
            #[cfg(test)]
            Self::Tokio { origin, at_origin } => at_origin.saturating_add(origin.elapsed()),
        }
    }

    pub fn moment(self) -> Moment {
        Moment {
            wall: self.now(),
            monotonic: Instant::now(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Clock {
        /// A clock that shows `start` now and then moves with tokio's clock, which may be paused.
        pub fn following_tokio(start: Timestamp) -> Self {
            Self::Tokio {
                origin: Instant::now(),
                at_origin: start,
            }
        }
    }
}
