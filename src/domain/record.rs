//! The record of a translation: the completion of one language of one repository, and its history.
//!
//! A record belongs to an id and a code, so that renames, failures and outages do not touch it. It
//! compares completions as the API reports them, so that a change of `api.completion_scale` is no
//! progress and no fall. A completion outside the scale is reported and not recorded.
//!
//! The state file holds these types as serde derives them. A change of their fields is a new
//! version of its format, unless the field is optional.

use super::{
    Completion, Defect, Defects, Language, LanguageList, Reason, ReportedLanguage, Repository,
    RepositoryId, Scale, Settings, history::History, targets::TargetEntry,
};
use crate::support::{
    clock::{DAY, Timestamp},
    hint::Failure,
};
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

/// The time for which the record of a departed language is kept.
const KEPT_FOR: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// The record of one translation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    pub language: Arc<Language>,
    /// The completion of the last response, which may lie outside the scale; `None` if the response
    /// has none, or a bad entry may hide the language.
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

    /// Returns the history, if the last response has its completion.
    pub fn current(&self) -> Option<&History> {
        let history = self.history.as_ref();
        history.filter(|history| self.reported == Some(history.completion))
    }

    /// Takes in a response of `now`. A language that comes back has its time anew.
    pub fn observe(
        &mut self,
        reported: Option<Completion>,
        scale: Scale,
        target: &TargetEntry,
        now: Timestamp,
    ) {
        (self.reported, self.hidden_since) = (reported, None);
        if self.left_at.take().is_some()
            && let Some(history) = &mut self.history
        {
            history.unready_since = history.unready_since.map(|_| now);
        }
        if let Some(completion) = reported
            && let Some(ratio) = scale.ratio(completion)
        {
            let begin = || History::new(completion, now);
            let history = self.history.get_or_insert_with(begin);
            history.observe(completion, target.is_met_by(ratio), now);
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
        if may_be && now.since(since) < DAY {
            record.reported = None;
        } else {
            record.left_at.get_or_insert(now);
        }
        record
    }
}

/// A repository that is polled, or has left, with the records of its languages, even if those are
/// stale. The state file keeps the part that outlasts a process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KeptRepository {
    pub repository: Arc<Repository>,
    /// The number of the last attempt to read the repository. Attempts are counted over all
    /// repositories, so that a larger number is a later attempt; 0 means none.
    pub last_attempt: u64,
    /// The time since which reads fail; `None` after a success.
    pub failing_since: Option<Timestamp>,
    /// The time at which its languages were last read in full; `None` if they never were.
    pub read_at: Option<Timestamp>,
    /// Sorted by code, each code once; also of departed languages.
    pub records: Arc<[Record]>,
    /// The number of the poll of this process that last read the languages; 0 means none.
    #[serde(skip)]
    pub read_in: u64,
    /// The failure of the last read of this process, if it failed.
    #[serde(skip)]
    pub failure: Option<Failure>,
    /// The reason of that failure.
    #[serde(skip)]
    pub reason: Option<Reason>,
    /// The defects of the last response.
    #[serde(skip)]
    pub defects: Defects,
    /// The number of languages in the last response that had no field for their completion.
    #[serde(skip)]
    pub absent_completions: usize,
}

impl KeptRepository {
    pub fn new(repository: Arc<Repository>) -> Self {
        Self {
            repository,
            last_attempt: 0,
            failing_since: None,
            read_at: None,
            records: Arc::default(),
            read_in: 0,
            failure: None,
            reason: None,
            defects: Defects::default(),
            absent_completions: 0,
        }
    }

    /// Returns the records of the languages that the repository has.
    pub fn listed(&self) -> impl Iterator<Item = &Record> + Clone {
        let records = self.records.iter();
        records.filter(|record| record.left_at.is_none())
    }

    /// Returns the records of a repository that left at `now`.
    pub fn departed(&self, now: Timestamp) -> Arc<[Record]> {
        let records = self.records.iter();
        records.map(|record| record.lacked(false, now)).collect()
    }

