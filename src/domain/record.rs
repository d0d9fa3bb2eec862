//! The record of a translation: the completion of one language of one repository, its progress
//! clock, and the recent past.
//!
//! A record belongs to an id and a code, so that renames, failures and outages do not touch it. It
//! compares completions as the API reports them, so that a change of `api.completion_scale` moves
//! no clock, begins and ends no fall, and hides none. Recorded times never change: a time in the
//! future, which a wrong clock has left behind, counts as now until the next progress replaces it.
//!
//! Readings of two days decide on progress, so that two replicas of the API that disagree, or the
//! last bit of a fraction, are none. A completion outside the scale is reported and not recorded.
//!
//! The state file holds these types as serde derives them. A change of their fields is a new
//! version of its format, unless the field is optional.

use super::{Completion, Language, ReportedLanguage, Repository, Scale};
use crate::support::clock::{DAY, Timestamp, WEEK};
use serde::{Deserialize, Serialize};
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
    /// The completion of the last response, which may lie outside the scale.
    pub reported: Option<Completion>,
    /// The last completion within the scale, and the progress clock: the time at which it was
    /// first seen, last rose, or fell from complete, whichever came last.
    pub known: Option<Reading>,
    /// The recent past, once the completion has changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub past: Option<Box<Past>>,
    /// The time at which the language left its repository, alone or with it. A language that comes
    /// back continues its record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_at: Option<Timestamp>,
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
    pub peaks: Peaks,
    /// The first of the readings since which the language is finished.
    pub finished_since: Option<Timestamp>,
}

/// The highest completion of today, of yesterday, and of the day before.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Peaks {
    pub today: Timestamp,
    pub highest: [Completion; 3],
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
            reported: None,
            known: None,
            past: None,
            left_at: None,
        }
    }

    /// Returns the progress clock, or `None` if the completion is unknown.
    pub fn last_progress(&self, now: Timestamp) -> Option<Timestamp> {
        Some(self.current()?.at.min(now))
    }

    /// Returns whether the completion has changed, or was known before this time.
    pub fn was_known_before(&self, time: Timestamp) -> bool {
        let known = self.known.as_ref();
        self.past.is_some() || known.is_some_and(|known| known.at <= time)
    }

    /// Returns the fall while it is shown; `None` if the completion is unknown.
    pub fn fall(&self, now: Timestamp) -> Option<Reading> {
        self.current()?;
        let fall = self.past.as_ref()?.fall?;
        let at = fall.at.min(now);
        (now.since(at) < FALL_SHOWN_FOR).then_some(Reading { at, ..fall })
    }

    /// Returns the first reading of last week, which is 7 to 14 days old, or the first one if the
    /// history is shorter; `None` if the completion is unknown.
    pub fn earlier(&self, now: Timestamp) -> Option<Reading> {
        let known = self.current()?;
        Some(match &self.past {
            Some(past) => past.previous.unwrap_or(past.latest),
            None => Reading {
                completion: known.completion,
                at: known.at.max(now.week_start().saturating_sub(WEEK)),
            },
        })
    }

    /// Returns the known completion, if the last response has it.
    fn current(&self) -> Option<Reading> {
        let is_current = |known: &Reading| self.reported == Some(known.completion);
        self.known.filter(is_current)
    }

    /// Takes in a response of `now`; `scale` is the unit of completions.
    ///
    /// A drop leaves the progress clock alone, unless the language had been finished for two days:
    /// then new text has arrived, and the translators' time starts.
    pub fn observe(&mut self, reported: Option<Completion>, scale: Scale, now: Timestamp) {
        self.reported = reported;
        let Some(completion) = reported.filter(|one| scale.ratio(*one).is_some()) else {
            return;
        };
        let mut progress_at = now;
        if let Some(before) = self.known {
            if self.past.is_none() && completion == before.completion {
                return;
            }
            let past = self.past.get_or_insert_with(|| {
                let is_finished = scale.is_finished(before.completion);
                Box::new(Past::standing(before, is_finished, now))
            });
            if !past.is_restart(before.completion, completion, scale, now) {
                progress_at = before.at;
            }
            past.observe(before.completion, completion, scale, now);
        }
        self.known = Some(Reading {
            completion,
            at: progress_at,
        });
    }

    /// Returns whether the record is worth its memory once its language has left.
    pub fn is_kept(&self, now: Timestamp) -> bool {
        let left_at = self.left_at.unwrap_or(now);
        self.known.is_some() && now.since(left_at) < KEPT_FOR
    }

    /// Returns the record of a language that is gone at `now`.
    #[must_use]
    pub fn departed(&self, now: Timestamp) -> Self {
        Self {
            left_at: self.left_at.or(Some(now)),
            ..self.clone()
        }
    }
}

