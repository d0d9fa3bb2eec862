//! The ledger: the listed repositories, the last reading of each one, and the progress clocks.
//!
//! The ledger does no I/O. The poll passes listings and languages to it, and takes snapshots of
//! it. A repository leaves when a complete listing lacks it or the filters leave it out, and for
//! no other reason.

mod clocks;
mod listing;

pub use listing::{NAME_BYTES, is_too_large};

use super::log::PollLog;
use crate::{
    domain::{
        Failure, Fault, LanguageList, ReadFailure, Reason, Repository, RepositoryId, ZeroCount,
        Zeros,
        links::Links,
        snapshot::{Condition, Shown, Snapshot},
        targets::Targets,
    },
    state::{Memory, Remembered},
    support::clock::{Moment, Timestamp},
};
use clocks::Clocks;
use globset::GlobSet;
use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::Arc,
    time::Duration,
};
use tokio::time::Instant;

/// The ledger counts consecutive failures up to this number. All repositories that have reached
/// it take turns.
const MOST_FAILURES: u32 = 10;

/// The number of languages that the ledger has room for: two million series, or four with targets.
pub const MOST_LANGUAGES: usize = 1_000_000;

/// A failed read of a repository's languages.
#[derive(Debug)]
pub struct FailedRead {
    pub id: RepositoryId,
    pub failure: Failure,
    /// The kind of the failure; `None` if it ended the poll.
    pub reason: Option<Reason>,
}

/// The order in which a poll reads the repositories.
#[derive(Debug, Default)]
pub struct ReadOrder {
    /// The repositories whose last read did not fail, the oldest attempt first.
    pub first: VecDeque<RepositoryId>,
    /// The repositories whose last read failed, the fewest failures in a row first.
    pub failed_before: VecDeque<RepositoryId>,
}

/// A repository that is polled.
#[derive(Debug)]
struct Polled {
    /// The part that the state file keeps.
    kept: Remembered,
    /// The time at which this process read the languages. It gives them an age that does not depend
    /// on jumps of the wall clock.
    read_at: Option<Instant>,
    /// The failure of the last read, if it failed.
    failure: Option<ReadFailure>,
    /// The digest of the bad entries of the last response, so that they are logged once per change.
    bad_entries: u64,
    /// The number of languages in the last response that had no field for their completion.
    absent_completions: usize,
}

/// The findings of the last complete listing.
#[derive(Debug, Default)]
struct LastListing {
    /// The missing repositories, if they are more than half: the next listing must confirm them.
    missed: BTreeSet<RepositoryId>,
    /// The number of ids without a readable name.
    unnamed: usize,
    /// The zeros of the field `private`: absent in this listing, spelled out in any.
    private: ZeroCount,
    /// The digest of its bad entries, so that they are logged once per change.
    bad_entries: u64,
}

/// Everything that the poller knows of the account.
#[derive(Debug, Default)]
pub struct Ledger {
    /// The repositories from the first listing that shows them until a complete one lacks them.
    listed: BTreeMap<RepositoryId, Arc<Repository>>,
    /// The listed repositories that pass the filters, without the lower id of two with one name.
    polled: BTreeMap<RepositoryId, Polled>,
    listing: LastListing,
    clocks: Clocks,
    /// The number of completions of 0 that this process has read.
    zero_completions: usize,
    /// An upper bound of the languages in `polled`: exact when a poll begins to read them.
    languages: usize,
    /// The number of the last attempt to read a repository.
    attempts: u64,
    /// A listing was complete, or repositories were restored.
    has_data: bool,
}

impl Ledger {
    /// Restores the ledger from the content of the state file.
    pub fn restore(memory: Memory, now: Timestamp) -> Self {
        let mut ledger = Self {
            // `once` saves a state even where it could list nothing.
            has_data: !memory.repositories.is_empty(),
            clocks: Clocks::restore(memory.departed, memory.falls),
            ..Self::default()
        };
        ledger.listing.missed = memory.missed;
        for kept in memory.repositories {
            let repository = Arc::clone(&kept.repository);
            ledger.attempts = ledger.attempts.max(kept.last_attempt);
            if let Some(languages) = &kept.languages {
                ledger.clocks.record(languages.newest_time());
            }
            let failure = (kept.failures > 0).then(|| {
                let what = "its last read before the restart failed";
                let hint = "nothing to do: it is read again soon";
                ReadFailure {
                    lasting: Failure::new(what, hint)
                        .since(kept.failing_since.map_or(now, |since| since.min(now))),
                    reason: None,
                    fault: Fault::Repository,
                }
            });
            let polled = Polled {
                kept,
                failure,
                ..Polled::new(Arc::clone(&repository))
            };
            ledger.polled.insert(repository.id, polled);
            ledger.listed.insert(repository.id, repository);
        }
        ledger
    }

