//! The published document: everything that is known of the account, judged.
//!
//! [`Document::judge`] makes one for each publication. Metrics, page, table, Markdown, CSV, JSON,
//! badge and gate read its fields, and decide nothing. An unknown completion, a completion that
//! cannot be judged and a resting translation are values of it, so that no reader takes them for 0.

mod dates;
mod judge;
mod selection;
mod totals;

pub use super::NotJudged;
pub use dates::Due;
pub use selection::Selection;
pub use totals::Totals;

use super::{
    Completion, Failure, Language, Reason, Repository, Thresholds, TranslationProblem,
    links::Links,
    polling::{PollOutcome, PollStatus},
    snapshot::Condition,
    targets::{Target, TargetEntry, Targets},
};
use crate::support::clock::Timestamp;
use std::{
    cmp::{Ordering, Reverse},
    collections::BTreeMap,
    sync::Arc,
};

/// The account as of one publication.
#[derive(Debug, Clone)]
pub struct Document {
    /// The time of the judgement.
    pub taken_at: Timestamp,
    /// Sorted by name, each name once.
    pub rows: Vec<Row>,
    /// The totals of all rows.
    pub totals: Totals,
    /// The number of listed repositories left out by the filters, or for a duplicate name.
    pub filtered: usize,
    /// The number of ids without a readable name in the last complete listing. A repository that
    /// had a name before keeps it.
    pub unnamed: usize,
    /// The number of repositories missing from the last complete listing while their removal waits
    /// for the next listing to confirm it; otherwise 0.
    pub unconfirmed: usize,
    /// `api.completion_scale`: the completion that means finished.
    pub completion_scale: f64,
    /// True if `api.completion_scale` seems wrong, so that no ratio can be trusted.
    pub is_scale_suspect: bool,
    pub targets: Arc<Targets>,
    pub thresholds: Thresholds,
    pub links: Arc<Links>,
    pub status: PollStatus,
}

/// A repository.
#[derive(Debug, Clone)]
pub struct Row {
    pub repository: Arc<Repository>,
    pub condition: Condition,
    /// Shared with the documents before and after, as long as nothing changes.
    judged: Arc<Judged>,
}

/// The translations of a repository as of its last good read.
#[derive(Debug)]
struct Judged {
    /// Sorted by code.
    translations: Box<[Translation]>,
    totals: Totals,
}

/// One language of one repository.
#[derive(Debug, Clone, PartialEq)]
pub struct Translation {
    pub language: Arc<Language>,
    /// True if `targets` requires the language, and the repository does not have it.
    pub is_missing: bool,
    /// `None` if the API reports no completion.
    pub completion: Option<Completion>,
    /// See [`Completion::ratio`].
    pub ratio: Option<f64>,
    /// True while the completion scale is suspect, so that no ratio can be trusted.
    pub is_suspect: bool,
    /// The entry of `targets` that applies.
    pub entry: Option<Arc<TargetEntry>>,
    /// `None` if no completion is reported.
    pub last_progress: Option<Timestamp>,
    /// True if nothing earlier is known: the completion was first seen within the last week and has
    /// not changed since, so that `last_progress` is the time of the first read.
    pub is_new: bool,
    /// A fall of the last 7 days; a resting translation has none.
    pub fall: Option<Box<Fall>>,
    pub readiness: Readiness,
    pub problems: Problems,
    /// The time at which the translation is expected to be ready; `None` if it is ready, gains
    /// nothing or cannot be judged, or if that time has passed.
    pub estimated_ready: Option<Timestamp>,
}

/// The ratio before a fall, and the time of the fall.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fall {
    pub from: f64,
    pub at: Timestamp,
}

/// The relation of a translation to its target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readiness {
    Ready,
    Behind,
    /// No completion is reported, or the completion scale is suspect.
    Unknown,
    /// A target of 0 expects no progress.
    Resting,
}

/// The problems of a translation. One that is ready or rests has none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Problems {
    /// In the order of [`TranslationProblem::ALL`].
    has: [bool; TranslationProblem::ALL.len()],
    /// The reason why it may have other ones.
    pub not_judged: Option<NotJudged>,
}

impl NotJudged {
    /// Returns the reason in words for people.
    pub fn words(self) -> &'static str {
        match self {
            Self::SuspectScale => "the completion scale is suspect",
            Self::OldData => "the data are too old",
            Self::NoCompletion => "no completion is reported",
            Self::TooEarly => "pace not known yet",
        }
    }
}

impl Translation {
    pub fn code(&self) -> &str {
        &self.language.code
    }

    /// Returns the target; without an entry, the default one.
    pub fn target(&self) -> Target {
        let entry = self.entry.as_ref();
        entry.map(|entry| entry.target).unwrap_or_default()
    }