    /// Takes in a response of `now`.
    pub fn observe(&mut self, response: LanguageList, settings: &Settings, now: Timestamp) {
        let LanguageList {
            languages,
            absent,
            bad,
        } = response;
        let targets = settings.targets.of_repository(&self.repository.name);
        // With a code that cannot be read, no language leaves for sure.
        let hides = |defect| bad.0.contains_key(&defect);
        let has_hidden = hides(Defect::NotAnObject) || hides(Defect::Code);
        let kept = self.records.iter().filter(|record| record.is_kept(now));
        let kept = kept.map(|record| (&*record.language.code, record));
        let mut kept: BTreeMap<&str, &Record> = kept.collect();
        let mut records = Vec::with_capacity(languages.len());
        for ReportedLanguage {
            language,
            completion,
        } in languages
        {
            let same = kept.remove(&*language.code).cloned();
            let mut record = same.unwrap_or_else(|| Record::new(Arc::clone(&language)));
            record.language = language;
            let target = targets.target(&record.language.code);
            record.observe(completion, settings.scale, target, now);
            records.push(record);
        }
        let lacked = kept.into_values();
        let lacked = lacked.map(|record| record.lacked(has_hidden, now));
        records.extend(lacked.filter(|record| record.is_kept(now)));
        records.sort_unstable_by(|one, other| one.language.code.cmp(&other.language.code));
        // Unchanged records stay shared with the published snapshots.
        if *self.records != *records {
            self.records = records.into();
        }
        (self.failing_since, self.failure, self.reason) = (None, None, None);
        (self.read_at, self.defects, self.absent_completions) = (Some(now), bad, absent);
    }
}

/// All that is known of the account and survives a restart.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct SavedState {
    /// The end of the last poll that read everything, apart from a few repositories.
    pub last_success_at: Option<Timestamp>,
    /// The polled repositories.
    pub repositories: BTreeMap<RepositoryId, KeptRepository>,
    /// Repositories that the last complete listing lacked. The next listing confirms their
    /// removal.
    pub missed: BTreeSet<RepositoryId>,
    /// The departed repositories, with their records. One that comes back continues them.
    pub gone: BTreeMap<RepositoryId, KeptRepository>,
    /// True once the API has reported a completion of 0: it does not omit zeros.
    pub has_zeros: bool,
    /// The number of the last attempt to read a repository.
    pub attempts: u64,
}

impl SavedState {
    /// Returns the repositories, also those that left.
    pub fn all(&self) -> impl Iterator<Item = &KeptRepository> {
        self.repositories.values().chain(self.gone.values())
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
            record.observe(reported, Scale::PERCENT, &TargetEntry::default(), now);
            assert_eq!((record.reported, record.current()), (reported, None));
            assert_eq!(record.history, before);
        }
        let outside = testing::record_of("de", "German", Some(101.0), START);
        assert_eq!(outside.history, None);
        let rounded = testing::record_of("de", "German", Some(100.000_01), START);
        assert!(rounded.current().is_some());
    }

    fn response(languages: &[(&str, f64)]) -> LanguageList {
        let languages = languages.iter().map(|(code, value)| ReportedLanguage {
            language: testing::record(code, None).language,
            completion: Completion::new(*value),
        });
        LanguageList {
            languages: languages.collect(),
            ..LanguageList::default()
        }
    }

    #[test]
    fn a_language_that_a_bad_entry_may_be_stays_unknown_for_a_day() {
        let settings = testing::settings();
        let mut kept = KeptRepository::new(testing::repository(1, "o/a"));
        let both = response(&[("de", 10.0), ("fr", 20.0)]);
        kept.observe(both, &settings, START);
        for (minutes, expected) in [
            (5, "de Some(10.0), fr None"),
            (60 * 24 + 4, "de Some(10.0), fr None"),
            (60 * 24 + 5, "de Some(10.0)"),
            (60 * 24 + 9, "de Some(10.0)"),
        ] {
            let now = START.saturating_add(Duration::from_secs(minutes * 60));
            let mut de = response(&[("de", 10.0)]);
            de.bad.add(Defect::Code, Some(2), "");
            kept.observe(de, &settings, now);
            let shown = kept.listed().map(|record| {
                let completion = record.reported.map(Completion::get);
                format!("{} {completion:?}", record.language.code)
            });
            assert_eq!(shown.collect::<Vec<_>>().join(", "), expected, "{minutes}");
        }
    }

    #[test]
    fn a_language_that_comes_back_within_30_days_goes_on_where_it_left() {
        let both = || response(&[("de", 10.0), ("fr", 20.0)]);
        for (days, is_kept) in [(27, true), (31, false)] {
            let mut at = START;
            let mut kept = KeptRepository::new(testing::repository(1, "o/a"));
            let mut gone = Vec::new();
            let mut read = |after, reported: LanguageList| {
                at = at.saturating_add(after);
                kept.observe(reported, &testing::settings(), at);
                gone.push(kept.records.len() - kept.listed().count());
            };
            read(DAY, both());
            read(DAY, response(&[("de", 10.0)]));
            read(DAY, response(&[]));
            read(days * DAY, response(&[]));
            read(DAY, both());
            assert_eq!(gone[..3], [0, 1, 2]);
            assert_eq!(gone[4], 0);
            let clock = [at, START.saturating_add(DAY)][usize::from(is_kept)];
            for record in &*kept.records {
                let progress_at = record.current().unwrap().progress_at;
                assert_eq!(progress_at, clock, "{days} days");
            }
        }
    }
}
