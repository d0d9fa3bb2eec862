//! The history of a translation: its last known completion with the progress clock, and a record
//! of days, from which everything is read that is said of the past.
//!
//! Progress is a rise to a completion that the translation did not have in the two days before. So
//! two replicas of the API that disagree, the last bit of a fraction, and a text that is taken back
//! are none; and new text stands in nobody's way: 100, 80, 83 is progress. Days are those of UTC.

use super::Completion;
use crate::support::clock::{DAY, Timestamp};
use serde::{Deserialize, Serialize};
use std::{
    iter::{once, repeat_n},
    sync::Arc,
    time::Duration,
};

/// The number of days of the record before the present one.
pub const DAYS: u32 = 14;

/// The number of days that are kept: the present one, [`DAYS`], and the one before them.
pub const KEPT: usize = DAYS as usize + 2;

/// The number of days for which a fall is shown, the present one among them.
const FALL_SHOWN_FOR: u32 = 7;

/// The time for which a completion that was left is no progress.
const SEEN_FOR: Duration = Duration::from_secs(2 * 24 * 60 * 60);

/// The maximum number of completions that are remembered for two days.
pub const MOST_SEEN: usize = 4;

/// The history of a translation whose completion was known at least once. A large account has many
/// of them, so the size of this struct decides the use of memory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct History {
    /// The last completion within the scale.
    pub completion: Completion,
    /// The progress clock: the time of the last progress, or of the first reading.
    pub progress_at: Timestamp,
    /// The first of the readings since which the translation is below its target; `None` if the
    /// last one met it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unready_since: Option<Timestamp>,
    /// The recent past, once the completion has changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub past: Option<Arc<Past>>,
}

/// The part of a history that exists only after a change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Past {
    /// The last completions that another one followed, the latest first.
    pub seen: [Seen; MOST_SEEN],
    /// The beginning of the day of the last change.
    pub date: Timestamp,
    /// The days up to that one, the latest first; the oldest one ended before the first reading,
    /// unless that is too long ago.
    pub days: Vec<Day>,
}

/// A day of the record.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Day {
    /// The last completion of the day.
    pub end: Completion,
    /// The sum of all gains by progress until its end, in the unit of completions.
    pub gained: f64,
}

/// A completion, and the time at which another one followed it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Seen {
    pub completion: Completion,
    pub until: Timestamp,
}

impl History {
    /// Begins the history with the first known completion.
    pub fn new(completion: Completion, now: Timestamp) -> Self {
        Self {
            completion,
            progress_at: now,
            unready_since: None,
            past: None,
        }
    }

    /// Takes in a completion of `now`, within the scale. A time in the future, which a wrong clock
    /// has left behind, becomes `now`.
    pub fn observe(&mut self, completion: Completion, is_ready: bool, now: Timestamp) {
        self.progress_at = self.progress_at.min(now);
        let since = self.unready_since.map_or(now, |since| since.min(now));
        self.unready_since = (!is_ready).then_some(since);
        if completion == self.completion {
            return;
        }
        let before = self.completion;
        let past = self.past.get_or_insert_with(|| {
            let never = Seen {
                completion: before,
                until: Timestamp::default(),
            };
            let first = Day {
                end: before,
                gained: 0.0,
            };
            Arc::new(Past {
                seen: [never; MOST_SEEN],
                date: self.progress_at.day_start(),
                days: vec![first; 2],
            })
        });
        if Arc::make_mut(past).observe(before, completion, now) {
            self.progress_at = now;
        }
        self.completion = completion;
    }

    /// Returns the last day before a date, or the first one if that is younger.
    fn day_before(&self, date: Timestamp) -> Day {
        let past = self.past.as_ref();
        let day = past.and_then(|past| {
            let ago = days_between(date, past.date.saturating_add(DAY));
            past.days.get(ago).or(past.days.last())
        });
        day.copied().unwrap_or(Day {
            end: self.completion,
            gained: 0.0,
        })
    }

    /// Returns the completion at the beginning of a day, or the first one if that is younger.
    pub fn before(&self, date: Timestamp) -> Completion {
        self.day_before(date).end
    }

    /// Returns the beginning of the first day of the record.
    pub fn first_date(&self) -> Timestamp {
        let past = self.past.as_ref();
        past.map_or(self.progress_at.day_start(), |past| {
            let earlier = past.days.iter().skip(2);
            earlier.fold(past.date, |date, _| date.saturating_sub(DAY))
        })
    }

