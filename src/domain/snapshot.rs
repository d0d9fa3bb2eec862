//! The snapshot: an immutable view of all known repositories, and the status of polling.
//!
//! Each publication builds a new snapshot, which replaces the previous one atomically. The two
//! share unchanged repositories by `Arc`.

use crate::{
    domain::{
        Completion, Language, Lasting, PollFailure, ReadFailure, Repository, Stop, Zeros,
        falls::Falls,
        links::Links,
        progress::Progress,
        tally::Tally,
        targets::{TargetEntry, Targets},
    },
    support::clock::Timestamp,
};
use std::{collections::BTreeMap, ptr, sync::Arc, time::Duration};

/// One language of a repository as last read, with its progress clock. The exposition has two
/// series for each reading, so that its size decides the memory of a large account.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    /// Shared with the other repositories that have the language.
    pub language: Arc<Language>,
    pub reported: Reported,
}

/// The completion of a language, as far as the API has reported one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Reported {
    /// No response had a readable completion.
    Never,
    /// An earlier response had a readable completion, the last one did not.
    Before(Progress),
    /// The last response had a readable completion.
    Now(Progress),
}

impl Reading {
    /// Returns `None` if the last response had no readable completion.
    pub fn completion(&self) -> Option<Completion> {
        match self.reported {
            Reported::Now(progress) => Some(progress.completion),
            Reported::Never | Reported::Before(_) => None,
        }
    }

    /// Returns `None` until the API has reported a completion for the first time.
    pub fn progress(&self) -> Option<Progress> {
        match self.reported {
            Reported::Now(progress) | Reported::Before(progress) => Some(progress),
            Reported::Never => None,
        }
    }
}

/// Finds the reading of a language. The readings must be sorted by code.
pub fn find<'a>(readings: &'a [Reading], code: &str) -> Option<&'a Reading> {
    let index = readings
        .binary_search_by(|reading| (*reading.language.code).cmp(code))
        .ok()?;
    readings.get(index)
}

/// All languages of one repository, read in full at one time.
#[derive(Debug, Clone, PartialEq)]
pub struct Languages {
    pub read_at: Timestamp,
    /// `api.completion_scale` when they were read.
    pub scale: f64,
    /// Sorted by code, each code once.
    pub readings: Arc<[Reading]>,
}

/// The condition of a repository's languages. Each repository is in one condition.
#[derive(Debug, Clone)]
pub enum Condition {
    /// No read has succeeded yet; the failure is present once one has failed.
    Pending(Option<ReadFailure>),
    /// The data come from the state file; this process has not read the repository yet.
    Restored(Arc<Languages>),
    /// The last read succeeded.
    Fresh(Arc<Languages>),
    /// The last read failed; the data of an earlier read are not stale yet.
    Failing(Arc<Languages>, ReadFailure),
    /// The data, read at `read_at`, are too old to be shown.
    Stale {
        read_at: Timestamp,
        failure: Option<ReadFailure>,
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

    /// Returns the languages to show, so that the caller can replace them.
    pub fn languages_mut(&mut self) -> Option<&mut Arc<Languages>> {
        match self {
            Self::Restored(languages) | Self::Fresh(languages) | Self::Failing(languages, _) => {
                Some(languages)
            }
            Self::Pending(_) | Self::Stale { .. } => None,
        }
    }

    /// Returns the time at which the languages were last read in full.
    pub fn last_success(&self) -> Option<Timestamp> {
        match self {
            Self::Stale { read_at, .. } => Some(*read_at),
            shown => shown.languages().map(|languages| languages.read_at),
        }
    }

    pub fn failure(&self) -> Option<&ReadFailure> {
        match self {
            Self::Fresh(_) | Self::Restored(_) => None,
            Self::Failing(_, failure) => Some(failure),
            Self::Pending(failure) | Self::Stale { failure, .. } => failure.as_ref(),
        }
    }
}

/// A repository of the snapshot.
#[derive(Debug, Clone)]
pub struct Shown {
    pub repository: Arc<Repository>,
    pub condition: Condition,
}

impl Shown {
    /// Returns the readings sorted by code; the slice is empty while no languages are shown.
    pub fn readings(&self) -> &[Reading] {
        match self.condition.languages() {
            Some(languages) => &languages.readings,
            None => &[],
        }
    }
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
    pub falls: Falls,
    /// `api.completion_scale`: the completion that means finished.
    pub completion_scale: f64,
    /// `targets`: the ratio and the date at which each language is ready.
    pub targets: Arc<Targets>,
    /// `links`: the URL at which each repository and language is translated.
    pub links: Arc<Links>,
}

impl Snapshot {
    /// Counts the repositories whose condition passes `accepts`.
    pub fn count(&self, accepts: impl Fn(&Condition) -> bool) -> usize {
        self.repositories
            .iter()
            .filter(|shown| accepts(&shown.condition))
            .count()
    }

    fn readings(&self) -> impl Iterator<Item = &Reading> + Clone {
        self.repositories.iter().flat_map(Shown::readings)
    }

    /// Returns all shown completions, in the API's unit.
    pub fn completions(&self) -> impl Iterator<Item = f64> + Clone {
        self.readings()
            .filter_map(Reading::completion)
            .map(Completion::get)
    }

