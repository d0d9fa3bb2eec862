//! The clock: the source of wall-clock time for all but the timestamps of log lines and the
//! validity of certificates.
//!
//! The wall clock is for timestamps, which are shown and compared across restarts. Durations are
//! measured with tokio's monotonic clock.

use serde::{Deserialize, Serialize};
use std::{fmt, time::Duration};
use tokio::time::Instant;

pub const DAY: Duration = Duration::from_secs(24 * 60 * 60);
pub const WEEK: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// A point in wall-clock time: milliseconds since the Unix epoch, also in the state file.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Timestamp(i64);

impl Timestamp {
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// Parses a time in the format of RFC 3339. The last day of the year 9999, by which people mean
    /// "never", counts as an earlier one, because jiff's last day is not whole.
    pub fn parse(text: &str) -> Option<Self> {
        let known = text.replacen("9999-12-31", "9999-12-29", 1);
        known.parse::<jiff::Timestamp>().ok().map(Self::from)
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
        let millis = self.0.saturating_sub(earlier.0);
        Duration::from_millis(u64::try_from(millis).unwrap_or(0))
    }

    /// Returns the beginning of its day: midnight in UTC.
    pub fn day_start(self) -> Self {
        Self(self.0 - self.0.rem_euclid(millis(DAY)))
    }

    /// Returns the time as jiff has it, which ends with the year 9999.
    fn jiff(self) -> jiff::Timestamp {
        jiff::Timestamp::from_millisecond(self.0).unwrap_or(jiff::Timestamp::MAX)
    }

    /// Formats the time in UTC as C's `strftime` does.
    pub fn strftime(self, format: &str) -> String {
        self.jiff().strftime(format).to_string()
    }

    /// Subtracts `duration`, down to the smallest timestamp.
    pub fn saturating_sub(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(millis(duration)))
    }

    /// Adds `duration`, up to the largest timestamp.
    pub fn saturating_add(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(millis(duration)))
    }
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

impl From<jiff::Timestamp> for Timestamp {
    fn from(time: jiff::Timestamp) -> Self {
        Self::from_millis(time.as_millisecond())
    }
}

/// Formats RFC 3339 in UTC, to the second.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.0}", self.jiff())
    }
}

/// The clock of the machine, which tests can set. Cheap to copy.
#[derive(Clone, Copy)]
pub struct Clock(&'static (dyn Fn() -> Timestamp + Sync));

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}

impl Clock {
    pub fn system() -> Self {
        Self(&|| jiff::Timestamp::now().into())
    }

    pub fn now(self) -> Timestamp {
        (self.0)()
    }

    /// Returns the time that the clock will show at `later`, unless it is set before.
    pub fn at(self, later: Instant) -> Timestamp {
        self.now()
            .saturating_add(later.saturating_duration_since(Instant::now()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicI64, Ordering};

    impl Clock {
        /// Returns a clock that shows `start` now and follows tokio's clock, which may be paused.
        pub fn following_tokio(start: Timestamp) -> Self {
            Self::ahead_by(Instant::now(), start, Box::leak(Box::default()))
        }

        /// Returns a clock that showed `start` at `origin`, and is ahead by some milliseconds.
        pub fn ahead_by(origin: Instant, start: Timestamp, ahead_by: &'static AtomicI64) -> Self {
            Self(Box::leak(Box::new(move || {
                let right = start.saturating_add(origin.elapsed());
                Timestamp::from_millis(right.as_millis() + ahead_by.load(Ordering::Relaxed))
            })))
        }
    }
}
