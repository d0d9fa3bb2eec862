//! The clock: the only source of wall-clock time, except for the timestamps of log lines.
//!
//! The wall clock is for timestamps, which are shown and compared across restarts. Durations are
//! measured with tokio's monotonic clock.

use jiff::{
    SignedDuration,
    civil::{DateTime, datetime},
};
use std::{fmt, time::Duration};
use tokio::time::Instant;

const UNIX_EPOCH: DateTime = datetime(1970, 1, 1, 0, 0, 0, 0);

/// A point in wall-clock time: milliseconds since the Unix epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(i64);

impl Timestamp {
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// Converts a date and time in UTC. `jiff::Timestamp` would refuse the last day of the year
    /// 9999, by which people mean "never".
    pub fn at_civil(time: DateTime) -> Self {
        let since_1970 = time.duration_since(UNIX_EPOCH);
        Self(i64::try_from(since_1970.as_millis()).unwrap_or(i64::MAX))
    }

    pub const fn as_millis(self) -> i64 {
        self.0
    }

    /// Returns the seconds since the Unix epoch, exact to the millisecond.
    #[expect(
        clippy::cast_precision_loss,
        reason = "milliseconds of the years -9999 to 9999 stay below 2^53"
    )]
    pub fn as_seconds(self) -> f64 {
        self.0 as f64 / 1000.0
    }

    /// Returns the duration since `earlier`; zero if `earlier` is later.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// Adds `duration`, up to the largest timestamp.
    pub fn saturating_add(self, duration: Duration) -> Self {
        Self(
            self.0
                .saturating_add(i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)),
        )
    }
}

/// Formats RFC 3339 in UTC, to the second.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let since_1970 = SignedDuration::from_secs(self.0.div_euclid(1000));
        match UNIX_EPOCH.checked_add(since_1970) {
            Ok(time) => write!(f, "{time:.0}Z"),
            Err(_) => write!(f, "{} ms after 1970", self.0),
        }
    }
}

/// A clock. Cheap to copy.
#[derive(Debug, Clone, Copy)]
pub enum Clock {
    System,
    /// A clock for tests, which follows tokio's clock.
    #[cfg(test)]
    Tokio {
        origin: Instant,
        at_origin: Timestamp,
    },
}

/// One moment on both clocks.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    /// The time for timestamps. It can jump.
    pub wall: Timestamp,
    /// The time for durations within this process. It never jumps.
    pub monotonic: Instant,
}

impl Moment {
    /// Returns the wall-clock time of `later`, unless the wall clock is set before it.
    pub fn wall_at(self, later: Instant) -> Timestamp {
        self.wall.saturating_add(later - self.monotonic)
    }
}

impl Clock {
    /// Returns the system's clock.
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
        /// Returns a clock that shows `start` now and follows tokio's clock, which may be paused.
        pub fn following_tokio(start: Timestamp) -> Self {
            Self::Tokio {
                origin: Instant::now(),
                at_origin: start,
            }
        }
    }
}