    pub fn is_ready(&self) -> bool {
        self.readiness == Readiness::Ready
    }

    pub fn rests(&self) -> bool {
        self.readiness == Readiness::Resting
    }

    /// Returns whether the translation is neither ready nor resting.
    pub fn is_behind(&self) -> bool {
        matches!(self.readiness, Readiness::Behind | Readiness::Unknown)
    }

    /// Returns the ratio unless the completion scale is suspect.
    pub fn trusted_ratio(&self) -> Option<f64> {
        self.ratio.filter(|_| !self.is_suspect)
    }

    /// Returns whether the translation is at or above its target; `None` if that is unknown.
    pub fn ready(&self) -> Option<bool> {
        match self.readiness {
            Readiness::Ready | Readiness::Resting => Some(true),
            Readiness::Behind => Some(false),
            Readiness::Unknown => None,
        }
    }

    /// Returns the time of the last progress unless nothing earlier is known.
    pub fn known_progress(&self) -> Option<Timestamp> {
        self.last_progress.filter(|_| !self.is_new)
    }

    /// Returns the gap between the ratio and the target; `None` if the ratio is unknown, cannot be
    /// trusted or does not matter.
    pub fn missing(&self) -> Option<f64> {
        match self.readiness {
            Readiness::Ready => Some(0.0),
            Readiness::Behind => Some(self.target().ratio - self.ratio?),
            Readiness::Unknown | Readiness::Resting => None,
        }
    }

    pub fn has(&self, kind: TranslationProblem) -> bool {
        self.problems.has[kind as usize]
    }

    /// Returns the problems, each with the time that it is about.
    pub fn problems(&self) -> impl Iterator<Item = (TranslationProblem, Timestamp)> {
        let kinds = TranslationProblem::ALL.iter().copied();
        kinds.filter(|kind| self.has(*kind)).filter_map(|kind| {
            let about = match kind {
                TranslationProblem::Stalled => self.last_progress,
                TranslationProblem::Regressed => self.fall.as_ref().map(|fall| fall.at),
                TranslationProblem::Overdue | TranslationProblem::AtRisk => self.target().due,
            };
            Some((kind, about?))
        })
    }

    /// Returns the labels of the problems.
    pub fn kinds(&self) -> Vec<&'static str> {
        self.problems().map(|(kind, _)| kind.label()).collect()
    }
}

impl Row {
    pub fn name(&self) -> &str {
        &self.repository.name
    }

    /// Returns the shown translations, sorted by code; the slice is empty while none are known.
    pub fn translations(&self) -> &[Translation] {
        if self.is_read() { self.known() } else { &[] }
    }

    /// Returns the translations of the last good read, shown or stale.
    pub fn known(&self) -> &[Translation] {
        &self.judged.translations
    }

    /// Returns the languages that the API lists for the repository; `None` if they are not shown.
    pub fn listed(&self) -> Option<usize> {
        let listed = self.translations().iter().filter(|one| !one.is_missing);
        self.is_read().then(|| listed.count())
    }

    /// Returns the totals of the shown translations.
    pub fn totals(&self) -> Totals {
        if self.is_read() {
            self.judged.totals
        } else {
            Totals::default()
        }
    }

    /// Returns whether the languages of the repository are known.
    pub fn is_read(&self) -> bool {
        self.condition.languages().is_some()
    }

    /// Returns the translations that are neither ready nor resting, the furthest behind first.
    pub fn behind(&self) -> Vec<&Translation> {
        let translations = self.translations().iter();
        let mut behind: Vec<_> = translations.filter(|one| one.is_behind()).collect();
        furthest_first(&mut behind, |one| one.missing());
        behind
    }

    /// Returns the translation into a language, or `None` if the repository does not have it.
    pub fn language(&self, code: &str) -> Option<&Translation> {
        let translations = self.translations();
        let index = translations.binary_search_by(|one| one.code().cmp(code));
        translations.get(index.ok()?)
    }
}

impl Document {
    /// Returns each shown translation with its repository.
    pub fn translations(&self) -> impl Iterator<Item = (&Row, &Translation)> + Clone {
        translations(&self.rows)
    }

    /// Returns whether the last poll read everything.
    pub fn is_complete(&self) -> bool {
        let last = self.status.last.as_ref();
        last.is_some_and(PollOutcome::is_success)
    }

    /// Returns whether the last poll could list all repositories.
    pub fn is_listed(&self) -> bool {
        let last = self.status.last.as_ref();
        last.is_some_and(|poll| poll.is_listed)
    }

    /// Counts the repositories whose condition passes `accepts`.
    pub fn count(&self, accepts: impl Fn(&Condition) -> bool) -> usize {
        let accepted = self.rows.iter().filter(|row| accepts(&row.condition));
        accepted.count()
    }

