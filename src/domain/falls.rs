//! Falls: the completions from which languages dropped, such as when a sync removes translations.
//!
//! A fall belongs to the id of a repository and the code of a language, like the progress clock, so
//! that renames, failures and outages do not touch it.

use crate::{
    domain::{Completion, RepositoryId},
    support::clock::Timestamp,
};
use std::{collections::BTreeMap, sync::Arc, time::Duration};

/// The time for which a fall is shown: 7 days.
const SHOWN_FOR: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// A completion that a language lost and has not reached again.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fall {
    /// The completion before the fall; the highest one after several falls.
    pub from: Completion,
    /// The time at which the last fall was seen.
    pub at: Timestamp,
}

impl Fall {
    /// Returns whether the fall is still shown at `now`.
    pub fn is_shown(self, now: Timestamp) -> bool {
        now.since(self.at) < SHOWN_FOR
    }
}

/// The falls of one repository by code.
type OfRepository = BTreeMap<Arc<str>, Fall>;

/// The falls of all repositories. They are kept apart from the readings, because few languages
/// fall. Clones share the falls of each repository.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Falls(BTreeMap<RepositoryId, Arc<OfRepository>>);

impl Falls {
    /// Returns the falls of one repository, if it has any.
    pub fn of_repository(&self, id: RepositoryId) -> Option<&OfRepository> {
        self.0.get(&id).map(|falls| &**falls)
    }

    /// Returns all falls, sorted by id and code.
    pub fn iter(&self) -> impl Iterator<Item = (RepositoryId, &Arc<str>, Fall)> + Clone {
        self.0
            .iter()
            .flat_map(|(id, falls)| falls.iter().map(|(code, fall)| (*id, code, *fall)))
    }

    /// Records a change from `before` to `reading` at `now`: a drop begins or extends a fall, and a
    /// completion that reaches the lost one again ends it.
    pub fn observe(
        &mut self,
        id: RepositoryId,
        code: &Arc<str>,
        before: Completion,
        reading: Completion,
        now: Timestamp,
    ) {
        let known = self.of_repository(id).and_then(|falls| falls.get(code));
        if reading < before {
            let highest = known.filter(|fall| fall.is_shown(now) && fall.from > before);
            let from = highest.map_or(before, |fall| fall.from);
            self.insert(id, Arc::clone(code), Fall { from, at: now });
        } else if known.is_some_and(|fall| reading >= fall.from) {
            self.forget(id, code);
        }
    }

    pub fn insert(&mut self, id: RepositoryId, code: Arc<str>, fall: Fall) {
        Arc::make_mut(self.0.entry(id).or_default()).insert(code, fall);
    }

    pub fn forget_repository(&mut self, id: RepositoryId) {
        self.0.remove(&id);
    }

    pub fn forget(&mut self, id: RepositoryId, code: &str) {
        if let Some(falls) = self.0.get_mut(&id)
            && falls.contains_key(code)
        {
            Arc::make_mut(falls).remove(code);
            if falls.is_empty() {
                self.0.remove(&id);
            }
        }
    }

    /// Forgets expired falls, and moves future ones to `now`.
    pub fn follow_clock(&mut self, now: Timestamp) {
        self.0.retain(|_, falls| {
            if falls
                .values()
                .any(|fall| fall.at > now || !fall.is_shown(now))
            {
                let falls = Arc::make_mut(falls);
                falls.retain(|_, fall| {
                    fall.at = fall.at.min(now);
                    fall.is_shown(now)
                });
            }
            !falls.is_empty()
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: Duration = Duration::from_secs(24 * 60 * 60);

    /// Reads one completion a day. Returns the fall and whether it is shown a day after the last
    /// reading.
    fn after(readings: &[f64]) -> Option<(f64, bool)> {
        let (id, code) = (RepositoryId::new(7).unwrap(), Arc::from("de"));
        let (mut falls, mut now) = (Falls::default(), Timestamp::from_millis(1_000_000));
        for pair in readings.windows(2) {
            let [before, reading] = [0, 1].map(|n| Completion::new(pair[n]).unwrap());
            falls.observe(id, &code, before, reading, now);
            now = now.saturating_add(DAY);
        }
        let (_, _, fall) = falls.iter().next()?;
        Some((fall.from.get(), fall.is_shown(now)))
    }

    #[test]
    fn a_completion_that_rises_or_stands_has_no_fall() {
        assert_eq!(after(&[10.0, 20.0, 20.0]), None);
    }

    #[test]
    fn a_fall_lasts_until_the_lost_completion_is_reached_again() {
        assert_eq!(after(&[80.0, 20.0]), Some((80.0, true)));
        assert_eq!(after(&[80.0, 20.0, 79.0]), Some((80.0, true)));
        assert_eq!(after(&[80.0, 20.0, 80.0]), None);
        assert_eq!(after(&[80.0, 20.0, 90.0]), None);
    }

    #[test]
    fn several_falls_count_from_the_highest_completion() {
        assert_eq!(after(&[80.0, 50.0, 60.0, 20.0]), Some((80.0, true)));
    }

    #[test]
    fn a_fall_is_shown_for_7_days_after_the_last_drop() {
        let stands = |days| [&[80.0, 20.0][..], &vec![20.0; days]].concat();
        assert_eq!(after(&stands(5)), Some((80.0, true)));
        assert_eq!(after(&stands(6)), Some((80.0, false)));
        let again = [&stands(5)[..], &[10.0, 10.0]].concat();
        assert_eq!(after(&again), Some((80.0, true)), "the last drop counts");
        let later = [&stands(7)[..], &[10.0]].concat();
        assert_eq!(after(&later), Some((20.0, true)), "the first was over");
    }

    #[test]
    fn an_expired_fall_is_forgotten_and_a_future_one_moves_to_now() {
        let code: Arc<str> = "de".into();
        let now = Timestamp::from_millis(1_800_000_000_000);
        let from = Completion::new(80.0).unwrap();
        let week_ago = Timestamp::from_millis(now.as_millis() - 7 * 86_400_000);
        let mut falls = Falls::default();
        for (id, at) in [(1, week_ago), (2, now.saturating_add(DAY))] {
            let id = RepositoryId::new(id).unwrap();
            falls.insert(id, Arc::clone(&code), Fall { from, at });
        }
        falls.follow_clock(now);
        let kept: Vec<_> = falls
            .iter()
            .map(|(id, _, fall)| (id.get(), fall.at))
            .collect();
        assert_eq!(kept, [(2, now)]);
    }
}
