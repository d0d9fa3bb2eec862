//! The published document: all knowledge of the account, judged.
//!
//! The ledger makes one for each publication, by a [`Judge`]. Metrics, page, table, Markdown, CSV,
//! JSON, badge and gate read its fields, of the whole or of a [`Selection`], and decide nothing. An
//! unknown completion, a translation without a judgement and a resting one are values, so that no
//! reader takes them for 0.

mod actions;
mod changes;
mod figures;
mod judge;
mod selection;
mod totals;
mod verdict;

pub use super::NotJudged;
pub use actions::Group;
pub use judge::Judge;
pub use selection::Selection;
pub use totals::{Tone, Totals};
pub use verdict::Doubt;

use super::{
    Completion, Defects, Language, Operation, Reason, Repository, Settings, Standing, State,
    TranslationProblem,
    filter::LeftOut,
    history::History,
    polling::{PollOutcome, PollStatus},
    targets::{TargetEntry, target_of},
};
use crate::support::{
    clock::{Timestamp, WEEK},
    hint::Failure,
};
use serde::Serialize;
use std::{cmp::Ordering, collections::BTreeSet, sync::Arc};

/// The account as of one publication.
#[derive(Debug, Clone)]
pub struct Document {
    /// The time of the judgement.
    pub taken_at: Timestamp,
    /// The choice by which the rows and the departed translations were selected; at first all.
    pub selection: Selection,
    /// The chosen repositories, sorted by name, each name once.
    pub rows: Vec<Row>,
    /// The totals of the rows.
    pub totals: Totals,
    /// The time of the last read if the data are stale, and shown as what was last known.
    pub as_of: Option<Timestamp>,
    /// The listed repositories left out by the filters, or for a duplicate name.
    pub filtered: Vec<LeftOut>,
    /// The number of repositories missing from the last complete listing while their removal waits
    /// for the next listing to confirm it; otherwise 0.
    pub unconfirmed: usize,
    /// The defects of the last complete listing.
    pub defects: Defects,
    /// The number of absent completions, if the API has never spelled out a zero; otherwise 0.
    pub omitted_zeros: usize,
    /// The codes that `filter.exclude_languages` leaves out.
    pub excluded: BTreeSet<Arc<str>>,
    /// The translations that left within the days of a record, by repository and code.
    pub departed: Vec<Departed>,
    /// True if `api.completion_scale` seems wrong, so that no ratio is known.
    pub is_scale_suspect: bool,
    pub settings: Arc<Settings>,
    pub status: PollStatus,
}

/// A repository.
#[derive(Debug, Clone)]
pub struct Row {
    pub repository: Arc<Repository>,
    pub state: State,
    /// The time at which its languages were last read in full; `None` if they never were.
    pub read_at: Option<Timestamp>,
    /// The failure of the last read, if it failed.
    pub failure: Option<Failure>,
    /// The reason of that failure.
    pub reason: Option<Reason>,
    /// The time since which reads fail; `None` after a success.
    pub failing_since: Option<Timestamp>,
    /// The defects of the last response.
    pub defects: Defects,
    /// The translations of the last good read, shown or stale, sorted by code. They are shared
    /// with the documents before and after, as long as nothing changes.
    pub known: Arc<[Translation]>,
}

/// A translation that left within the days of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Departed {
    pub repository: Arc<str>,
    pub language: Arc<str>,
    pub left_at: Timestamp,
    /// True if it was at or above its target, or rested.
    pub was_met: bool,
}

