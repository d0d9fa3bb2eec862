//! The immutable answer to "what do we know now".
//!
//! A new snapshot is built for each publication and replaces the previous one atomically. What did not change is shared
//! between them, by `Arc`.

use crate::{
    domain::{
        Completion, Language, Lasting, PollFailure, ReadFailure, Repository, Stop, Zeros,
        falls::Falls,
        links::Links,
        progress::Progress,
        targets::{Entry, Targets},
    },
    support::clock::Timestamp,
};
use std::{collections::BTreeMap, ptr, sync::Arc, time::Duration};

/// One language of a repository as it was last read, with its clock. Kept small, as there is one for every two series.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    /// Shared by all repositories that have it.
    pub language: Arc<Language>,
    pub reported: Reported,
}

/// What the API reports of a language's completion.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Reported {
    /// None that could be read, ever.
    Never,
    /// None that could be read last time; this was the last before.
    Before(Progress),
    /// This, at the last read.
    Now(Progress),
}

impl Reading {
    /// `None` if the API gave none that can be read.
    pub fn completion(&self) -> Option<Completion> {
        match self.reported {
            Reported::Now(progress) => Some(progress.completion),
            Reported::Never | Reported::Before(_) => None,
        }
    }

    /// `None` until the language has reported a completion for the first time.
    pub fn progress(&self) -> Option<Progress> {
        match self.reported {
            Reported::Now(progress) | Reported::Before(progress) => Some(progress),
            Reported::Never => None,
        }
    }
}

/// The reading with this code, among readings in the order of their codes.
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
    /// In the order of their codes, each code once.
    pub readings: Arc<[Reading]>,
}

/// What is known of a repository's languages. Each repository is in one condition.
#[derive(Debug, Clone)]
pub enum Condition {
    /// Never read. The failure is that of its first attempts, if there were any.
    Pending(Option<ReadFailure>),
    /// Not read by this process yet; the data are from the state file.
    Restored(Arc<Languages>),
    /// The last read succeeded.
    Fresh(Arc<Languages>),
    /// The last read failed; the data from before are not stale yet.
    Failing(Arc<Languages>, ReadFailure),
    /// The data read at `read_at` are no longer shown.
    Stale {
        read_at: Timestamp,
        failure: Option<ReadFailure>,
    },
}

impl Condition {
    /// The value of the label `state`.
    pub fn label(&self) -> &'static str {
        match self {
            Self::Pending(_) | Self::Restored(_) => "pending",
            Self::Fresh(_) => "fresh",
            Self::Failing(..) => "failing",
            Self::Stale { .. } => "stale",
        }
    }

    /// The languages to show, if there are any.
    pub fn languages(&self) -> Option<&Arc<Languages>> {
        match self {
            Self::Restored(languages) | Self::Fresh(languages) | Self::Failing(languages, _) => {
                Some(languages)
            }
            Self::Pending(_) | Self::Stale { .. } => None,
        }
    }

    /// The same, to be replaced.
    pub fn languages_mut(&mut self) -> Option<&mut Arc<Languages>> {
        match self {
            Self::Restored(languages) | Self::Fresh(languages) | Self::Failing(languages, _) => {
                Some(languages)
            }
            Self::Pending(_) | Self::Stale { .. } => None,
        }
    }

    /// When the languages were last read in full.
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

/// A repository that is shown.
#[derive(Debug, Clone)]
pub struct Shown {
    pub repository: Arc<Repository>,
    pub condition: Condition,
}

impl Shown {
    /// Its languages in the order of their codes; empty if none are shown.
    pub fn readings(&self) -> &[Reading] {
        match self.condition.languages() {
            Some(languages) => &languages.readings,
            None => &[],
        }
    }
}

/// What is known now.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    pub taken_at: Timestamp,
    /// In the order of their names, each name once.
    pub repositories: Vec<Shown>,
    /// How many repositories of the listing are left out, by the filters or because another one has the same name.
    pub filtered: usize,
    /// How many ids of the last complete listing have no name that can be read. Those that had one before keep it.
    pub unnamed: usize,
    /// How many repositories the last complete listing lacked, if so many that the next one must confirm it.
    pub unconfirmed: usize,
    pub falls: Falls,
    /// `api.completion_scale`: the completion that means finished.
    pub completion_scale: f64,
    /// `targets`: when each language is ready.
    pub targets: Arc<Targets>,
    /// `links`: where each repository and language is translated.
    pub links: Arc<Links>,
}

impl Snapshot {
    /// How many repositories are in such a condition.
    pub fn count(&self, is_such: impl Fn(&Condition) -> bool) -> usize {
        self.repositories
            .iter()
            .filter(|shown| is_such(&shown.condition))
            .count()
    }

    /// All languages that are shown.
    fn readings(&self) -> impl Iterator<Item = &Reading> + Clone {
        self.repositories.iter().flat_map(Shown::readings)
    }

    /// All completions that are shown.
    pub fn completions(&self) -> impl Iterator<Item = f64> + Clone {
        self.readings()
            .filter_map(Reading::completion)
            .map(Completion::get)
    }