impl Past {
    /// Returns the past of a completion that has stood since its last progress.
    pub fn standing(known: Reading, is_finished: bool, now: Timestamp) -> Self {
        let (week, began) = (now.week_start(), known.at);
        let completion = known.completion;
        let stood_at = |at| Reading {
            completion,
            at: began.max(at),
        };
        Self {
            latest: stood_at(week),
            previous: (began < week).then(|| stood_at(week.saturating_sub(WEEK))),
            fall: None,
            peaks: Peaks {
                today: now,
                highest: [completion; 3],
            },
            finished_since: is_finished.then_some(began),
        }
    }

    /// Returns whether the completion that followed the one `before` sets the progress clock.
    fn is_restart(
        &self,
        before: Completion,
        completion: Completion,
        scale: Scale,
        now: Timestamp,
    ) -> bool {
        let is_above = |peak: &Completion| completion > *peak;
        let rose = is_above(&before) && self.peaks.highest.iter().all(is_above);
        let fell = scale.is_finished(before) && !scale.is_finished(completion);
        let was_finished = |since| now.since(since) >= DAY * 2;
        rose || fell && self.finished_since.is_some_and(was_finished)
    }

    /// Takes in a completion that followed the one `before`. Forgets what no longer matters.
    fn observe(
        &mut self,
        before: Completion,
        completion: Completion,
        scale: Scale,
        now: Timestamp,
    ) {
        self.peaks.observe(completion, now);
        let finished = scale
            .is_finished(completion)
            .then(|| self.finished_since.unwrap_or(now));
        self.finished_since = finished;
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

impl Peaks {
    fn observe(&mut self, completion: Completion, now: Timestamp) {
        let days = now.since(self.today).as_secs() / DAY.as_secs();
        // A wrong clock may have dated today to the future.
        if days > 0 || self.today > now {
            let days = usize::try_from(days).map_or(3, |days| days.min(3));
            self.highest.rotate_right(days);
            self.highest[..days].fill(completion);
            self.today = now;
        }
        if completion > self.highest[0] {
            self.highest[0] = completion;
        }
    }
}

/// The records of one repository, read in full at one time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Languages {
    pub read_at: Timestamp,
    /// Sorted by code, each code once; also of departed languages.
    pub records: Arc<[Record]>,
}

impl Languages {
    /// Returns the records of the languages that the repository has.
    pub fn listed(&self) -> impl Iterator<Item = &Record> + Clone {
        self.records
            .iter()
            .filter(|record| record.left_at.is_none())
    }

    /// Returns the languages of a repository that left at `now`.
    pub fn departed(&self, now: Timestamp) -> Self {
        let records = self.records.iter().map(|record| record.departed(now));
        Self {
            records: records.collect(),
            ..*self
        }
    }

    /// Returns the records of a repository after a response of `now`, as a continuation of
    /// `before`.
    pub fn after(
        before: Arc<[Record]>,
        reported: Vec<ReportedLanguage>,
        scale: Scale,
        now: Timestamp,
    ) -> Self {
        let known = before.iter().filter(|record| record.is_kept(now));
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
        records.extend(known.into_values().map(|gone| gone.departed(now)));
        records.sort_unstable_by(|one, other| one.language.code.cmp(&other.language.code));
        Self {
            read_at: now,
            // Unchanged records stay shared with the published snapshots.
            records: if *before == *records {
                before
            } else {
                records.into()
            },
        }
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
    /// The time since which reads fail; `None` after a success.
    pub failing_since: Option<Timestamp>,
    pub languages: Option<Languages>,
}

impl SavedRepository {
    pub fn new(repository: Arc<Repository>) -> Self {
        Self {
            repository,
            last_attempt: 0,
            failing_since: None,
            languages: None,
        }
    }

    /// Returns the records of the languages, also of those that left.
    pub fn records(&self) -> &[Record] {
        let languages = self.languages.as_ref();
        languages.map_or(&[], |languages| &languages.records)
    }
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
            self.record.observe(reported, Scale::PERCENT, self.now);
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
    fn a_record_has_72_bytes_and_a_past_112() {
        assert_eq!((size_of::<Record>(), size_of::<Past>()), (72, 112));
    }

    #[test]
    fn the_clock_starts_when_a_language_is_first_seen() {
        assert_eq!(Polled::daily(&[50.0]).clock(), 0);
    }

    #[test]
    fn the_clock_stands_while_the_completion_stands_or_falls() {
        assert_eq!(Polled::daily(&[50.0, 50.0, 48.0, 46.0]).clock(), 0);
    }

