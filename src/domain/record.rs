//! The record of a translation: the completion of one language of one repository, and its history.
//!
//! A record belongs to an id and a code, so that renames, failures and outages do not touch it. It
//! compares completions as the API reports them, so that a change of `api.completion_scale` is no
//! progress and no fall. A completion outside the scale is reported and not recorded.
//!
//! The state file holds these types as serde derives them. A change of their fields is a new
//! version of its format, unless the field is optional.

use super::{
    Completion, Language, ReportedLanguage, Repository, Scale,
    history::History,
    targets::{Target, Targets},
};
use crate::support::clock::{DAY, Timestamp};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, sync::Arc, time::Duration};

/// The time for which the record of a departed language is kept.
const KEPT_FOR: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// The record of one translation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    pub language: Arc<Language>,
    /// The completion of the last response, which may lie outside the scale.
    pub reported: Option<Completion>,
    /// `None` if no completion within the scale was ever reported.
    pub history: Option<History>,
    /// The time at which the language left its repository, alone or with it. A language that comes
    /// back continues its record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_at: Option<Timestamp>,
    /// The time since which responses lack the language, which a bad entry may be at first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hidden_since: Option<Timestamp>,
}

impl Record {
    pub fn new(language: Arc<Language>) -> Self {
        Self {
            language,
            reported: None,
            history: None,
            left_at: None,
            hidden_since: None,
        }
    }

    /// Returns the completion, if the last response has it.
    pub fn completion(&self) -> Option<Completion> {
        self.reported.filter(|_| self.hidden_since.is_none())
    }

    /// Returns the history, if the last response has its completion.
    pub fn current(&self) -> Option<&History> {
        let history = self.history.as_ref();
        history.filter(|history| self.completion() == Some(history.completion))
    }

    /// Takes in a response of `now`. A language that comes back has its time anew.
    pub fn observe(
        &mut self,
        reported: Option<Completion>,
        scale: Scale,
        target: Target,
        now: Timestamp,
    ) {
        (self.reported, self.hidden_since) = (reported, None);
        if self.left_at.take().is_some()
            && let Some(history) = &mut self.history
        {
            history.unready_since = history.unready_since.map(|_| now);
        }
        let ratio = |completion: &Completion| scale.ratio(*completion);
        if let Some((completion, ratio)) = reported.and_then(|it| Some((it, ratio(&it)?))) {
            let history = self.history.take();
            let mut history = history.unwrap_or_else(|| History::new(completion, now));
            history.observe(completion, target.is_met_by(ratio), now);
            self.history = Some(history);
        }
    }

    /// Returns whether the record is worth its memory, also once its language has left.
    pub fn is_kept(&self, now: Timestamp) -> bool {
        let has_left = |at| self.history.is_some() && now.since(at) < KEPT_FOR;
        self.left_at.is_none_or(has_left)
    }

    /// Returns the record of a language that a response of `now` lacks. It has left, unless a bad
    /// entry `may_be` the language, which then stays for a day at most.
    fn lacked(&self, may_be: bool, now: Timestamp) -> Self {
        let mut record = self.clone();
        let since = *record.hidden_since.get_or_insert(now);
        if !may_be || now.since(since) >= DAY {
            record.left_at.get_or_insert(now);
        }
        record
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
        let records = self.records.iter().map(|record| record.lacked(false, now));
        Self {
            records: records.collect(),
            ..*self
        }
    }

    /// Returns the records of a repository after a response of `now`, as a continuation of
    /// `before`. With a code in it that cannot be read, no language leaves for sure. `targets` are
    /// those of the repository.
    pub fn after(
        before: Arc<[Record]>,
        (reported, has_hidden): (Vec<ReportedLanguage>, bool),
        scale: Scale,
        targets: &Targets,
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
            // An unchanged language keeps its memory.
            if record.language != language {
                record.language = language;
            }
            let target = targets.target(&record.language.code);
            record.observe(completion, scale, target, now);
            records.push(record);
        }
        let lacked = known.into_values();
        let lacked = lacked.map(|record| record.lacked(has_hidden, now));
        records.extend(lacked.filter(|record| record.is_kept(now)));
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
    use crate::testing;

    const START: Timestamp = Timestamp::from_millis(1_700_000_000_000);

    fn completion(value: f64) -> Completion {
        Completion::new(value).unwrap()
    }

    #[test]
    fn what_is_not_within_the_scale_is_reported_and_not_recorded() {
        let mut record = testing::record_of("de", "German", Some(60.0), START);
        let before = record.history.clone();
        for value in [None, Some(-1.0), Some(101.0), Some(6250.0)] {
            let reported = value.map(completion);
            let now = START.saturating_add(DAY);
            record.observe(reported, Scale::PERCENT, Target::default(), now);
            assert_eq!((record.reported, record.current()), (reported, None));
            assert_eq!(record.history, before);
        }
        let outside = testing::record_of("de", "German", Some(101.0), START);
        assert_eq!(outside.history, None);
        let rounded = testing::record_of("de", "German", Some(100.000_01), START);
        assert!(rounded.current().is_some());
    }

    fn reported(code: &str, reported: f64) -> ReportedLanguage {
        ReportedLanguage {
            language: testing::record(code, None).language,
            completion: Some(completion(reported)),
        }
    }

    #[test]
    fn a_language_that_a_bad_entry_may_be_stays_unknown_for_a_day() {
        let (scale, targets) = (Scale::PERCENT, Targets::default());
        let mut read = Languages::after(
            Arc::default(),
            (vec![reported("de", 10.0), reported("fr", 20.0)], false),
            scale,
            &targets,
            START,
        );
        for (minutes, has_hidden, expected) in [
            (5, true, "de Some(10.0), fr None"),
            (60 * 24 + 4, true, "de Some(10.0), fr None"),
            (60 * 24 + 5, true, "de Some(10.0)"),
            (60 * 24 + 9, true, "de Some(10.0)"),
        ] {
            let now = START.saturating_add(Duration::from_secs(minutes * 60));
            let de = (vec![reported("de", 10.0)], has_hidden);
            read = Languages::after(read.records, de, scale, &targets, now);
            let shown = read.listed().map(|record| {
                let completion = record.completion().map(Completion::get);
                format!("{} {completion:?}", record.language.code)
            });
            assert_eq!(shown.collect::<Vec<_>>().join(", "), expected, "{minutes}");
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
                let after = Languages::after(
                    Arc::clone(&records),
                    (reported, false),
                    Scale::PERCENT,
                    &Targets::default(),
                    at,
                );
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
                assert_eq!(
                    record.current().map(|history| history.progress_at),
                    Some(clock),
                    "{days} days"
                );
            }
        }
    }
}
