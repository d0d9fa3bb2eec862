//! The progress clocks of what left, and what becomes of timestamps when the wall clock jumps.

use super::{Known, Ledger};
use crate::{
    clock::Moment,
    model::{Failure, Timestamp},
    progress::Progress,
    snapshot::{Languages, Reading, Reported},
};
use std::{sync::Arc, time::Duration};

/// How long the clocks of what left are kept.
const DEPARTED_FOR: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// The least number of them that can be kept; more only while more languages are known.
const DEPARTED_AT_LEAST: usize = 100_000;

impl Ledger {
    /// Keeps the clocks of a repository that leaves.
    pub(super) fn depart(&mut self, known: &Known, now: Timestamp) {
        for reading in known
            .languages
            .iter()
            .flat_map(|languages| &*languages.readings)
        {
            if let Some(progress) = reading.progress() {
                self.departed.insert(
                    (known.repository.id, Arc::clone(&reading.language.code)),
                    (progress, now),
                );
            }
        }
    }

    /// Forgets the clocks of what left long ago, and the oldest if there are too many: an API that invents ids or
    /// languages must not fill the memory.
    pub fn forget_departed(&mut self, now: Timestamp) {
        self.departed
            .retain(|_, (_, left_at)| now.since(*left_at) < DEPARTED_FOR);
        let languages = self
            .known
            .values()
            .filter_map(|known| known.languages.as_ref());
        let limit = languages
            .map(|languages| languages.readings.len())
            .sum::<usize>()
            .max(DEPARTED_AT_LEAST);
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
        }
        if !std::mem::replace(&mut self.has_logged_excess, true) {
            tracing::warn!(
                kept = limit,
                hint = "check whether the API keeps changing the ids of repositories or the codes of languages",
                "more repositories or languages left than progress clocks are kept for; the oldest are forgotten"
            );
        }
    }

    /// Dates what was restored by the monotonic clock, which determines its age from then on.
    pub fn date_restored(&mut self, now: Moment) {
        for known in self.known.values_mut() {
            let age = known
                .languages
                .as_ref()
                .map(|languages| now.wall.since(languages.read_at));
            known.read = age.and_then(|age| now.monotonic.checked_sub(age));
        }
    }

    /// Brings timestamps that are in the future back to `now`, and returns how far ahead the farthest was: zero if there was
    /// none.
    pub fn bring_back(&mut self, now: Timestamp) -> Duration {
        let mut ahead = Duration::ZERO;
        let mut bring_back = |at: &mut Timestamp| {
            ahead = ahead.max(at.since(now));
            *at = (*at).min(now);
        };
        for known in self.known.values_mut() {
            if let Some(Failure { since, .. }) = &mut known.failure {
                bring_back(since);
            }
            if let Some(languages) = known
                .languages
                .as_mut()
                .filter(|languages| is_ahead(languages, now))
            {
                let languages = Arc::make_mut(languages);
                bring_back(&mut languages.read_at);
                let mut readings = languages.readings.to_vec();
                for Reading { reported, .. } in &mut readings {
                    if let Reported::Now(progress) | Reported::Before(progress) = reported {
                        bring_back(&mut progress.at);
                    }
                }
                languages.readings = readings.into();
            }
        }
        for (Progress { at, .. }, left_at) in self.departed.values_mut() {
            bring_back(at);
            bring_back(left_at);
        }
        ahead
    }
}

fn is_ahead(languages: &Languages, now: Timestamp) -> bool {
    let mut clocks = languages.readings.iter().filter_map(Reading::progress);
    languages.read_at > now || clocks.any(|progress| progress.at > now)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        config::FilterConfig,
        model::{
            Completion, Interner, LanguageList, Next, Page, Repository, RepositoryId,
            TargetLanguage, Visibility,
        },
    };
    use globset::GlobSet;
    use tokio::time::Instant;

    const START: Timestamp = Timestamp::from_millis(1_700_000_000_000);

    fn ledger_of(id: RepositoryId) -> Ledger {
        let repository = Repository {
            id,
            name: "o/a".into(),
            visibility: Visibility::Public,
            created_at: None,
        };
        let page = Page {
            repositories: vec![repository],
            nameless: vec![],
            unidentified: vec![],
            bad: vec![],
            next: Next::After(id),
        };
        let mut ledger = Ledger::default();
        let mut listing = ledger.begin_listing();
        listing.add(page);
        let filter = FilterConfig {
            include: None,
            exclude: GlobSet::empty(),
            private: true,
        };
        ledger.apply_listing(listing, true, &filter, START);
        ledger
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
                language: interner.language(&format!("{n}-of-{poll}"), "invented"),
                completion: Completion::new(50.0),
            };
            let mut languages: Vec<_> = (0..30_000).map(target).collect();
            languages.sort_by(|a, b| a.language.code.cmp(&b.language.code));
            ledger.succeeded(
                id,
                LanguageList {
                    languages,
                    bad: vec![],
                },
                100.0,
                now,
            );
            ledger.forget_departed(now.wall);
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