    /// Returns the part of the ledger that survives a restart.
    pub fn memory(&self) -> Memory {
        let polled = self.polled.values();
        Memory {
            repositories: polled.map(|known| known.kept.clone()).collect(),
            missed: self.listing.missed.clone(),
            departed: self.clocks.departed.clone(),
            falls: self.clocks.falls.clone(),
            ..Memory::default()
        }
    }

    /// Returns the number of repositories that are polled.
    pub fn polled(&self) -> usize {
        self.polled.len()
    }

    /// Returns the number of listed repositories that are not polled.
    pub fn filtered(&self) -> usize {
        self.listed.len() - self.polled.len()
    }

    /// Tells whether a listing was complete, or repositories were restored.
    pub fn has_data(&self) -> bool {
        self.has_data
    }

    /// Tells whether languages of any repository are shown, or were ever read by this process.
    pub fn has_shown(&self, limit: Duration, now: Moment) -> bool {
        self.polled.values().any(|known| {
            known.read_at.is_some() || self.age(known, now).is_some_and(|age| age <= limit)
        })
    }

    /// Returns the zeros that the API spells out or leaves out.
    pub fn zeros(&self) -> Zeros {
        let absent = self.polled.values().map(|known| known.absent_completions);
        Zeros {
            completion: ZeroCount {
                absent: absent.sum(),
                spelled_out: self.zero_completions,
            },
            private: self.listing.private,
        }
    }

    /// Returns the order in which to read the repositories. `only` selects them by name, and an
    /// empty set selects all.
    pub fn order(&mut self, only: &GlobSet) -> ReadOrder {
        self.languages = self.count_languages();
        let polled = self.polled.values().map(|known| &known.kept);
        let mut chosen: Vec<_> = polled
            .filter(|kept| only.is_empty() || only.is_match(&*kept.repository.name))
            .map(|kept| (kept.failures, kept.last_attempt, kept.repository.id))
            .collect();
        chosen.sort_unstable();
        let mut order = ReadOrder::default();
        for (failures, _, id) in chosen {
            if failures == 0 {
                order.first.push_back(id);
            } else {
                order.failed_before.push_back(id);
            }
        }
        order
    }

    /// Tells whether the ledger has room for this number of languages of a repository.
    pub fn has_room(&self, id: RepositoryId, languages: usize) -> bool {
        let before = self.polled.get(&id).map_or(0, Polled::languages);
        self.languages - before + languages <= MOST_LANGUAGES
    }

    fn count_languages(&self) -> usize {
        self.polled.values().map(Polled::languages).sum()
    }

    /// Forgets the oldest clocks of departed languages, if there are too many.
    pub fn forget_excess(&mut self) {
        self.clocks.forget_excess(self.count_languages());
    }

    /// Notes the languages of a repository that was read. Logs that its failure ended.
    pub fn succeeded(
        &mut self,
        id: RepositoryId,
        list: LanguageList,
        scale: f64,
        now: Moment,
        log: &mut PollLog,
    ) {
        let Some(known) = self.polled.get_mut(&id) else {
            return;
        };
        let LanguageList {
            languages,
            completion: zeros,
            bad,
        } = list;
        let repo = &known.kept.repository.name;
        log.bad_entries(repo, &bad.described, &mut known.bad_entries);
        if matches!(known.failure.take(), Some(failure) if failure.fault == Fault::Repository) {
            log.recovered(repo, id);
        }
        known.absent_completions = zeros.absent;
        self.zero_completions = self.zero_completions.saturating_add(zeros.spelled_out);
        self.languages = self.languages - known.languages() + languages.len();
        let before = known.kept.languages.take();
        let at = self.clocks.record(now.wall);
        let languages = self.clocks.advance(id, before, languages, scale, at);
        known.kept.languages = Some(Arc::new(languages));
        known.read_at = Some(now.monotonic);
        self.attempts += 1;
        known.kept.last_attempt = self.attempts;
        known.kept.failures = 0;
        known.kept.failing_since = None;
    }