    /// Counts the repositories whose languages are not shown: whether they are ready is unknown.
    pub fn unread(&self) -> usize {
        self.count(|condition| condition.languages().is_none())
    }

    /// Returns all shown completions, in the API's unit.
    pub fn completions(&self) -> impl Iterator<Item = f64> + Clone {
        let translations = self.translations();
        translations.filter_map(|(_, one)| Some(one.completion?.get()))
    }

    /// Returns the URL where a repository is translated.
    pub fn repository_url(&self, row: &Row) -> Option<String> {
        self.links.repository_url(&row.repository)
    }

    /// Returns the URL where a language of a repository is translated.
    pub fn language_url(&self, row: &Row, code: &str) -> Option<String> {
        self.links.language_url(&row.repository, code)
    }

    /// Returns the code of each language with the name that the first repository gives it; the name
    /// is empty if no repository has one.
    pub fn language_names(&self) -> BTreeMap<&str, &str> {
        let mut names = BTreeMap::<_, &str>::new();
        for (_, one) in self.translations().filter(|(_, one)| !one.is_missing) {
            let name = names.entry(one.code()).or_default();
            if name.is_empty() {
                *name = &*one.language.name;
            }
        }
        names
    }

    /// Returns the entries of `targets` that apply to no language. A repository whose languages are
    /// unknown counts as using every entry that matches its name.
    pub fn unused_targets(&self) -> Vec<&TargetEntry> {
        let mut unused: Vec<&TargetEntry> = self.targets.0.iter().map(|entry| &**entry).collect();
        for row in &self.rows {
            if unused.is_empty() {
                break;
            }
            if row.is_read() {
                let shown = row.translations().iter();
                let used: Vec<_> = shown.filter_map(|one| one.entry.as_deref()).collect();
                unused.retain(|entry| !used.contains(entry));
            } else {
                let used = self.targets.of_repository(row.name());
                unused.retain(|entry| !used.0.iter().any(|used| ***used == **entry));
            }
        }
        unused
    }

    /// Groups the failures that pass `accepts` by their reasons, the most frequent first.
    pub fn causes(&self, accepts: impl Fn(&Failure) -> bool) -> Vec<Cause<'_>> {
        let mut causes: BTreeMap<Option<Reason>, Cause<'_>> = BTreeMap::new();
        for row in &self.rows {
            if let Some(failure) = row.condition.failure()
                && accepts(failure)
            {
                let cause = causes.entry(failure.reason).or_insert(Cause {
                    repositories: Vec::new(),
                    failure,
                });
                cause.repositories.push(row.name());
                if failure.since < cause.failure.since {
                    cause.failure = failure;
                }
            }
        }
        let mut causes: Vec<_> = causes.into_values().collect();
        causes.sort_by_key(|cause| Reverse(cause.repositories.len()));
        causes
    }
}

/// A reason why repositories fail.
#[derive(Debug)]
pub struct Cause<'a> {
    /// The names of the repositories that fail for this reason.
    pub repositories: Vec<&'a str>,
    /// The failure that has lasted longest.
    pub failure: &'a Failure,
}

/// Returns each shown translation of these rows with its repository.
pub fn translations<'a>(
    rows: impl IntoIterator<Item = &'a Row, IntoIter: Clone>,
) -> impl Iterator<Item = (&'a Row, &'a Translation)> + Clone {
    rows.into_iter()
        .flat_map(|row| row.translations().iter().map(move |one| (row, one)))
}

/// Returns the totals of each language of these rows, sorted by code.
pub fn languages<'a>(
    rows: impl IntoIterator<Item = &'a Row, IntoIter: Clone>,
) -> Vec<(&'a str, Totals)> {
    let mut languages: BTreeMap<_, Totals> = BTreeMap::new();
    for (_, translation) in translations(rows) {
        let totals = languages.entry(translation.code()).or_default();
        totals.add(translation);
    }
    languages.into_iter().collect()
}

/// Sorts by the gap to the target, the largest first. Items without a completion come last.
pub fn furthest_first<T>(items: &mut [T], missing: impl Fn(&T) -> Option<f64>) {
    items.sort_by(|one, other| {
        missing(other)
            .partial_cmp(&missing(one))
            .unwrap_or(Ordering::Equal)
    });
}

/// Returns the rows, the furthest behind first.
pub fn worst_first<'a>(rows: impl Iterator<Item = &'a Row>) -> Vec<&'a Row> {
    let mut rows: Vec<_> = rows.collect();
    furthest_first(&mut rows, |row| row.totals().missing.get());
    // The gaps leave out unknown translations, which keep a repository from being ready.
    rows.sort_by_key(|row| row.totals().behind() == 0);
    rows
}

#[cfg(test)]
mod tests;
