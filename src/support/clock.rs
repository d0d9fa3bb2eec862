//! The clock: the only source of wall-clock time, except for the timestamps of log lines.
//!
//! The wall clock is for timestamps, which are shown and compared across restarts. Durations are
//! measured with tokio's monotonic clock.

use super::lock::lock;
use jiff::{
    SignedDuration,
    civil::{DateTime, datetime},
};
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};
use std::{fmt, sync::Mutex, time::Duration};
use tokio::time::Instant;

pub const DAY: Duration = Duration::from_secs(24 * 60 * 60);
pub const WEEK: Duration = Duration::from_secs(7 * 24 * 60 * 60);

const UNIX_EPOCH: DateTime = datetime(1970, 1, 1, 0, 0, 0, 0);

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

    /// Converts a date and time in UTC. `jiff::Timestamp` would refuse the last day of the year
    /// 9999, by which people mean "never".
    pub fn at_civil(time: DateTime) -> Self {
        let since_1970 = time.duration_since(UNIX_EPOCH);
        Self::from_millis(i64::try_from(since_1970.as_millis()).unwrap_or(i64::MAX))
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

    /// Returns whether clocks that show these times agree.
    fn agrees_with(self, other: Self) -> bool {
        self.since(other).max(other.since(self)) <= AGREEMENT
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

/// The largest difference of two clocks that agree: more than networks, leap seconds and sloppy
/// clocks cause, and far less than matters to a progress clock.
const AGREEMENT: Duration = Duration::from_secs(60 * 60);

/// The clock of the machine, corrected by the API's: while the two differ by more than an hour, the
/// API's is the time. A machine without a clock battery therefore records no wrong time. Cheap to
/// copy.
#[derive(Clone, Copy)]
pub struct Clock {
    /// Returns the uncorrected time.
    machine: &'static (dyn Fn() -> Timestamp + Sync),
    /// Returns the time since some start, which no one can set. It goes on while the machine
    /// sleeps, as its clock does.
    uptime: &'static (dyn Fn() -> Duration + Sync),
    /// The API's time at an uptime.
    reference: &'static Mutex<Option<(Timestamp, Duration)>>,
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}

/// The reference of [`Clock::system`]. The mutex keeps its two times together.
static REFERENCE: Mutex<Option<(Timestamp, Duration)>> = Mutex::new(None);

/// Two clocks that differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WrongClock {
    pub machine: Timestamp,
    pub api: Timestamp,
}

/// One moment on both clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// The time for timestamps. It can jump.
    pub wall: Timestamp,
    /// The time for durations within this process. It never jumps.
    pub monotonic: Instant,
}

impl Moment {
    /// Returns the wall-clock time of this moment. If the clock of `now` shows that the recorded
    /// time is more than an hour wrong, the time is counted back from `now`.
    pub fn seen_from(self, now: Self) -> Timestamp {
        let elapsed = now.monotonic.saturating_duration_since(self.monotonic);
        let corrected = now.wall.saturating_sub(elapsed);
        if corrected.agrees_with(self.wall) {
            self.wall
        } else {
            corrected
        }
    }

    /// Returns the wall-clock time of `later`, unless the wall clock is set before it.
    pub fn wall_at(self, later: Instant) -> Timestamp {
        self.wall.saturating_add(later - self.monotonic)
    }
}

impl Clock {
    /// Returns the clock of the system. All such clocks share one reference.
    pub fn system() -> Self {
        Self {
            machine: &|| Timestamp::from_millis(jiff::Timestamp::now().as_millisecond()),
            uptime: &|| {
                let uptime = clock_gettime(ClockId::Boottime);
                Duration::try_from(uptime).unwrap_or_default()
            },
            reference: &REFERENCE,
        }
    }

    /// Returns the corrected time.
    pub fn now(self) -> Timestamp {
        self.wrong()
            .map_or_else(|| (self.machine)(), |wrong| wrong.api)
    }

    pub fn moment(self) -> Moment {
        Moment {
            wall: self.now(),
            monotonic: Instant::now(),
        }
    }

    /// Takes note of the API's clock, which shows `api` now.
    pub fn compare(self, api: Timestamp) {
        *lock(self.reference) = Some((api, (self.uptime)()));
    }

    /// Returns both times if the machine's clock and the API's differ by more than an hour.
    pub fn wrong(self) -> Option<WrongClock> {
        let (api, uptime) = (*lock(self.reference))?;
        let machine = (self.machine)();
        let api = api.saturating_add((self.uptime)().saturating_sub(uptime));
        (!machine.agrees_with(api)).then_some(WrongClock { machine, api })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Timestamp = Timestamp::from_millis(1_700_000_000_000);

    impl Clock {
        /// Returns a clock that shows `start` now and follows tokio's clock, which may be paused.
        pub fn following_tokio(start: Timestamp) -> Self {
            Self::ahead_by(Instant::now(), start, Box::leak(Box::default()))
        }

        /// Returns a clock that showed `start` at `origin`, and is ahead by some milliseconds.
        pub fn ahead_by(
            origin: Instant,
            start: Timestamp,
            ahead_by: &'static std::sync::atomic::AtomicI64,
        ) -> Self {
            let machine = move || {
                let right = start.saturating_add(origin.elapsed());
                let ahead_by = ahead_by.load(std::sync::atomic::Ordering::Relaxed);
                Timestamp::from_millis(right.as_millis() + ahead_by)
            };
            Self {
                machine: Box::leak(Box::new(machine)),
                uptime: Box::leak(Box::new(move || origin.elapsed())),
                reference: Box::leak(Box::default()),
            }
        }

        /// Sets the clock of the machine.
        pub fn set(&mut self, now: Timestamp) {
            let set_at = Instant::now();
            self.machine = Box::leak(Box::new(move || now.saturating_add(set_at.elapsed())));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn clocks_agree_up_to_an_hour() {
        let hour = AGREEMENT;
        let more = hour + Duration::from_millis(1);
        for api in [START.saturating_sub(hour), START.saturating_add(hour)] {
            let clock = Clock::following_tokio(START);
            clock.compare(api);
            assert_eq!((clock.now(), clock.wrong()), (START, None));
        }
        for api in [START.saturating_sub(more), START.saturating_add(more)] {
            let clock = Clock::following_tokio(START);
            clock.compare(api);
            let machine = START;
            assert_eq!(
                (clock.now(), clock.wrong()),
                (api, Some(WrongClock { machine, api }))
            );
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_clock_that_steps_shows_the_time_of_the_api_at_once() {
        let mut clock = Clock::following_tokio(START);
        clock.compare(START);
        for wrong in [
            Timestamp::from_millis(0),
            Timestamp::from_millis(4_070_908_800_000),
        ] {
            clock.set(wrong);
            tokio::time::advance(Duration::from_secs(60)).await;
            assert!(clock.wrong().is_some());
        }
        assert_eq!(clock.now(), START.saturating_add(Duration::from_secs(120)));
        clock.set(START.saturating_add(Duration::from_secs(121)));
        assert_eq!(clock.wrong(), None);
    }

    #[test]
    fn the_uptime_of_the_system_moves() {
        let clock = Clock::system();
        let before = (clock.uptime)();
        while (clock.uptime)() == before {
            std::thread::yield_now();
        }
        assert!((clock.uptime)() > before);
    }
}
