//! The one source of wall-clock time; the log writes the system's.
//!
//! Durations are measured with tokio's monotonic clock; this one is for timestamps, which are shown and compared across
//! restarts.

use crate::model::Timestamp;
use std::time::Duration;
use tokio::time::Instant;

/// How long the machine's clock must be behind what is known before it is believed.
const BELIEVED_AFTER: Duration = Duration::from_secs(24 * 60 * 60);

/// Knows the time. Cheap to copy.
#[derive(Debug, Clone, Copy)]
pub struct Clock(Source);

#[derive(Debug, Clone, Copy)]
enum Source {
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

/// Which time counts as now in what is recorded: that of the machine's clock, except while it is behind the newest time that is
/// known, which then stands for now. So a clock that is wrong for a while, such as before it is first synchronised, destroys
/// nothing.
#[derive(Debug, Default)]
pub struct RecordedTime {
    newest: Timestamp,
    behind_since: Option<Instant>,
}

/// What the machine's clock is worth, compared with the newest time that is known.
#[derive(Debug, PartialEq, Eq)]
pub enum ClockCheck {
    Agrees,
    /// By how much it is behind.
    Behind(Duration),
    /// It has been behind for so long that it must be right: what is later than it is wrong.
    Believed,
}

impl RecordedTime {
    /// `newest` is the newest time that is known.
    pub fn after(newest: Timestamp) -> Self {
        Self {
            newest,
            behind_since: None,
        }
    }

    /// Which time counts as now, where the machine's clock shows `machine`.
    pub fn now(&self, machine: Timestamp) -> Timestamp {
        self.newest.max(machine)
    }

    /// The same, to be recorded.
    pub fn record(&mut self, machine: Timestamp) -> Timestamp {
        self.newest = self.now(machine);
        self.newest
    }

    /// Must be called from time to time, since it measures for how long the clock has been behind.
    pub fn check(&mut self, machine: Moment) -> ClockCheck {
        if machine.wall >= self.newest {
            self.behind_since = None;
            return ClockCheck::Agrees;
        }
        let since = *self.behind_since.get_or_insert(machine.monotonic);
        if machine.monotonic - since < BELIEVED_AFTER {
            return ClockCheck::Behind(self.newest.since(machine.wall));
        }
        *self = Self::after(machine.wall);
        ClockCheck::Believed
    }
}

impl Clock {
    /// The system's clock.
    pub fn system() -> Self {
        Self(Source::System)
    }

    pub fn now(self) -> Timestamp {
        match self.0 {
            Source::System => Timestamp::from_millis(jiff::Timestamp::now().as_millisecond()),
            #[cfg(test)]
            Source::Tokio { origin, at_origin } => at_origin.saturating_add(origin.elapsed()),
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
            Self(Source::Tokio {
                origin: Instant::now(),
                at_origin: start,
            })
        }
    }

    const HOUR: Duration = Duration::from_secs(3600);
    const NEWEST: Timestamp = Timestamp::from_millis(1_700_000_000_000);
    const BEFORE: Timestamp = Timestamp::from_millis(1_600_000_000_000);

    #[tokio::test]
    async fn the_newest_time_stands_for_now_while_the_clock_is_behind_it() {
        let mut time = RecordedTime::after(NEWEST);
        assert_eq!(time.now(BEFORE), NEWEST);
        let later = NEWEST.saturating_add(HOUR);
        assert_eq!(time.record(later), later);
        assert_eq!(time.now(NEWEST), later, "a step back of an hour");
    }

    #[tokio::test]
    async fn a_clock_is_believed_after_it_was_behind_for_a_day_on_end() {
        let start = Instant::now();
        let at = |hours, wall| Moment {
            wall,
            monotonic: start + HOUR * hours,
        };
        let behind = ClockCheck::Behind(NEWEST.since(BEFORE));
        let mut time = RecordedTime::after(NEWEST);
        assert_eq!(time.check(at(0, BEFORE)), behind);
        assert_eq!(time.check(at(23, BEFORE)), behind);
        assert_eq!(time.check(at(24, NEWEST)), ClockCheck::Agrees);
        assert_eq!(time.check(at(25, BEFORE)), behind, "it begins anew");
        assert_eq!(time.check(at(48, BEFORE)), behind);
        assert_eq!(time.check(at(49, BEFORE)), ClockCheck::Believed);
        assert_eq!(time.now(BEFORE), BEFORE);
        assert_eq!(time.check(at(50, BEFORE)), ClockCheck::Agrees);
    }
}
