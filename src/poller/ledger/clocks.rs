//! The progress clocks of what left, and what becomes of times when the clock of the machine is wrong.

use super::{Ledger, Polled, depart};
use crate::{
    domain::{
        RepositoryId,
        snapshot::{Languages, Reading, Reported},
    },
    support::clock::{Moment, Timestamp},
};
use std::{sync::Arc, time::Duration};
use tokio::time::Instant;

/// How long the clocks of what left are kept.
const DEPARTED_FOR: Duration = Duration::from_secs(30 * DAY.as_secs());
/// How often it is checked how long they have been kept.
const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// So many of them are kept at most, or as many as languages are known if that is more.
const MOST_DEPARTED: usize = 100_000;

/// How long the machine's clock must be behind what is known before it is believed.
const BELIEVED_AFTER: Duration = DAY;

/// Which time counts as now in what is recorded: that of the machine's clock, except while it is behind the newest time that is
/// known, which then stands for now. So a clock that is wrong for a while, such as before it is first synchronised, destroys
/// nothing.
#[derive(Debug, Default)]
pub struct RecordedTime {
    newest: Timestamp,
    behind_since: Option<Instant>,
}

impl RecordedTime {
    /// Which time counts as now, where the machine's clock shows `machine`.
    pub fn now(&self, machine: Timestamp) -> Timestamp {
        self.newest.max(machine)
    }

    /// The same, to be recorded.
    pub fn record(&mut self, machine: Timestamp) -> Timestamp {
        self.newest = self.now(machine);
        self.newest
    }
}

impl Ledger {
    /// A repository is no longer polled; its clocks are kept.
    pub fn leave(&mut self, id: RepositoryId, now: Timestamp) {
        if let Some(Polled {
            languages: Some(languages),
            ..
        }) = self.polled.remove(&id)
        {
            for reading in &*languages.readings {
                depart(&mut self.departed, &mut self.time, id, reading, now);
            }
        }
    }

    /// Forgets the clocks of what left long ago, and the oldest if there are too many: an API that invents ids or
    /// languages must not fill the memory.
    pub fn forget_departed(&mut self, now: Moment) {
        let last = *self.last_expiry.get_or_insert(now);
        if now.monotonic - last.monotonic >= DAY {
            // Old by both times: a clock that is ahead for less than a day, also at the start, makes nothing old.
            let believed = last.wall.min(now.wall);
            self.departed
                .retain(|_, (_, left_at)| believed.since(*left_at) < DEPARTED_FOR);
            self.last_expiry = Some(now);
        }
        let languages: usize = self.polled.values().map(Polled::languages).sum();
        let limit = languages.max(MOST_DEPARTED);
        let excess = self.departed.len().saturating_sub(limit);
        if excess == 0 {
            return;
        }
        let mut oldest: Vec<_> = self
            .departed
            .iter()
            .map(|(key, (_, left_at))| (*left_at, key.clone()))
            .collect();
        oldest.sort_unstable();
        for (_, key) in oldest.into_iter().take(excess) {
            self.departed.remove(&key);
            self.falls.forget(key.0, &key.1);
        }
        if !std::mem::replace(&mut self.has_logged_excess, true) {
            tracing::warn!(
                kept = limit,
                hint = "check whether the API keeps changing the ids of repositories or the codes of languages",
                "more repositories or languages left than progress clocks are kept for; the oldest are forgotten"
            );
        }
    }

    /// Compares the machine's clock with what is known, and returns by how much it is behind. Must be called from time to time,
    /// since it measures for how long that is so: then the clock must be right, and what is later than it is wrong.
    pub fn follow_clock(&mut self, now: Moment) -> Option<Duration> {
        let RecordedTime {
            newest,
            behind_since,
        } = &mut self.time;
        if now.wall >= *newest {
            *behind_since = None;
            return None;
        }
        if now.monotonic - *behind_since.get_or_insert(now.monotonic) < BELIEVED_AFTER {
            return Some(newest.since(now.wall));
        }
        tracing::warn!("the clock was behind for 24 hours: times that are later are set to now");
        *newest = now.wall;
        *behind_since = None;
        for known in self.polled.values_mut() {
            if let Some(languages) = &mut known.languages {
                cut_to(languages, now.wall);
            }
        }
        for (progress, left_at) in self.departed.values_mut() {
            progress.at = progress.at.min(now.wall);
            *left_at = (*left_at).min(now.wall);
        }
        None
    }
}