/// One language of one repository.
#[derive(Debug, Clone, PartialEq)]
pub struct Translation {
    pub language: Arc<Language>,
    /// True if `targets` requires the language, and the repository does not have it.
    pub is_missing: bool,
    /// The completion as the API reports it, also one outside the scale.
    pub completion: Option<Completion>,
    /// The completion from 0 to 1; `None` if it is not known: not reported, outside the scale, or
    /// of a suspect scale.
    pub ratio: Option<f64>,
    /// The entry of `targets` that applies.
    pub entry: Option<Arc<TargetEntry>>,
    /// `None` if no completion was ever known.
    pub history: Option<History>,
    /// The highest ratio of the last 7 days, while it is above the present one, and the last day on
    /// which it fell; a resting translation has none.
    pub fall: Option<Box<Reading>>,
    pub readiness: Readiness,
    /// The problems, the mildest first, each with the time that it is about: the last progress or
    /// readiness, the day of the fall, or the date of the target. A translation that is ready or rests has none.
    pub problems: Box<[(TranslationProblem, Timestamp)]>,
    /// The reason why it may have problems besides these.
    pub not_judged: Option<NotJudged>,
    /// The time at which the translation is expected to be ready; `None` if it is ready, gains
    /// nothing, has stalled or cannot be judged, or if that time has passed or is years away.
    pub estimated_ready: Option<Timestamp>,
}

/// A ratio at an earlier time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reading {
    pub ratio: f64,
    pub at: Timestamp,
}

/// The relation of a translation to its target, or of all of a document to theirs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Readiness {
    Ready,
    Behind,
    /// The completion is not known.
    Unknown,
    /// A target of 0 expects no progress.
    Resting,
}

impl Readiness {
    /// Returns whether the target is met; `None` if that is unknown.
    pub fn is_met(self) -> Option<bool> {
        match self {
            Self::Ready | Self::Resting => Some(true),
            Self::Behind => Some(false),
            Self::Unknown => None,
        }
    }
}

impl Translation {
    pub fn code(&self) -> &str {
        &self.language.code
    }

    /// Returns the name of the language, or its code if the API reports no name.
    pub fn name(&self) -> &str {
        match &*self.language.name {
            "" => self.code(),
            name => name,
        }
    }

    /// Returns the target; without an entry, the default one.
    pub fn target(&self) -> &TargetEntry {
        target_of(self.entry.as_ref())
    }

    /// Returns the beginning of the day of its date (UTC).
    pub fn day(&self) -> Option<Timestamp> {
        self.target().due.map(Timestamp::day_start)
    }

    pub fn standing(&self) -> Standing {
        let is_in_time = |due| self.estimated_ready.is_some_and(|at| at <= due);
        match self.readiness {
            Readiness::Ready => Standing::Ready,
            Readiness::Resting => Standing::Resting,
            Readiness::Unknown => Standing::Unknown,
            Readiness::Behind if self.has(TranslationProblem::Overdue) => Standing::Overdue,
            Readiness::Behind if self.has(TranslationProblem::AtRisk) => Standing::AtRisk,
            Readiness::Behind if self.target().due.is_some_and(is_in_time) => Standing::Expected,
            Readiness::Behind => Standing::Behind,
        }
    }

    pub fn is_ready(&self) -> bool {
        self.readiness == Readiness::Ready
    }

    pub fn rests(&self) -> bool {
        self.readiness == Readiness::Resting
    }

    /// Returns whether the translation is behind its target, or unknown.
    pub fn is_unready(&self) -> bool {
        matches!(self.readiness, Readiness::Behind | Readiness::Unknown)
    }

    /// Returns the time of the last progress, or of the first reading; `None` if no completion is
    /// reported.
    pub fn last_progress(&self) -> Option<Timestamp> {
        let history = self.history.as_ref()?;
        (self.completion == Some(history.completion)).then_some(history.progress_at)
    }

    /// Returns the time of the last progress; `None` if the completion was first seen within the
    /// last week and no progress since.
    pub fn known_progress(&self, now: Timestamp) -> Option<Timestamp> {
        let a_week_ago = now.saturating_sub(WEEK);
        let is_known = self.history.as_ref()?.is_known_since(a_week_ago);
        self.last_progress().filter(|_| is_known)
    }

    /// Returns the time since which an unready translation has made no progress.
    pub fn idle_since(&self) -> Option<Timestamp> {
        self.ratio.and(self.history.as_ref())?.idle_since()
    }