    /// Returns the code of each language with the name that most repositories give it. On a tie the
    /// name that sorts first counts; the name is empty if no repository has one.
    pub fn language_names(&self) -> BTreeMap<&str, &str> {
        let mut counts: Tally<(&str, &str), usize> = Tally::new();
        for Reading { language, .. } in self.readings() {
            *counts.entry((&language.code, &language.name)) += 1;
        }
        let mut names = BTreeMap::new();
        for ((code, name), count) in counts.into_sorted() {
            let most_frequent = names.entry(code).or_insert((0, ""));
            if !name.is_empty() && count > most_frequent.0 {
                *most_frequent = (count, name);
            }
        }
        names
            .into_iter()
            .map(|(code, (_, name))| (code, name))
            .collect()
    }

    /// Returns the entries of `targets` that apply to no language. A repository whose languages are
    /// unknown counts as using every entry that matches its name.
    pub fn unused_targets(&self) -> Vec<&TargetEntry> {
        let mut unused: Vec<&TargetEntry> = self.targets.0.iter().collect();
        for shown in &self.repositories {
            if unused.is_empty() {
                break;
            }
            let targets = self.targets.of_repository(&shown.repository.name);
            let mut used = Vec::new();
            match shown.condition.languages() {
                None => used.clone_from(&targets.0),
                Some(languages) => {
                    for reading in &*languages.readings {
                        used.extend(targets.entry(&reading.language.code));
                    }
                }
            }
            unused.retain(|entry| !used.iter().any(|used| ptr::eq(*used, *entry)));
        }
        unused
    }
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

/// The outcome of a poll.
#[derive(Debug, Clone, Default)]
pub struct PollOutcome {
    pub ended_at: Timestamp,
    pub duration: Duration,
    /// The failure of the listing; `None` if the listing reached its end.
    pub listing_failure: Option<Lasting>,
    /// The reason why the poll ended early or read nothing; `None` otherwise.
    pub stop: Option<Stop>,
    /// The number of repositories read in full.
    pub read: usize,
    /// The number of repositories that could not be read.
    pub failed: usize,
    /// The number of repositories left without a response because the poll ended early.
    pub unreached: usize,
    /// The number of repositories that failed earlier and were left to later polls.
    pub postponed: usize,
}

impl PollOutcome {
    /// Returns the failure that ended the poll early, or else the failure that ended the listing.
    pub fn cut_short(&self) -> Option<&Lasting> {
        let stop = self.stop.as_ref().map(|stop| &stop.lasting);
        stop.or(self.listing_failure.as_ref())
    }

    /// Returns the first reason why the poll did not read everything, or `None` if it did.
    pub fn failure(&self) -> Option<PollFailure> {
        if let Some(stop) = &self.stop {
            Some(stop.reason)
        } else if self.listing_failure.is_some() {
            Some(PollFailure::Listing)
        } else if self.failed + self.unreached + self.postponed > 0 {
            Some(PollFailure::Repositories)
        } else {
            None
        }
    }

    /// Returns whether the poll read everything.
    pub fn is_success(&self) -> bool {
        self.failure().is_none()
    }
}

/// The poll under way.
#[derive(Debug, Clone, Copy)]
pub struct Running {
    pub since: Timestamp,
    pub step: Step,
}

/// The progress of the poll under way.
#[derive(Debug, Clone, Copy)]
pub enum Step {
    /// The poll reads the listing, which has shown `shown` repositories so far.
    Listing { shown: usize },
    /// The poll reads repositories.
    Reading {
        /// True if the listing reached its end.
        is_listed: bool,
        /// The number of repositories to request.
        of: usize,
        /// The number of repositories that were read or failed.
        tried: usize,
        /// The number of repositories read in full.
        read: usize,
    },
}

/// The activity of the poller.
#[derive(Debug, Clone, Copy)]
pub enum Activity {
    Polling(Running),
    /// The poller waits for the next poll; its time may not be known yet.
    Waiting(Option<Timestamp>),
}

/// The pace of requests while the API allows less than `api.requests_per_second`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pace {
    /// The current rate, which rises step by step.
    pub requests_per_second: f64,
    /// The highest rate, in requests a second, that the API is known to allow.
    pub allowed: f64,
    /// The status with which the API last refused a request for exceeding the pace: 429 or 503.
    pub status: u16,
}

/// The status of polling. Each publication has one beside the snapshot, so that readiness and the
/// page can distinguish a refused key from a slow start.
#[derive(Debug, Clone)]
pub struct PollStatus {
    pub interval: Duration,
    pub activity: Activity,
    /// The outcome of the last poll that has ended.
    pub last: Option<PollOutcome>,
    /// The end of the last poll that read everything.
    pub last_success_at: Option<Timestamp>,
    /// The end of the hold that Retry-After demanded; `None` without a hold.
    pub held_until: Option<Timestamp>,
    /// `None` while the API allows the configured rate.
    pub pace: Option<Pace>,
    /// The zeros that the API spells out or leaves out.
    pub zeros: Zeros,
    /// True once a listing was complete, or data came from the state file.
    pub has_data: bool,
    /// True if the progress clock survives a restart.
    pub state_is_kept: bool,
}

impl PollStatus {
    /// Returns the poll under way.
    pub fn running(&self) -> Option<Running> {
        match self.activity {
            Activity::Polling(running) => Some(running),
            Activity::Waiting(_) => None,
        }
    }

    /// Returns the start of the next poll while none is under way.
    pub fn next_poll_at(&self) -> Option<Timestamp> {
        match self.activity {
            Activity::Polling(_) => None,
            Activity::Waiting(until) => until,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reading_has_32_bytes() {
        assert_eq!(size_of::<Reading>(), 32);
    }
}
