//! The record of a translation: the completion of one language of one repository, its progress
//! clock, and the recent past.
//!
//! A record belongs to an id and a code, so that renames, failures and outages do not touch it. It
//! compares completions as the API reports them, so that a change of `api.completion_scale` moves
//! no clock, begins and ends no fall, and hides none. Recorded times never change: a time in the
//! future, which a wrong clock has left behind, counts as now until the next progress replaces it.

use super::{Completion, Language, ReportedLanguage, Repository};
use crate::support::clock::{Timestamp, WEEK};
use serde::{Deserialize, Deserializer, Serialize, de::Error as _};
use std::{collections::BTreeMap, mem::replace, sync::Arc, time::Duration};

/// The time for which a fall is shown after its last drop.
const FALL_SHOWN_FOR: Duration = WEEK;

/// The time for which the record of a departed language is kept.
const KEPT_FOR: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// The record of one translation. A large account has many of them, so the size of this struct
/// decides the use of memory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    pub language: Arc<Language>,
    /// `None` until a response has a readable completion.
    pub known: Option<Known>,
    /// The recent past, once the completion has changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub past: Option<Box<Past>>,
    /// The time at which the language left its repository, alone or with it. A language that comes
    /// back continues its record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_at: Option<Timestamp>,
}

/// The last known completion of a language.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Known {
    pub completion: Completion,
    /// The progress clock: the time at which the completion was first seen, last rose, or fell from
    /// complete, whichever came last.
    pub progress_at: Timestamp,
    /// True if the last response had a readable completion.
    pub is_reported: bool,
}

/// The parts of a record that exist only after a change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Past {
    /// The first reading of this week, which all records begin at once, while polls succeed.
    pub latest: Reading,
    /// The first reading of last week.
    pub previous: Option<Reading>,
    /// The completion that the language lost and has not reached again, the highest one after
    /// several falls; and the time of the last drop.
    pub fall: Option<Reading>,
}

/// A completion at an earlier time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Reading {
    pub completion: Completion,
    pub at: Timestamp,
}

impl Record {
    pub fn new(language: Arc<Language>) -> Self {
        Self {
            language,
            known: None,
            past: None,
            left_at: None,
        }
    }

    /// Returns the completion, or `None` if the last response had no readable one.
    pub fn completion(&self) -> Option<Completion> {
        Some(self.reported()?.completion)
    }

    /// Returns the progress clock, or `None` if the completion is unknown.
    pub fn last_progress(&self, now: Timestamp) -> Option<Timestamp> {
        Some(self.reported()?.progress_at.min(now))
    }

    /// Returns whether the completion has changed, or was known before this time.
    pub fn was_known_before(&self, time: Timestamp) -> bool {
        let known = self.known.as_ref();
        self.past.is_some() || known.is_some_and(|known| known.progress_at <= time)
    }

    /// Returns the fall while it is shown; `None` if the completion is unknown.
    pub fn fall(&self, now: Timestamp) -> Option<Reading> {
        self.reported()?;
        let fall = self.past.as_ref()?.fall?;
        let at = fall.at.min(now);
        (now.since(at) < FALL_SHOWN_FOR).then_some(Reading { at, ..fall })
    }

    /// Returns the first reading of last week, which is 7 to 14 days old, or the first one if the
    /// history is shorter; `None` if the completion is unknown.
    pub fn earlier(&self, now: Timestamp) -> Option<Reading> {
        let known = self.reported()?;
        Some(match &self.past {
            Some(past) => past.previous.unwrap_or(past.latest),
            None => Reading {
                completion: known.completion,
                at: known.progress_at.max(now.week_start().saturating_sub(WEEK)),
            },
        })
    }

    fn reported(&self) -> Option<Known> {
        self.known.filter(|known| known.is_reported)
    }

