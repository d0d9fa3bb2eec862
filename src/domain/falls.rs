//! Falls: the completions that languages had before they dropped, such as when a sync removes
//! translations.
//!
//! A pure function of what was known, what was read, and the time, like the progress clock. Falls
//! belong to the id of a repository and the code of a language as well, so that renames, failures and
//! outages do not touch them.

use crate::{
    domain::{Completion, RepositoryId},
    support::clock::Timestamp,
};
use std::{collections::BTreeMap, sync::Arc, time::Duration};

/// A fall is shown for this long.
const SHOWN_FOR: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// A completion that has not been reached again since it was lost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fall {
    /// The completion before the fall; of several falls the highest.
    pub from: Completion,
    /// When the last fall was seen.
    pub at: Timestamp,
}

impl Fall {
    /// Whether the fall is still shown at `now`.
    pub fn is_shown(self, now: Timestamp) -> bool {
        now.since(self.at) < SHOWN_FOR
    }
}

/// The falls of one repository, by the codes of its languages.
type OfRepository = BTreeMap<Arc<str>, Fall>;

/// The falls of all repositories. Few languages fall, so that falls are kept apart from the readings.
/// Clones share the falls of each repository.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Falls(BTreeMap<RepositoryId, Arc<OfRepository>>);

impl Falls {
    /// The falls of one repository, if it has any.
    pub fn of_repository(&self, id: RepositoryId) -> Option<&OfRepository> {
        self.0.get(&id).map(|falls| &**falls)
    }

    /// All falls, in the order of ids and codes.
    pub fn iter(&self) -> impl Iterator<Item = (RepositoryId, &Arc<str>, Fall)> + Clone {
        self.0
            .iter()
            .flat_map(|(id, falls)| falls.iter().map(|(code, fall)| (*id, code, *fall)))
    }

    /// Takes in that a completion that was `before` is `reading` at `now`.
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

    /// Forgets the falls that are no longer shown at `now`, and dates those that are later to it.
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

    /// The fall after a reading each day, and whether it is shown the day after the last one.
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
    fn a_completion_that_only_rises_or_stands_has_no_fall() {
        assert_eq!(after(&[10.0, 20.0, 20.0]), None);
    }

    #[test]
    fn a_fall_lasts_until_its_completion_is_reached_again() {
        assert_eq!(after(&[80.0, 20.0]), Some((80.0, true)));
        assert_eq!(after(&[80.0, 20.0, 79.0]), Some((80.0, true)));
        assert_eq!(after(&[80.0, 20.0, 80.0]), None);
        assert_eq!(after(&[80.0, 20.0, 90.0]), None);
    }

    #[test]
    fn of_several_falls_the_highest_counts() {
        assert_eq!(after(&[80.0, 50.0, 60.0, 20.0]), Some((80.0, true)));
    }

    #[test]
    fn a_fall_is_shown_for_7_days_after_the_last_one() {
        let stands = |days| [&[80.0, 20.0][..], &vec![20.0; days]].concat();
        assert_eq!(after(&stands(5)), Some((80.0, true)));
        assert_eq!(after(&stands(6)), Some((80.0, false)));
        let again = [&stands(5)[..], &[10.0, 10.0]].concat();
        assert_eq!(after(&again), Some((80.0, true)), "the last fall counts");
        let later = [&stands(7)[..], &[10.0]].concat();
        assert_eq!(after(&later), Some((20.0, true)), "the first was over");
    }

    #[test]
    fn a_fall_that_is_over_is_forgotten_and_a_later_one_is_dated_to_now() {
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
