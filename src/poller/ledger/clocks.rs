//! The progress clocks and falls of languages, and the recorded time.
//!
//! The wall clock may be wrong for a while, such as before its first synchronisation. Recorded
//! timestamps therefore never go back until the API's clock confirms the wall clock: no progress
//! clock is lost.

use crate::{
    domain::{
        RepositoryId, TargetLanguage,
        falls::Falls,
        progress::{Progress, advance},
        snapshot::{Languages, Reading, Reported, find},
    },
    support::clock::Timestamp,
};
use std::{collections::BTreeMap, sync::Arc, time::Duration};

/// The time for which the clock of a departed language is kept.
const DEPARTED_FOR: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// The number of departed clocks that are kept in any case. The limit rises to the number of known
/// languages.
const MOST_DEPARTED: usize = 100_000;

/// The progress clocks of departed languages, each with the time of its departure.
pub type Departed = BTreeMap<(RepositoryId, Arc<str>), (Progress, Timestamp)>;

/// The clocks of departed languages, the falls, and the recorded time.
#[derive(Debug, Default)]
pub struct Clocks {
    pub departed: Departed,
    /// The falls of known and departed languages.
    pub falls: Falls,
    /// The newest recorded timestamp.
    newest: Timestamp,
}

impl Clocks {
    pub fn restore(departed: Departed, falls: Falls) -> Self {
        let falls_at = falls.iter().map(|(.., fall)| fall.at);
        let departed_at = departed
            .values()
            .flat_map(|(clock, left)| [clock.at, *left]);
        let newest = falls_at.chain(departed_at).max().unwrap_or_default();
        Self {
            departed,
            falls,
            newest,
        }
    }

    /// Returns the timestamp to record as "now": the wall clock, but never earlier than the newest
    /// recorded timestamp.
    pub fn now(&self, wall: Timestamp) -> Timestamp {
        self.newest.max(wall)
    }

    /// Returns the timestamp to record as "now", and records it.
    pub fn record(&mut self, wall: Timestamp) -> Timestamp {
        self.newest = self.now(wall);
        self.newest
    }

    /// Returns how far the wall clock is behind the newest recorded timestamp.
    pub fn behind(&self, wall: Timestamp) -> Duration {
        self.newest.since(wall)
    }

    /// Advances the clocks of a repository whose `languages` were read at `at`, and returns the new
    /// readings. The languages that are no longer among them depart. Completions of another `scale`
    /// cannot be compared, so that they make no fall and move no clock.
    pub fn advance(
        &mut self,
        id: RepositoryId,
        before: Option<Arc<Languages>>,
        languages: Vec<TargetLanguage>,
        scale: f64,
        at: Timestamp,
    ) -> Languages {
        let before_scale = before.as_ref().map_or(scale, |before| before.scale);
        let is_comparable = before_scale.total_cmp(&scale).is_eq();
        let before = before.map_or_else(Arc::default, |before| Arc::clone(&before.readings));
        let mut readings = Vec::with_capacity(languages.len());
        for TargetLanguage {
            language,
            completion,
        } in languages
        {
            let code = &language.code;
            let previous = if let Some(reading) = find(&before, code) {
                reading.progress()
            } else {
                let departed = self.departed.remove(&(id, Arc::clone(code)));
                departed.map(|(clock, _)| clock)
            };
            let reported = match (completion, previous) {
                (Some(completion), Some(previous)) if !is_comparable => Reported::Now(Progress {
                    completion,
                    ..previous
                }),
                (Some(completion), _) => {
                    if let Some(previous) = previous {
                        let before = previous.completion;
                        self.falls.observe(id, code, before, completion, at);
                    }
                    Reported::Now(advance(previous, completion, scale, at))
                }
                (None, Some(previous)) => Reported::Before(previous),
                (None, None) => Reported::Never,
            };
            readings.push(Reading { language, reported });
        }
        for reading in &*before {
            if find(&readings, &reading.language.code).is_none() {
                self.depart(id, reading, at);
            }
        }
        // Unchanged readings stay shared with the published snapshots.
        let readings = if *before == *readings {
            before
        } else {
            readings.into()
        };
        Languages {
            read_at: at,
            scale,
            readings,
        }
    }

    /// Keeps the clock of a language that departs, if it has one.
    pub fn depart(&mut self, id: RepositoryId, reading: &Reading, wall: Timestamp) {
        if let Some(clock) = reading.progress() {
            let key = (id, Arc::clone(&reading.language.code));
            let at = self.record(wall);
            self.departed.insert(key, (clock, at));
        }
    }