    /// Takes in a response of `now`; `scale` is the completion that means finished.
    ///
    /// A drop leaves the progress clock alone, unless the language was finished: then new text has
    /// arrived, and the translators' time starts.
    pub fn observe(&mut self, reported: Option<Completion>, scale: f64, now: Timestamp) {
        let Some(completion) = reported else {
            if let Some(known) = &mut self.known {
                known.is_reported = false;
            }
            return;
        };
        let mut known = Known {
            completion,
            progress_at: now,
            is_reported: true,
        };
        if let Some(before) = self.known {
            let rose = completion > before.completion;
            let fell_from_complete = before.completion.get() >= scale && completion.get() < scale;
            if !rose && !fell_from_complete {
                known.progress_at = before.progress_at;
            }
            if self.past.is_some() || completion != before.completion {
                let past = self.past.get_or_insert_with(|| {
                    let (week, began) = (now.week_start(), before.progress_at);
                    // The completion had stood since it was first seen.
                    let stood_at = |at| Reading {
                        completion: before.completion,
                        at: began.max(at),
                    };
                    Box::new(Past {
                        latest: stood_at(week),
                        previous: (began < week).then(|| stood_at(week.saturating_sub(WEEK))),
                        fall: None,
                    })
                });
                past.observe(before.completion, completion, now);
            }
        }
        self.known = Some(known);
    }

    /// Returns whether the record is worth its memory once its language has left.
    pub fn is_kept(&self, now: Timestamp) -> bool {
        let left_at = self.left_at.unwrap_or(now);
        self.known.is_some() && now.since(left_at) < KEPT_FOR
    }

    /// Returns the record of a language that is gone at `now`; `None` if there is nothing to keep,
    /// or no longer.
    pub fn departed(&self, now: Timestamp) -> Option<Self> {
        self.is_kept(now).then(|| Self {
            left_at: self.left_at.or(Some(now)),
            ..self.clone()
        })
    }
}

impl Past {
    /// Takes in a completion that followed the one `before`. Forgets what no longer matters.
    fn observe(&mut self, before: Completion, completion: Completion, now: Timestamp) {
        let current = Reading {
            completion,
            at: now,
        };
        if self.latest.at < now.week_start() {
            self.previous = Some(replace(&mut self.latest, current));
        } else if self.latest.at > now {
            // A wrong clock has dated it.
            self.latest = current;
        }
        let fall = self.fall.filter(|fall| now.since(fall.at) < FALL_SHOWN_FOR);
        self.fall = if completion < before {
            let higher = fall.filter(|fall| fall.completion > before);
            Some(Reading {
                completion: higher.map_or(before, |fall| fall.completion),
                at: now,
            })
        } else {
            fall.filter(|fall| completion < fall.completion)
        };
    }
}

/// The records of one repository, read in full at one time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Languages {
    pub read_at: Timestamp,
    /// Sorted by code, each code once.
    #[serde(deserialize_with = "sorted")]
    pub records: Arc<[Record]>,
}

impl Languages {
    /// Returns the records of a repository after a response of `now`, as a continuation of
    /// `before`, and those of its departed languages, as a continuation of `departed`.
    pub fn after(
        before: Arc<[Record]>,
        departed: Arc<[Record]>,
        reported: Vec<ReportedLanguage>,
        scale: f64,
        now: Timestamp,
    ) -> (Self, Arc<[Record]>) {
        let known = departed.iter().chain(&*before);
        let known = known.map(|record| (&*record.language.code, record));
        let mut known: BTreeMap<&str, &Record> = known.collect();
        let mut records = Vec::with_capacity(reported.len());
        for ReportedLanguage {
            language,
            completion,
        } in reported
        {
            let same = known.remove(&*language.code);
            let mut record = same.map_or_else(|| Record::new(Arc::clone(&language)), Record::clone);
            record.left_at = None;
            // An unchanged language keeps its memory.
            if record.language != language {
                record.language = language;
            }
            record.observe(completion, scale, now);
            records.push(record);
        }
        let gone = known.into_values().filter_map(|gone| gone.departed(now));
        let gone = gone.collect();
        let languages = Self {
            read_at: now,
            records: continued(before, records),
        };
        (languages, continued(departed, gone))
    }
}

/// Returns the records that follow `before`. Unchanged ones stay shared with the published
/// snapshots.
fn continued(before: Arc<[Record]>, after: Vec<Record>) -> Arc<[Record]> {
    if *before == *after {
        before
    } else {
        after.into()
    }
}

fn sorted<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<[Record]>, D::Error> {
    let records = Arc::<[Record]>::deserialize(deserializer)?;
    if records.is_sorted_by(|one, next| one.language.code < next.language.code) {
        Ok(records)
    } else {
        Err(D::Error::custom("the languages are not in order"))
    }
}

