//! The snapshot: an immutable view of all known repositories.
//!
//! Each publication builds a new snapshot, which replaces the previous one atomically. The two
//! share unchanged repositories by `Arc`.

use crate::{
    domain::{Failure, Repository, Thresholds, links::Links, record::Languages, targets::Targets},
    support::clock::Timestamp,
};
use std::sync::Arc;

/// The condition of a repository's languages. Each repository is in one condition.
#[derive(Debug, Clone)]
pub enum Condition {
    /// No read has succeeded yet; the failure is present once one has failed.
    Pending(Option<Failure>),
    /// The data come from the state file; this process has not read the repository yet.
    Restored(Arc<Languages>),
    /// The last read succeeded.
    Fresh(Arc<Languages>),
    /// The last read failed; the data of an earlier read are not stale yet.
    Failing(Arc<Languages>, Failure),
    /// The data are too old to be shown; their problems stay for a day.
    Stale {
        languages: Arc<Languages>,
        failure: Option<Failure>,
    },
}

impl Condition {
    /// Returns the value of the metric label `state`.
    pub fn label(&self) -> &'static str {
        match self {
            Self::Pending(_) | Self::Restored(_) => "pending",
            Self::Fresh(_) => "fresh",
            Self::Failing(..) => "failing",
            Self::Stale { .. } => "stale",
        }
    }

    /// Returns the languages to show, or `None` if they are unknown or stale.
    pub fn languages(&self) -> Option<&Arc<Languages>> {
        match self {
            Self::Restored(languages) | Self::Fresh(languages) | Self::Failing(languages, _) => {
                Some(languages)
            }
            Self::Pending(_) | Self::Stale { .. } => None,
        }
    }

    /// Returns the languages of the last good read, shown or stale.
    pub fn known(&self) -> Option<&Arc<Languages>> {
        match self {
            Self::Stale { languages, .. } => Some(languages),
            shown => shown.languages(),
        }
    }

    pub fn failure(&self) -> Option<&Failure> {
        match self {
            Self::Fresh(_) | Self::Restored(_) => None,
            Self::Failing(_, failure) => Some(failure),
            Self::Pending(failure) | Self::Stale { failure, .. } => failure.as_ref(),
        }
    }

    /// Returns the time at which the languages were last read in full.
    pub fn last_success(&self) -> Option<Timestamp> {
        self.known().map(|languages| languages.read_at)
    }
}

/// A repository of the snapshot.
#[derive(Debug, Clone)]
pub struct Shown {
    pub repository: Arc<Repository>,
    pub condition: Condition,
}

/// All repositories and languages as known at one time.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    pub taken_at: Timestamp,
    /// Sorted by name, each name once.
    pub repositories: Vec<Shown>,
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
    /// True if the operator set that scale, which then is never suspect.
    pub is_scale_chosen: bool,
    /// `targets`: the ratio and the date at which each language is ready.
    pub targets: Arc<Targets>,
    /// `thresholds`: the limits at which a translation becomes a problem.
    pub thresholds: Thresholds,
    /// `links`: the URL at which each repository and language is translated.
    pub links: Arc<Links>,
}

/// Returns whether the completions look like 0 to 1 although the scale is larger: at least one is
/// above 0 and none is above 1. The API specification leaves the range open.
pub fn is_scale_suspect(scale: f64, mut completions: impl Iterator<Item = f64> + Clone) -> bool {
    scale > 1.0
        && completions.clone().all(|completion| completion <= 1.0)
        && completions.any(|completion| completion > 0.0)
}

/// Counts the completions below 0 or above the scale.
pub fn out_of_scale(scale: f64, completions: impl Iterator<Item = f64>) -> usize {
    completions
        .filter(|completion| *completion < 0.0 || *completion > scale)
        .count()
}