impl Languages {
    /// The newest time in it.
    pub fn newest_time(&self) -> Timestamp {
        let clocks = self.readings.iter().filter_map(Reading::progress);
        clocks
            .map(|progress| progress.at)
            .fold(self.read_at, Timestamp::max)
    }
}

/// Sets times that are later than `now` to it.
pub fn cut_to(languages: &mut Arc<Languages>, now: Timestamp) {
    if languages.newest_time() <= now {
        return;
    }
    let languages = Arc::make_mut(languages);
    languages.read_at = languages.read_at.min(now);
    for Reading { reported, .. } in Arc::make_mut(&mut languages.readings) {
        if let Reported::Now(progress) | Reported::Before(progress) = reported {
            progress.at = progress.at.min(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        domain::{
            Completion, Interner, LanguageList, Listing, Repository, TargetLanguage, filter::Filter,
        },
        poller::log::PollLog,
    };

    const HOUR: Duration = Duration::from_secs(3600);
    const START: Timestamp = Timestamp::from_millis(1_700_000_000_000);
    const BEFORE: Timestamp = Timestamp::from_millis(1_600_000_000_000);

    fn ledger_of(id: RepositoryId) -> Ledger {
        let repository = Repository {
            id,
            name: "o/a".into(),
            private: Some(false),
            created_at: None,
        };
        let mut ledger = Ledger::default();
        let mut listing = Listing::default();
        listing.add(Arc::new(repository));
        let now = Moment {
            wall: START,
            monotonic: Instant::now(),
        };
        ledger.apply_complete(listing, &Filter::default(), now);
        ledger
    }

    #[test]
    fn the_newest_time_stands_for_now_while_the_clock_is_behind_it() {
        let mut time = RecordedTime::default();
        time.record(START);
        assert_eq!(time.now(BEFORE), START);
        let later = START.saturating_add(HOUR);
        assert_eq!(time.record(later), later);
        assert_eq!(time.now(START), later, "a step back of an hour");
    }

    #[tokio::test]
    async fn a_clock_is_believed_after_it_was_behind_for_a_day_on_end() {
        let start = Instant::now();
        let at = |hours, wall| Moment {
            wall,
            monotonic: start + HOUR * hours,
        };
        let behind = Some(START.since(BEFORE));
        let mut ledger = Ledger::default();
        ledger.time.record(START);
        assert_eq!(ledger.follow_clock(at(0, BEFORE)), behind);
        assert_eq!(ledger.follow_clock(at(23, BEFORE)), behind);
        assert_eq!(ledger.follow_clock(at(24, START)), None);
        assert_eq!(
            ledger.follow_clock(at(25, BEFORE)),
            behind,
            "it begins anew"
        );
        assert_eq!(ledger.follow_clock(at(48, BEFORE)), behind);
        assert_eq!(ledger.time.now(BEFORE), START);
        assert_eq!(ledger.follow_clock(at(49, BEFORE)), None);
        assert_eq!(ledger.time.now(BEFORE), BEFORE);
        assert_eq!(ledger.follow_clock(at(50, BEFORE)), None);
    }

    #[tokio::test]
    async fn an_api_that_invents_languages_fills_neither_the_ledger_nor_the_interner() {
        let id = RepositoryId::new(1).unwrap();
        let mut ledger = ledger_of(id);
        let interner = Interner::default();
        let mut now = Moment {
            wall: START,
            monotonic: Instant::now(),
        };
        for poll in 0..6 {
            now.wall = now.wall.saturating_add(Duration::from_secs(300));
            let target = |n| TargetLanguage {
                language: interner
                    .language(&format!("{n}-of-{poll}"), "invented")
                    .unwrap(),
                completion: Completion::new(50.0),
            };
            let mut languages: Vec<_> = (0..30_000).map(target).collect();
            languages.sort_by(|a, b| a.language.code.cmp(&b.language.code));
            let list = LanguageList {
                languages,
                ..LanguageList::default()
            };
            ledger.succeeded(id, list, 100.0, now, &mut PollLog::default());
            ledger.forget_departed(now);
            interner.forget_unused();
        }
        assert_eq!(ledger.departed.len(), 100_000);
        assert_eq!(interner.count(), 30_000);
        let kept = |poll: &str| {
            ledger
                .departed
                .keys()
                .filter(|(_, code)| code.ends_with(poll))
                .count()
        };
        assert_eq!(
            [kept("-of-0"), kept("-of-1"), kept("-of-4")],
            [0, 10_000, 30_000],
            "the oldest went first"
        );
    }
}