    /// Returns the sum of all gains.
    fn gained(&self) -> f64 {
        let last = self.past.as_ref().and_then(|past| past.days.first());
        last.map_or(0.0, |day| day.gained)
    }

    /// Returns the time since which the translation is unready and has made no progress; `None` if
    /// the last reading was ready.
    pub fn idle_since(&self) -> Option<Timestamp> {
        Some(self.unready_since?.max(self.progress_at))
    }

    /// Returns whether progress was ever seen, or the completion known before a time.
    pub fn is_known_since(&self, time: Timestamp) -> bool {
        self.progress_at <= time || self.gained() > 0.0
    }

    /// Returns the highest completion of the ends of the last 7 days and the last day on which it
    /// fell, as long as it is above the present one.
    pub fn fall(&self, now: Timestamp) -> Option<(Completion, Timestamp)> {
        // Most translations have never changed.
        self.past.as_ref()?;
        let today = now.day_start();
        let mut dates = (0..FALL_SHOWN_FOR).map(|ago| today.saturating_sub(DAY * ago));
        let ends = dates.clone().map(|date| self.before(date));
        let highest = ends.reduce(|one, other| if other > one { other } else { one })?;
        let fell_on = dates.find(|date| self.before(date.saturating_add(DAY)) < self.before(*date));
        // A clock that was set back since shows no day of the fall.
        (highest > self.completion).then(|| (highest, fell_on.unwrap_or(today)))
    }

    /// Returns the gain per day of work, in the unit of completions: the gain of the last [`DAYS`]
    /// divided by the days that ended unready, and the part of today that has passed. `None` before
    /// there is one such day, and before a day without a gain has 24 hours.
    pub fn pace(&self, now: Timestamp, is_ready: impl Fn(Completion) -> bool) -> Option<f64> {
        let today = now.day_start();
        let dates = (0..DAYS).map(|ago| today.saturating_sub(DAY * ago));
        let known = dates.filter(|date| *date > self.first_date());
        let ended_unready = known.filter(|date| !is_ready(self.before(*date)));
        let days: f64 = ended_unready.map(|_| 1.0).sum();
        let begin = today.saturating_sub(DAY * DAYS);
        let gained = self.gained() - self.day_before(begin).gained;
        let since = self.unready_since.unwrap_or(now);
        if days < 1.0 || gained <= 0.0 && now.since(since) < DAY {
            return None;
        }
        Some(gained / (days + now.since(today).as_secs_f64() / DAY.as_secs_f64()))
    }
}

/// Counts the days from one beginning of a day to another, up to the oldest one that is kept; 0 if
/// that is earlier.
fn days_between(from: Timestamp, to: Timestamp) -> usize {
    let days = usize::try_from(to.since(from).as_secs() / DAY.as_secs());
    days.unwrap_or(KEPT).min(KEPT - 1)
}

impl Past {
    /// Takes in a completion that followed the one `before`. Returns whether it is progress, whose
    /// gain is the distance from the next lower completion of two days.
    fn observe(&mut self, before: Completion, completion: Completion, now: Timestamp) -> bool {
        for seen in &mut self.seen {
            seen.until = seen.until.min(now);
        }
        let recent = self
            .seen
            .iter()
            .filter(|seen| now.since(seen.until) < SEEN_FOR);
        let recent = recent.map(|seen| seen.completion);
        let is_progress = completion > before && recent.clone().all(|seen| seen != completion);
        let lower = recent.filter(|seen| *seen < completion);
        let from = lower.fold(before.get(), |highest, seen| highest.max(seen.get()));
        // The place of the completion that has come back, or of the oldest one.
        let same = self
            .seen
            .iter()
            .position(|seen| seen.completion == completion);
        let place = same.unwrap_or(MOST_SEEN - 1);
        self.seen[place] = Seen {
            completion: before,
            until: now,
        };
        self.seen[..=place].rotate_right(1);
        let gain = if is_progress {
            completion.get() - from
        } else {
            0.0
        };
        let last = self.days.first().copied().unwrap_or(Day {
            end: before,
            gained: 0.0,
        });
        let today = Day {
            end: completion,
            gained: last.gained + gain,
        };
        let date = now.day_start();
        let until_today = repeat_n(last, days_between(self.date, date));
        self.days
            .splice(..self.days.len().min(1), once(today).chain(until_today));
        self.days.truncate(KEPT);
        // An account has many of them.
        self.days.shrink_to_fit();
        self.date = date;
        is_progress
    }
}

#[cfg(test)]
mod tests;