    /// The codes of all languages, each with the name that most repositories give it: of two as frequent the first in
    /// their order, and an empty one if no repository has a name for it.
    pub fn language_names(&self) -> BTreeMap<&str, &str> {
        let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
        for Reading { language, .. } in self.readings() {
            *counts.entry((&language.code, &language.name)).or_default() += 1;
        }
        let mut names = BTreeMap::new();
        for ((code, name), count) in counts {
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

    /// The entries of `targets` that apply to no language, as far as the languages of all repositories are known.
    pub fn unused_targets(&self) -> Vec<&Entry> {
        let mut unused: Vec<&Entry> = self.targets.0.iter().collect();
        for shown in &self.repositories {
            if unused.is_empty() {
                break;
            }
            let targets = self.targets.of_repository(&shown.repository.name);
            let mut used = Vec::new();
            match shown.condition.languages() {
                // Any of them may apply to a language that is not known.
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

/// Whether a completion is above 0 and none is above 1, although the scale is: the API does not say whether it reports 0 to
/// 100 or 0 to 1.
pub fn is_scale_suspect(scale: f64, mut completions: impl Iterator<Item = f64> + Clone) -> bool {
    scale > 1.0
        && completions.clone().all(|completion| completion <= 1.0)
        && completions.any(|completion| completion > 0.0)
}

/// How many completions are below 0 or above the scale.
pub fn out_of_scale(scale: f64, completions: impl Iterator<Item = f64>) -> usize {
    completions
        .filter(|completion| *completion < 0.0 || *completion > scale)
        .count()
}

/// How a poll ended.
#[derive(Debug, Clone, Default)]
pub struct PollOutcome {
    pub ended_at: Timestamp,
    pub duration: Duration,
    /// Why the listing did not reach its end, if it did not.
    pub listing: Option<Lasting>,
    /// Why the poll ended before everything was requested, or read nothing, if so.
    pub stop: Option<Stop>,
    /// How many repositories were read in full.
    pub read: usize,
    /// How many repositories failed.
    pub failed: usize,
    /// How many repositories were not requested, or their request came to nothing, because the poll ended early.
    pub unreached: usize,
    /// How many repositories that failed before were left to later polls.
    pub postponed: usize,
}

impl PollOutcome {
    /// Why not everything was listed and requested, if so: what ended the poll, or else what ended the listing.
    pub fn cut_short(&self) -> Option<&Lasting> {
        let stop = self.stop.as_ref().map(|stop| &stop.lasting);
        stop.or(self.listing.as_ref())
    }

    /// Why the poll did not read everything, if it did not: the first of its reasons.
    pub fn failure(&self) -> Option<PollFailure> {
        if let Some(stop) = &self.stop {
            Some(stop.reason)
        } else if self.listing.is_some() {
            Some(PollFailure::Listing)
        } else if self.failed + self.unreached + self.postponed > 0 {
            Some(PollFailure::Repositories)
        } else {
            None
        }
    }

    /// Whether the poll read everything.
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

/// How far the poll under way has come.
#[derive(Debug, Clone, Copy)]
pub enum Step {
    /// It reads the listing, which has shown so many repositories so far.
    Listing { shown: usize },
    /// It reads repositories.
    Reading {
        /// Whether the listing has reached its end.
        is_listed: bool,
        /// How many repositories there are to request.
        of: usize,
        /// How many of them were read or failed.
        tried: usize,
        /// How many were read in full.
        read: usize,
    },
}

/// What the poller does.
#[derive(Debug, Clone, Copy)]
pub enum Activity {
    Polling(Running),
    /// It waits for the next poll, and for when, once that is known.
    Waiting(Option<Timestamp>),
}

/// The pace of requests while the API allows less than `api.requests_per_second`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pace {
    /// The rate now, which rises step by step.
    pub requests_per_second: f64,
    /// The highest rate that the API is known to allow, in requests a second.
    pub allowed: f64,
    /// The status with which the API last refused a request for its pace: 429 or 503.
    pub status: u16,
}

/// The state of polling; published with the snapshot, so that readiness and the page can distinguish a refused key from a
/// slow start.
#[derive(Debug, Clone)]
pub struct PollStatus {
    pub interval: Duration,
    pub activity: Activity,
    /// The last poll that has ended.
    pub last: Option<PollOutcome>,
    /// When a poll last read everything.
    pub last_success_at: Option<Timestamp>,
    /// Until when Retry-After holds all requests; `None` if there is no hold.
    pub held_until: Option<Timestamp>,
    /// `None` while the API allows the configured rate.
    pub pace: Option<Pace>,
    /// The zeros that the API spells out or leaves out.
    pub zeros: Zeros,
    /// Whether all data are there to serve: a listing was complete, or data came from the state file.
    pub has_data: bool,
    /// Whether the progress clock outlives a restart.
    pub state_is_kept: bool,
}

impl PollStatus {
    /// The poll under way.
    pub fn running(&self) -> Option<Running> {
        match self.activity {
            Activity::Polling(running) => Some(running),
            Activity::Waiting(_) => None,
        }
    }

    /// When the next poll begins, while none is under way.
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
    fn a_reading_is_small_since_there_is_one_for_every_two_series() {
        assert_eq!(size_of::<Reading>(), 32);
    }
}