    /// Reads these completions every eight hours.
    fn every_eight_hours(readings: impl IntoIterator<Item = f64>) -> Polled {
        let mut readings = readings.into_iter();
        let mut polled = Polled::daily(&[readings.next().unwrap()]);
        readings.for_each(|reading| polled.read(DAY / 3, reading));
        polled
    }

    #[test]
    fn the_clock_moves_when_a_completion_is_above_those_of_two_days() {
        for (readings, clock) in [
            (&[50.0, 51.0][..], 1),
            (&[50.0, 49.0, 50.0], 0),
            (&[50.0, 49.0, 49.5], 0),
            (&[50.0, 49.0, 50.5], 2),
            (&[50.0, 49.0, 49.0, 49.0, 49.0, 49.5], 5),
        ] {
            assert_eq!(Polled::daily(readings).clock(), clock, "{readings:?}");
        }
    }

    #[test]
    fn two_replicas_that_disagree_are_no_progress() {
        let alternating = |one, other| {
            let readings = (0..60).map(move |n| if n % 2 == 0 { one } else { other });
            every_eight_hours(readings)
        };
        assert_eq!(alternating(62.0, 60.0).clock(), 0);
        assert_eq!(alternating(60.0, 62.0).clock(), 0, "the first rise alone");
        let (one, other) = (66.666_666_666_666_67, 66.666_666_666_666_66);
        assert_eq!(alternating(one, other).clock(), 0);
        let finished = alternating(100.0, 98.0);
        assert_eq!(finished.clock(), 0, "it was not finished in every reading");
    }

    #[test]
    fn the_clock_restarts_when_a_language_finished_for_two_days_gets_new_text() {
        assert_eq!(Polled::daily(&[100.0, 100.0, 97.0, 97.0]).clock(), 2);
        assert_eq!(Polled::daily(&[100.0, 97.0, 97.0]).clock(), 0);
        assert_eq!(Polled::daily(&[90.0, 100.0, 99.0, 100.0, 99.0]).clock(), 1);
        assert_eq!(Polled::daily(&[90.0, 100.0, 100.0, 100.0, 99.0]).clock(), 4);
    }

    #[test]
    fn a_completion_outside_the_scale_is_reported_and_not_recorded() {
        for outside in [-1.0, 101.0, 6250.0] {
            let mut polled = Polled::daily(&[50.0, 60.0]);
            let before = polled.record.clone();
            polled.read(DAY, outside);
            let Polled { record, now } = &mut polled;
            assert_eq!(record.reported, Completion::new(outside));
            assert_eq!(
                (record.last_progress(*now), record.earlier(*now)),
                (None, None)
            );
            assert_eq!((&record.known, &record.past), (&before.known, &before.past));
            assert_eq!(Polled::daily(&[outside]).record.known, None);
        }
        let rounded = Polled::daily(&[100.000_01, 97.0]);
        assert_eq!(rounded.fell_from(), Some(100.000_01));
    }

    #[test]
    fn a_changed_scale_moves_no_clock() {
        let mut polled = Polled::daily(&[0.5, 1.0, 1.0, 1.0]);
        polled.read(DAY, 0.9);
        assert_eq!(polled.clock(), 1);
    }

    #[test]
    fn a_clock_ahead_keeps_no_peak_for_ever() {
        let mut polled = Polled::daily(&[60.0]);
        polled.now = START.saturating_add(DAY * 10_000);
        polled.read(Duration::ZERO, 50.0);
        polled.now = START;
        polled.read(DAY, 50.0);
        (0..3).for_each(|_| polled.read(DAY, 50.0));
        polled.read(DAY, 51.0);
        assert_eq!(polled.clock(), 5);
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
        polled.record.known.as_mut().unwrap().at = START.saturating_add(DAY);
        assert_eq!(polled.record.last_progress(START), Some(START));
    }

    #[test]
    fn an_unknown_completion_shows_nothing_and_forgets_nothing() {
        let mut polled = Polled::daily(&[80.0, 20.0]);
        let known = polled.record.clone();
        polled.record.observe(None, Scale::PERCENT, polled.now);
        let Polled { record, now } = &mut polled;
        assert_eq!(record.reported, None);
        assert_eq!(record.last_progress(*now), None);
        assert_eq!(record.fall(*now), None);
        assert_eq!(record.earlier(now.saturating_add(DAY)), None);
        record.observe(Some(completion(20.0)), Scale::PERCENT, *now);
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
            let mut records = Arc::default();
            let mut gone = Vec::new();
            let mut read = |after, reported| {
                at = at.saturating_add(after);
                let after = Languages::after(Arc::clone(&records), reported, Scale::PERCENT, at);
                gone.push(after.records.len() - after.listed().count());
                records = after.records;
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
