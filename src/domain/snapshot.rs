//! The snapshot: an immutable view of all known repositories, and the status of polling.
//!
//! Each publication builds a new snapshot, which replaces the previous one atomically. The two
//! share unchanged repositories by `Arc`.

use crate::{
    domain::{
        Completion, Defect, Lasting, Operation, PollFailure, ReadFailure, Reason, Repository, Stop,
        Thresholds, Zeros,
        judgement::Standards,
        links::Links,
        record::{Languages, Record},
        tally::Tally,
        targets::{TargetEntry, Targets},
    },
    support::clock::{Timestamp, WrongClock},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    ptr,
    sync::Arc,
    time::Duration,
};

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
    /// The data are too old to be shown; their problems stay for a day.
    Stale {
        languages: Arc<Languages>,
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

    /// Returns the languages of the last good read, shown or stale.
    pub fn known(&self) -> Option<&Arc<Languages>> {
        match self {
            Self::Stale { languages, .. } => Some(languages),
            shown => shown.languages(),
        }
    }

    /// Returns the languages of the last good read, so that the caller can replace them.
    pub fn known_mut(&mut self) -> Option<&mut Arc<Languages>> {
        match self {
            Self::Restored(languages)
            | Self::Fresh(languages)
            | Self::Failing(languages, _)
            | Self::Stale { languages, .. } => Some(languages),
            Self::Pending(_) => None,
        }
    }

    /// Returns the time at which the languages were last read in full.
    pub fn last_success(&self) -> Option<Timestamp> {
        self.known().map(|languages| languages.read_at)
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
    /// Returns the records sorted by code; the slice is empty while no languages are shown.
    pub fn records(&self) -> &[Record] {
        match self.condition.languages() {
            Some(languages) => &languages.records,
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
    /// `api.completion_scale`: the completion that means finished.
    pub completion_scale: f64,
    /// `targets`: the ratio and the date at which each language is ready.
    pub targets: Arc<Targets>,
    /// `thresholds`: the limits at which a translation becomes a problem.
    pub thresholds: Thresholds,
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

    fn records(&self) -> impl Iterator<Item = &Record> + Clone {
        self.repositories.iter().flat_map(Shown::records)
    }

    /// Returns all shown completions, in the API's unit.
    pub fn completions(&self) -> impl Iterator<Item = f64> + Clone {
        self.records()
            .filter_map(Record::completion)
            .map(Completion::get)
    }

    /// Returns the standards by which the translations of this snapshot are judged.
    pub fn standards(&self) -> Standards {
        let known = self
            .repositories
            .iter()
            .filter_map(|shown| shown.condition.known());
        let records = known.flat_map(|languages| languages.records.iter());
        let completions = records.filter_map(Record::completion).map(Completion::get);
        Standards {
            thresholds: self.thresholds,
            is_scale_suspect: is_scale_suspect(self.completion_scale, completions),
            now: self.taken_at,
        }
    }

    /// Returns the code of each language with the name that most repositories give it. On a tie the
    /// name that sorts first counts; the name is empty if no repository has one.
    pub fn language_names(&self) -> BTreeMap<&str, &str> {
        let mut counts: Tally<(&str, &str), usize> = Tally::new();
        for Record { language, .. } in self.records() {
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
                    for record in &*languages.records {
                        used.extend(targets.entry(&record.language.code));
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

/// The number of unread repositories, at least a tenth of all, from which on a poll has failed.
const MANY: usize = 5;

/// The outcome of a poll.
#[derive(Debug, Clone, Default)]
pub struct PollOutcome {
    pub ended_at: Timestamp,
    pub duration: Duration,
    /// The failure of the listing; `None` if the listing reached its end.
    pub listing_failure: Option<Lasting>,
    /// The reason of `listing_failure`, if a response was the reason.
    pub listing_reason: Option<Reason>,
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

    /// Returns whether the poll read everything, apart from a few repositories: fewer than
    /// [`MANY`], or than a tenth. A repository that never works would otherwise hide an outage.
    pub fn is_well(&self) -> bool {
        let unread = self.failed + self.unreached + self.postponed;
        match self.failure() {
            None => true,
            Some(PollFailure::Repositories) => {
                self.read > 0 && unread < MANY.max((self.read + unread).div_ceil(10))
            }
            Some(_) => false,
        }
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

/// The activity of the poller, which waits at first.
#[derive(Debug, Clone, Copy)]
pub enum Activity {
    Polling(Running),
    /// The poller waits for the next poll; its time may not be known yet.
    Waiting(Option<Timestamp>),
}

impl Default for Activity {
    fn default() -> Self {
        Self::Waiting(None)
    }
}

/// The status of polling. Each publication has one beside the snapshot, so that readiness and the
/// page can distinguish a refused key from a slow start.
#[derive(Debug, Clone)]
pub struct PollStatus {
    pub interval: Duration,
    /// The age at which data are stale.
    pub stale_after: Duration,
    pub activity: Activity,
    /// The outcome of the last poll that has ended.
    pub last: Option<PollOutcome>,
    /// The end of the last poll that read everything.
    pub last_success_at: Option<Timestamp>,
    /// The end of the last poll that [went well](PollOutcome::is_well).
    pub last_well_at: Option<Timestamp>,
    /// The end of the hold that Retry-After demanded; `None` without a hold.
    pub held_until: Option<Timestamp>,
    /// The rate in requests a second to which refusals had slowed the last poll down at its end;
    /// `None` if it was not slowed down.
    pub slowed_to: Option<f64>,
    /// The zeros that the API spells out or leaves out.
    pub zeros: Zeros,
    /// The defects of the current responses.
    pub defects: BTreeSet<(Operation, Defect)>,
    /// True once a listing was complete, or data came from the state file.
    pub has_data: bool,
    /// True if the progress clock survives a restart.
    pub state_is_kept: bool,
    /// `None` while the clock of the machine agrees with the API's.
    pub wrong_clock: Option<WrongClock>,
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