    /// Returns the gap between the ratio and the target; `None` if the ratio is not known or does
    /// not matter.
    pub fn gap(&self) -> Option<f64> {
        match self.readiness {
            Readiness::Ready => Some(0.0),
            Readiness::Behind => Some(self.target().ratio() - self.ratio?),
            Readiness::Unknown | Readiness::Resting => None,
        }
    }

    pub fn has_problem(&self) -> bool {
        !self.problems.is_empty()
    }

    /// Returns the kinds of its problems, the mildest first.
    pub fn kinds(&self) -> impl DoubleEndedIterator<Item = TranslationProblem> {
        self.problems.iter().map(|(kind, _)| *kind)
    }

    pub fn has(&self, kind: TranslationProblem) -> bool {
        self.kinds().any(|problem| problem == kind)
    }
}

impl Row {
    pub fn name(&self) -> &str {
        &self.repository.name
    }

    /// Returns the shown translations, sorted by code; the slice is empty while none are known.
    pub fn translations(&self) -> &[Translation] {
        if self.is_read() { &self.known } else { &[] }
    }

    /// Returns the languages that the API lists for the repository; `None` if they are not shown.
    pub fn listed(&self) -> Option<usize> {
        let listed = self
            .known
            .iter()
            .filter(|translation| !translation.is_missing);
        self.is_read().then(|| listed.count())
    }

    /// Returns whether the last poll, or the one under way, has read the languages.
    pub fn is_current(&self) -> bool {
        self.state == State::Fresh
    }

    /// Counts the entries of the last response that could not be used.
    pub fn unreadable(&self) -> usize {
        self.defects.unreadable(Operation::ListLanguages)
    }

    /// Returns whether the languages of the repository are known, and shown.
    pub fn is_read(&self) -> bool {
        self.read_at.is_some() && self.state != State::Stale
    }

    /// Returns the translations behind their targets and the unknown ones, the furthest behind
    /// first.
    pub fn unready(&self) -> Vec<&Translation> {
        let known = self.translations().iter();
        let mut unready: Vec<_> = known.filter(|known| known.is_unready()).collect();
        unready.sort_by(|one, other| furthest_first(one.gap(), other.gap()));
        unready
    }

    /// Returns the translation into a language, shown or stale; `None` if the repository does not
    /// have it.
    pub fn translation(&self, code: &str) -> Option<&Translation> {
        let index = self.known.binary_search_by(|known| known.code().cmp(code));
        self.known.get(index.ok()?)
    }
}

/// Returns the row of a name among `rows`, which are sorted by it.
pub fn row_of<'a>(rows: &'a [Row], name: &str) -> Option<&'a Row> {
    let at = rows.binary_search_by(|row| row.name().cmp(name));
    Some(&rows[at.ok()?])
}

/// Compares gaps, the largest first; one that is not known comes last.
pub fn furthest_first(one: Option<f64>, other: Option<f64>) -> Ordering {
    other.partial_cmp(&one).unwrap_or(Ordering::Equal)
}

impl Document {
    /// Returns the outcome of the last poll that has ended.
    pub fn last_poll(&self) -> Option<&PollOutcome> {
        self.status.last.as_ref()
    }

    /// Returns whether the last poll read everything.
    pub fn is_complete(&self) -> bool {
        self.last_poll().is_some_and(PollOutcome::is_success)
    }

    /// Returns whether the last poll could list all repositories.
    pub fn is_listed(&self) -> bool {
        self.last_poll().is_some_and(|poll| poll.is_listed)
    }

    /// Returns the URL where a repository is translated; `None` without `links.repository`.
    pub fn repository_url(&self, row: &Row) -> Option<String> {
        let template = self.settings.links.repository.as_ref()?;
        template.render(&row.repository, "")
    }

    /// Returns the URL where a language of a repository is translated; `None` without
    /// `links.language`.
    pub fn language_url(&self, row: &Row, code: &str) -> Option<String> {
        let template = self.settings.links.language.as_ref()?;
        template.render(&row.repository, code)
    }
}

#[cfg(test)]
mod tests;