    /// Forgets the oldest departed clocks beyond the larger of `languages` and [`MOST_DEPARTED`].
    /// An API that invents ids or codes cannot fill the memory.
    pub fn forget_excess(&mut self, languages: usize) {
        let limit = languages.max(MOST_DEPARTED);
        let excess = self.departed.len().saturating_sub(limit);
        if excess == 0 {
            return;
        }
        let departed = self.departed.iter();
        let mut oldest: Vec<_> = departed
            .map(|(key, (_, left_at))| (*left_at, key.clone()))
            .collect();
        oldest.sort_unstable();
        for (_, key) in oldest.into_iter().take(excess) {
            self.departed.remove(&key);
            self.falls.forget(key.0, &key.1);
        }
    }

    /// Follows the wall clock, which the API's clock has confirmed. Sets later timestamps to it,
    /// also in the `known` languages. Forgets expired clocks and falls.
    pub fn follow<'a>(
        &mut self,
        wall: Timestamp,
        known: impl Iterator<Item = &'a mut Arc<Languages>>,
    ) {
        if self.newest > wall {
            self.newest = wall;
            known.for_each(|languages| cut_to(languages, wall));
            for (clock, left_at) in self.departed.values_mut() {
                clock.at = clock.at.min(wall);
                *left_at = (*left_at).min(wall);
            }
        }
        self.departed
            .retain(|_, (_, left_at)| wall.since(*left_at) < DEPARTED_FOR);
        self.falls.follow_clock(wall);
    }
}

impl Languages {
    /// Returns the newest timestamp of the languages.
    pub fn newest_time(&self) -> Timestamp {
        let clocks = self.readings.iter().filter_map(Reading::progress);
        clocks
            .map(|clock| clock.at)
            .fold(self.read_at, Timestamp::max)
    }
}

/// Sets timestamps that are later than `now` to it.
pub fn cut_to(languages: &mut Arc<Languages>, now: Timestamp) {
    if languages.newest_time() <= now {
        return;
    }
    let languages = Arc::make_mut(languages);
    languages.read_at = languages.read_at.min(now);
    for Reading { reported, .. } in Arc::make_mut(&mut languages.readings) {
        if let Reported::Now(clock) | Reported::Before(clock) = reported {
            clock.at = clock.at.min(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Completion, Interner};

    const HOUR: Duration = Duration::from_secs(3600);
    const START: Timestamp = Timestamp::from_millis(1_700_000_000_000);
    const BEFORE: Timestamp = Timestamp::from_millis(1_600_000_000_000);

    #[test]
    fn recorded_time_stands_while_the_clock_is_behind_it() {
        let mut clocks = Clocks::default();
        clocks.record(START);
        assert_eq!(clocks.now(BEFORE), START);
        let later = START.saturating_add(HOUR);
        assert_eq!(clocks.record(later), later);
        assert_eq!(clocks.now(START), later, "a step back of an hour");
    }

    #[test]
    fn a_change_of_scale_moves_no_clock() {
        let id = RepositoryId::new(1).unwrap();
        let interner = Interner::default();
        for (scale, completions) in [
            ([100.0, 1.0], [50.0, 0.5]),
            ([100.0, 1.0], [100.0, 1.0]),
            ([1.0, 100.0], [0.5, 50.0]),
        ] {
            let mut clocks = Clocks::default();
            let mut read = |poll: usize, before, at| {
                let target = TargetLanguage {
                    language: interner.language("de", "German").unwrap(),
                    completion: Completion::new(completions[poll]),
                };
                clocks.advance(id, before, vec![target], scale[poll], at)
            };
            let before = Arc::new(read(0, None, START));
            let after = read(1, Some(before), START.saturating_add(HOUR));
            let progress = after.readings[0].progress().unwrap();
            assert_eq!(progress.at, START, "{completions:?}");
            assert_eq!(Some(progress.completion), Completion::new(completions[1]));
        }
    }

    #[test]
    fn an_api_that_invents_languages_does_not_fill_the_memory() {
        let id = RepositoryId::new(1).unwrap();
        let mut clocks = Clocks::default();
        let interner = Interner::default();
        let (mut now, mut before) = (START, None);
        for poll in 0..6 {
            now = now.saturating_add(HOUR);
            let target = |n| TargetLanguage {
                language: interner
                    .language(&format!("{n}-of-{poll}"), "invented")
                    .unwrap(),
                completion: Completion::new(50.0),
            };
            let mut languages: Vec<_> = (0..30_000).map(target).collect();
            languages.sort_by(|a, b| a.language.code.cmp(&b.language.code));
            let read = clocks.advance(id, before, languages, 100.0, now);
            clocks.forget_excess(read.readings.len());
            before = Some(Arc::new(read));
            interner.forget_unused();
        }
        assert_eq!(clocks.departed.len(), 100_000);
        assert_eq!(interner.count(), 30_000);
        let kept = |poll: &str| {
            let codes = clocks.departed.keys().map(|(_, code)| code);
            codes.filter(|code| code.ends_with(poll)).count()
        };
        let kept = ["-of-0", "-of-1", "-of-4"].map(kept);
        assert_eq!(kept, [0, 10_000, 30_000], "the oldest went first");
    }
}