    /// Notes a failed read. If the repository `comes_last`, the next poll requests it after all
    /// others. Logs a failure of the repository itself when it begins.
    pub fn failed(
        &mut self,
        FailedRead {
            id,
            failure,
            reason,
        }: FailedRead,
        fault: Fault,
        comes_last: bool,
        now: Timestamp,
        log: &mut PollLog,
    ) {
        let Some(known) = self.polled.get_mut(&id) else {
            return;
        };
        self.attempts += 1;
        known.kept.last_attempt = self.attempts;
        known.kept.failures = (known.kept.failures + u32::from(comes_last)).min(MOST_FAILURES);
        let before = known.failure.as_ref();
        let own_before = before.filter(|before| before.fault == Fault::Repository);
        if own_before.is_some() && fault == Fault::Api {
            return;
        }
        let is_new = own_before.is_none_or(|before| before.reason != reason);
        if is_new && fault == Fault::Repository {
            log.failing(&known.kept.repository.name, id, &failure);
        }
        let lasting = failure.lasting(before.map(|before| &before.lasting), now);
        known.kept.failing_since = Some(lasting.since);
        known.failure = Some(ReadFailure {
            lasting,
            reason,
            fault,
        });
    }

    /// Forgets the falls of repositories that were last read with another `api.completion_scale`,
    /// because the API may report other numbers now.
    pub fn follow_scale(&mut self, scale: f64) {
        for (id, known) in &self.polled {
            if let Some(languages) = &known.kept.languages
                && languages.scale.total_cmp(&scale).is_ne()
            {
                self.clocks.falls.forget_repository(*id);
            }
        }
    }

    /// Returns how far the wall clock is behind the newest recorded timestamp.
    pub fn clock_behind(&self, wall: Timestamp) -> Duration {
        self.clocks.behind(wall)
    }

    /// Follows the wall clock, which the API's clock has confirmed.
    pub fn follow_clock(&mut self, wall: Timestamp) {
        let polled = self.polled.values_mut();
        let known = polled.filter_map(|known| known.kept.languages.as_mut());
        self.clocks.follow(wall, known);
    }

    /// Tells whether data of any repository became stale between two moments.
    pub fn became_stale(&self, limit: Duration, before: Moment, now: Moment) -> bool {
        let is_stale = |known, at| self.age(known, at) > Some(limit);
        let mut polled = self.polled.values();
        polled.any(|known| is_stale(known, now) && !is_stale(known, before))
    }

    /// Returns the age of a repository's languages. If another process read them, their age depends
    /// on the wall clock.
    fn age(&self, known: &Polled, now: Moment) -> Option<Duration> {
        let languages = known.kept.languages.as_ref()?;
        Some(match known.read_at {
            Some(read_at) => now.monotonic - read_at,
            None => self.clocks.now(now.wall).since(languages.read_at),
        })
    }

    /// Returns a snapshot of the ledger, in which data older than `limit` are stale.
    pub fn snapshot(
        &self,
        completion_scale: f64,
        targets: Arc<Targets>,
        links: Arc<Links>,
        limit: Duration,
        now: Moment,
    ) -> Snapshot {
        let polled = self.polled.values();
        let mut repositories: Vec<_> = polled.map(|known| self.show(known, limit, now)).collect();
        repositories.sort_unstable_by(|a, b| a.repository.name.cmp(&b.repository.name));
        Snapshot {
            taken_at: now.wall,
            repositories,
            filtered: self.filtered(),
            unnamed: self.listing.unnamed,
            unconfirmed: self.listing.missed.len(),
            falls: self.clocks.falls.clone(),
            completion_scale,
            targets,
            links,
        }
    }

    fn show(&self, known: &Polled, limit: Duration, now: Moment) -> Shown {
        let mut failure = known.failure.clone();
        let mut languages = known.kept.languages.clone();
        // No timestamp is shown in the future.
        if let Some(failure) = &mut failure {
            let since = &mut failure.lasting.since;
            *since = (*since).min(now.wall);
        }
        if let Some(languages) = &mut languages {
            clocks::cut_to(languages, now.wall);
        }
        let is_stale = self.age(known, now) > Some(limit);
        let condition = match (languages, failure) {
            (None, failure) => Condition::Pending(failure),
            (Some(languages), failure) if is_stale => Condition::Stale {
                read_at: languages.read_at,
                failure,
            },
            (Some(languages), Some(failure)) => Condition::Failing(languages, failure),
            (Some(languages), None) if known.read_at.is_none() => Condition::Restored(languages),
            (Some(languages), None) => Condition::Fresh(languages),
        };
        Shown {
            repository: Arc::clone(&known.kept.repository),
            condition,
        }
    }
}

impl Polled {
    fn new(repository: Arc<Repository>) -> Self {
        Self {
            kept: Remembered {
                repository,
                last_attempt: 0,
                failures: 0,
                failing_since: None,
                languages: None,
            },
            read_at: None,
            failure: None,
            bad_entries: 0,
            absent_completions: 0,
        }
    }

    /// Returns the number of languages.
    fn languages(&self) -> usize {
        let languages = self.kept.languages.as_ref();
        languages.map_or(0, |languages| languages.readings.len())
    }
}
