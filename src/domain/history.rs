//! The history of a translation: its last known completion with the progress clock, and a record
//! of days, from which everything is read that is said of the past.
//!
//! Progress is a rise to a completion that the translation did not have in the two days before. So
//! two replicas of the API that disagree, the last bit of a fraction, and a text that is taken back
//! are none; and new text stands in nobody's way: 100, 80, 83 is progress. Days are those of UTC.

use super::Completion;
use crate::support::clock::{DAY, Timestamp};
use serde::{Deserialize, Serialize};
use std::{iter::successors, sync::Arc, time::Duration};

/// The number of days of the record before the present one.
pub const DAYS: u32 = 14;

/// The number of days that are kept: the present one, [`DAYS`], and the one before them.
pub const KEPT: usize = DAYS as usize + 2;

/// The number of days for which a fall is shown, the present one among them.
const FALL_SHOWN_FOR: u32 = 7;

/// The time for which a completion that was left is no progress.
const SEEN_FOR: Duration = Duration::from_secs(2 * 24 * 60 * 60);

/// The maximum number of completions that are remembered for two days.
const MOST_SEEN: usize = 4;

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
    /// The completions that the translation had until a time of the last two days, the last ones
    /// of them.
    pub seen: Vec<Seen>,
    /// The beginning of the day of the first reading.
    pub first_date: Timestamp,
    /// The beginning of the day of the last change.
    pub date: Timestamp,
    /// The last completions of that day and of those before it, the first one for days before the
    /// first reading.
    pub ends: [Completion; KEPT],
    /// The gains by progress on these days, in the unit of completions.
    pub gains: [f64; KEPT],
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
        let past = self.past.get_or_insert_with(|| {
            let first_date = self.progress_at.day_start();
            Arc::new(Past {
                seen: Vec::new(),
                first_date,
                date: first_date,
                ends: [self.completion; KEPT],
                gains: [0.0; KEPT],
            })
        });
        let gained = Arc::make_mut(past).observe(self.completion, completion, now);
        if gained > 0.0 {
            self.progress_at = now;
        }
        self.completion = completion;
    }

    /// Returns the completion at the beginning of a day, or the first one if that is younger.
    pub fn before(&self, date: Timestamp) -> Completion {
        self.past.as_ref().map_or(self.completion, |past| {
            let days = days_between(date, past.date.saturating_add(DAY));
            past.ends[days.min(KEPT - 1)]
        })
    }

    /// Returns the beginning of the day of the first reading.
    pub fn first_date(&self) -> Timestamp {
        let past = self.past.as_ref();
        past.map_or(self.progress_at.day_start(), |past| past.first_date)
    }

    /// Returns the gain since the beginning of a day.
    fn gained_since(&self, date: Timestamp) -> f64 {
        self.past.as_ref().map_or(0.0, |past| {
            let days = days_between(date, past.date.saturating_add(DAY));
            past.gains[..days.min(KEPT)].iter().sum()
        })
    }

    /// Returns the time since which the translation is unready and has made no progress; `None` if
    /// the last reading was ready.
    pub fn idle_since(&self) -> Option<Timestamp> {
        Some(self.unready_since?.max(self.progress_at))
    }

    /// Returns whether progress was seen within the record, or the completion known before a time.
    pub fn is_known_since(&self, time: Timestamp) -> bool {
        self.progress_at <= time || self.gained_since(self.first_date()) > 0.0
    }

    /// Returns the highest completion of the ends of the last 7 days and the last day on which it
    /// fell, as long as it is above the present one.
    pub fn fall(&self, now: Timestamp) -> Option<(Completion, Timestamp)> {
        self.past.as_ref()?;
        let today = now.day_start();
        let days = (0..FALL_SHOWN_FOR).map(|ago| today.saturating_sub(DAY * ago));
        let ends = days.clone().map(|date| self.before(date));
        let highest = ends.reduce(|one, other| if other > one { other } else { one })?;
        let mut days = days;
        let fell_on = days.find(|date| self.before(date.saturating_add(DAY)) < self.before(*date));
        // A clock that was set back since shows no day of the fall.
        let fell_on = fell_on.unwrap_or(today);
        Some((highest, fell_on)).filter(|_| highest > self.completion)
    }

    /// Returns the gain per day of work, in the unit of completions: the gain of the last [`DAYS`]
    /// divided by the days that ended unready, and the part of today that has passed. `None` before
    /// there is one such day, and before a day without a gain has 24 hours.
    pub fn pace(&self, now: Timestamp, is_ready: impl Fn(Completion) -> bool) -> Option<f64> {
        let today = now.day_start();
        let begin = today.saturating_sub(DAY * DAYS).max(self.first_date());
        let ends = successors(Some(begin.saturating_add(DAY)), |end| {
            Some(end.saturating_add(DAY))
        });
        let ends = ends.take_while(|end| *end <= today);
        let unready = ends.filter(|end| !is_ready(self.before(*end))).count();
        let unready = u32::try_from(unready).ok().filter(|days| *days > 0)?;
        let gained = self.gained_since(begin);
        let is_new = self
            .unready_since
            .is_none_or(|since| now.since(since) < DAY);
        if is_new && gained <= 0.0 {
            return None;
        }
        Some(gained / (f64::from(unready) + now.since(today).as_secs_f64() / DAY.as_secs_f64()))
    }
}

/// Counts the days from one beginning of a day to another; 0 if that is earlier.
fn days_between(from: Timestamp, to: Timestamp) -> usize {
    let days = to.since(from).as_secs() / DAY.as_secs();
    usize::try_from(days).unwrap_or(usize::MAX)
}

impl Past {
    /// Takes in a completion that followed the one `before`. Returns the gain: the distance from
    /// the next lower completion of two days; 0 if it is no progress.
    fn observe(&mut self, before: Completion, completion: Completion, now: Timestamp) -> f64 {
        for seen in &mut self.seen {
            seen.until = seen.until.min(now);
        }
        self.seen.retain(|seen| now.since(seen.until) < SEEN_FOR);
        let completions = self.seen.iter().map(|seen| seen.completion);
        let lower = completions.clone().filter(|lower| *lower < completion);
        let was_seen = completions.clone().any(|seen| seen == completion);
        let is_progress = completion > before && !was_seen;
        let from = lower.fold(before.get(), |highest, lower| highest.max(lower.get()));
        let gained = if is_progress {
            completion.get() - from
        } else {
            0.0
        };
        self.seen.retain(|seen| seen.completion != completion);
        self.seen.push(Seen {
            completion: before,
            until: now,
        });
        if self.seen.len() > MOST_SEEN {
            self.seen.remove(0);
        }
        let date = now.day_start();
        let days = days_between(self.date, date).min(KEPT);
        self.ends.rotate_right(days);
        self.ends[..days].fill(before);
        self.gains.rotate_right(days);
        self.gains[..days].fill(0.0);
        self.ends[0] = completion;
        self.gains[0] += gained;
        // A clock that was ahead has dated them to the future.
        self.first_date = self.first_date.min(date);
        self.date = date;
        gained
    }
}

#[cfg(test)]
mod tests;
