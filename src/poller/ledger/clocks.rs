//! The progress clocks of departed languages, and what becomes of timestamps when the wall clock is wrong.

use super::{Ledger, Polled, depart};
use crate::{
    domain::{
        RepositoryId,
        snapshot::{Languages, Reading, Reported},
    },
    support::clock::Timestamp,
};
use std::{sync::Arc, time::Duration};

/// How long the clocks of departed languages are kept.
const DEPARTED_FOR: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// The clocks of so many departed languages are kept at most, or as many as languages are known if that is more.
const MOST_DEPARTED: usize = 100_000;

/// The timestamp to record as "now": the wall clock, but never earlier than the newest recorded timestamp. A wall clock that is
/// wrong for a while, such as before it is first synchronised, therefore destroys nothing.
#[derive(Debug, Default)]
pub struct RecordedTime {
    newest: Timestamp,
}

impl RecordedTime {
    /// The timestamp that counts as now while the wall clock shows `wall`.
    pub fn now(&self, wall: Timestamp) -> Timestamp {
        self.newest.max(wall)
    }

    /// The same, to be recorded.
    pub fn record(&mut self, wall: Timestamp) -> Timestamp {
        self.newest = self.now(wall);
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

    /// Forgets the oldest clocks of departed languages if there are too many: an API that invents ids or
    /// languages must not fill the memory.
    pub fn forget_excess(&mut self) {
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

    /// The duration by which the wall clock is behind the newest recorded timestamp; zero if it is not.
    pub fn clock_behind(&self, wall: Timestamp) -> Duration {
        self.time.newest.since(wall)
    }

    /// Follows the wall clock, which the API's clock has confirmed: later recorded timestamps are set to it, and clocks
    /// and falls that are old enough are forgotten.
    pub fn follow_clock(&mut self, wall: Timestamp) {
        if self.time.newest > wall {
            self.time.newest = wall;
            for known in self.polled.values_mut() {
                if let Some(languages) = &mut known.languages {
                    cut_to(languages, wall);
                }
            }
            for (progress, left_at) in self.departed.values_mut() {
                progress.at = progress.at.min(wall);
                *left_at = (*left_at).min(wall);
            }
        }
        self.departed
            .retain(|_, (_, left_at)| wall.since(*left_at) < DEPARTED_FOR);
        self.falls.follow_clock(wall);
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
        support::clock::Moment,
    };
    use tokio::time::Instant;

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
        ledger.apply_complete(listing, &Filter::default(), START);
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
            ledger.forget_excess();
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