/// A repository as the ledger keeps it, with its languages if they were ever read, even if those
/// are stale.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SavedRepository {
    pub repository: Arc<Repository>,
    /// The number of the last attempt to read the repository. Attempts are counted over all
    /// repositories, so that a larger number is a later attempt; 0 means none.
    pub last_attempt: u64,
    /// The number of failed attempts since the last success.
    pub failures: u32,
    /// The time since which reads fail; `None` after a success.
    pub failing_since: Option<Timestamp>,
    pub languages: Option<Arc<Languages>>,
    /// The records of languages that left the repository.
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    pub departed: Arc<[Record]>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{support::clock::DAY, testing};
    use std::cmp::Ordering;

    const START: Timestamp = Timestamp::from_millis(1_700_000_000_000);

    fn completion(value: f64) -> Completion {
        Completion::new(value).unwrap()
    }

    /// The record of a language whose completion is read again and again.
    struct Polled {
        record: Record,
        now: Timestamp,
    }

    impl Polled {
        /// Reads one completion a day, the first one now.
        fn daily(readings: &[f64]) -> Self {
            let mut polled = Self {
                record: testing::record_of("de", "German", Some(readings[0]), START),
                now: START,
            };
            for reading in &readings[1..] {
                polled.read(DAY, *reading);
            }
            polled
        }

        fn read(&mut self, after: Duration, reading: f64) {
            self.now = self.now.saturating_add(after);
            let reported = Some(completion(reading));
            self.record.observe(reported, 100.0, self.now);
        }

        /// Returns the days between the first reading and the progress clock.
        fn clock(&self) -> u64 {
            let at = self.record.last_progress(self.now).unwrap();
            at.since(START).as_secs() / 86_400
        }

        /// Returns the completion before a fall.
        fn fell_from(&self) -> Option<f64> {
            Some(self.record.fall(self.now)?.completion.get())
        }

        /// Returns the completion of the earlier reading and its age in days.
        fn earlier(&self) -> Option<(f64, u64)> {
            let earlier = self.record.earlier(self.now)?;
            let age = self.now.since(earlier.at);
            Some((earlier.completion.get(), age.as_secs() / 86_400))
        }
    }

    #[test]
    fn a_record_has_56_bytes_and_a_past_64() {
        assert_eq!((size_of::<Record>(), size_of::<Past>()), (56, 64));
    }

    #[test]
    fn the_clock_starts_when_a_language_is_first_seen() {
        assert_eq!(Polled::daily(&[50.0]).clock(), 0);
    }

    #[test]
    fn the_clock_stands_while_the_completion_stands_or_falls() {
        assert_eq!(Polled::daily(&[50.0, 50.0, 48.0, 46.0]).clock(), 0);
    }

    #[test]
    fn the_clock_moves_when_the_completion_rises_even_from_a_dip() {
        assert_eq!(Polled::daily(&[50.0, 49.0, 50.0]).clock(), 2);
    }

    #[test]
    fn the_clock_restarts_when_a_finished_language_gets_new_text() {
        assert_eq!(Polled::daily(&[100.0, 100.0, 97.0, 97.0]).clock(), 2);
        let above = Polled::daily(&[110.0, 105.0]).clock();
        assert_eq!(above, 0, "a completion above the scale is finished, too");
    }

    #[test]
    fn a_completion_that_rises_or_stands_has_no_fall() {
        assert_eq!(Polled::daily(&[10.0, 20.0, 20.0]).fell_from(), None);
    }

    #[test]
    fn a_fall_lasts_until_the_lost_completion_is_reached_again() {
        for (readings, fell_from) in [
            (&[80.0, 20.0][..], Some(80.0)),
            (&[80.0, 20.0, 79.0], Some(80.0)),
            (&[80.0, 20.0, 80.0], None),
            (&[80.0, 20.0, 90.0], None),
            (&[80.0, 50.0, 60.0, 20.0], Some(80.0)),
        ] {
            assert_eq!(
                Polled::daily(readings).fell_from(),
                fell_from,
                "{readings:?}"
            );
        }
    }

    #[test]
    fn a_fall_is_shown_for_7_days_after_the_last_drop() {
        let stands = |days| [&[80.0, 20.0][..], &vec![20.0; days]].concat();
        assert_eq!(Polled::daily(&stands(6)).fell_from(), Some(80.0));
        assert_eq!(Polled::daily(&stands(7)).fell_from(), None);
        let again = [&stands(5)[..], &[10.0, 10.0]].concat();
        let again = Polled::daily(&again).fell_from();
        assert_eq!(again, Some(80.0), "the last drop counts");
        let later = [&stands(7)[..], &[10.0]].concat();
        let later = Polled::daily(&later).fell_from();
        assert_eq!(later, Some(20.0), "the first was over");
    }

    #[test]
    fn times_in_the_future_are_shown_as_now() {
        let mut polled = Polled::daily(&[80.0, 20.0]);
        polled.now = START;
        assert_eq!(polled.record.fall(START).unwrap().at, START);
        polled.read(Duration::ZERO, 30.0);
        polled.record.known.as_mut().unwrap().progress_at = START.saturating_add(DAY);
        assert_eq!(polled.record.last_progress(START), Some(START));
    }

    #[test]
    fn an_unknown_completion_shows_nothing_and_forgets_nothing() {
        let mut polled = Polled::daily(&[80.0, 20.0]);
        let known = polled.record.clone();
        polled.record.observe(None, 100.0, polled.now);
        let Polled { record, now } = &mut polled;
        assert_eq!(record.completion(), None);
        assert_eq!(record.last_progress(*now), None);
        assert_eq!(record.fall(*now), None);
        assert_eq!(record.earlier(now.saturating_add(DAY)), None);
        record.observe(Some(completion(20.0)), 100.0, now.saturating_add(DAY));
        assert_eq!(*record, known);
    }

    #[test]
    fn an_earlier_reading_is_7_to_14_days_old_once_history_allows() {
        let readings: Vec<_> = (0..60).map(f64::from).collect();
        let earlier = |days: usize| Polled::daily(&readings[..=days]).earlier();
        for days in 0..7_u8 {
            assert_eq!(earlier(days.into()), Some((0.0, days.into())));
        }
        for days in 7..60_u8 {
            let (completion, age) = earlier(days.into()).unwrap();
            assert!((7..14).contains(&age), "{age} days old after {days}");
            let age = u8::try_from(age).unwrap();
            assert_eq!(
                completion.total_cmp(&f64::from(days - age)),
                Ordering::Equal
            );
        }
    }

    #[test]
    fn a_completion_that_never_moved_takes_no_memory_for_earlier_readings() {
        let stood = Polled::daily(&[20.0; 40]);
        assert_eq!(
            (&stood.record.past, stood.earlier()),
            (&None, Some((20.0, 12)))
        );
        let new = Polled::daily(&[20.0; 4]);
        assert_eq!((&new.record.past, new.earlier()), (&None, Some((20.0, 3))));
        let moved = [&[20.0; 40][..], &[30.0]].concat();
        assert_eq!(Polled::daily(&moved).earlier(), Some((20.0, 13)));
        let rests = [&moved[..], &[30.0; 22]].concat();
        let rests = Polled::daily(&rests);
        assert_eq!(rests.earlier(), Some((30.0, 7)));
    }

    fn reported(code: &str, reported: f64) -> ReportedLanguage {
        ReportedLanguage {
            language: testing::record(code, None).language,
            completion: Some(completion(reported)),
        }
    }

    #[test]
    fn a_language_that_comes_back_within_30_days_goes_on_where_it_left() {
        let both = || vec![reported("de", 10.0), reported("fr", 20.0)];
        for (days, is_kept) in [(27, true), (31, false)] {
            let mut at = START;
            let (mut records, mut departed) = (Arc::default(), Arc::default());
            let mut gone = Vec::new();
            let mut read = |after, reported| {
                at = at.saturating_add(after);
                let before = (Arc::clone(&records), Arc::clone(&departed));
                let after = Languages::after(before.0, before.1, reported, 100.0, at);
                (records, departed) = (after.0.records, after.1);
                gone.push(departed.len());
            };
            read(DAY, both());
            read(DAY, vec![reported("de", 10.0)]);
            read(DAY, Vec::new());
            read(days * DAY, Vec::new());
            read(DAY, both());
            assert_eq!(gone[..3], [0, 1, 2]);
            assert_eq!(gone[4], 0);
            let clock = if is_kept {
                START.saturating_add(DAY)
            } else {
                at
            };
            for record in &*records {
                assert_eq!(record.last_progress(at), Some(clock), "{days} days");
            }
        }
    }
}
