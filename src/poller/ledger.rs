//! What the poller remembers: what is listed, what was last read of it, and the progress clocks of what left.
//!
//! Nothing here waits or sends requests: answers come in, snapshots go out. A repository leaves when a complete listing
//! lacks it or the filters leave it out, and for no other reason.

mod clocks;
mod listing;

use clocks::RecordedTime;

use super::log::PollLog;
use crate::{
    domain::{
        Failure, Fault, LanguageList, ReadFailure, Reason, Repository, RepositoryId,
        TargetLanguage, ZeroCount, Zeros,
        falls::Falls,
        links::Links,
        progress::{Progress, advance},
        snapshot::{Condition, Languages, Reading, Reported, Shown, Snapshot, find},
        targets::Targets,
    },
    state::{Memory, Remembered},
    support::clock::{Moment, Timestamp},
};
use globset::GlobSet;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};
use tokio::time::Instant;

/// Failures in a row are counted up to this: what fails like this long enough takes turns, so that each is tried again.
const MOST_FAILURES: u32 = 10;

/// How many languages all repositories may have in all: two million series, or four with targets.
pub const MOST_LANGUAGES: usize = 1_000_000;

/// A repository whose languages could not be read.
#[derive(Debug)]
pub struct FailedRead {
    pub id: RepositoryId,
    pub failure: Failure,
    pub reason: Option<Reason>,
    pub fault: Fault,
}

/// A repository that is polled.
#[derive(Debug)]
struct Polled {
    repository: Arc<Repository>,
    languages: Option<Arc<Languages>>,
    /// When this process read them, so that their age does not depend on jumps of the wall clock.
    read_at: Option<Instant>,
    /// Why the last read failed, if it did.
    failure: Option<ReadFailure>,
    /// Larger is later; 0 is never.
    last_attempt: u64,
    /// How many reads in a row failed, up to [`MOST_FAILURES`]; those of polls in which nothing could be read for an outage do not
    /// count.
    failures: u32,
    /// Digest of the bad entries of the last answer, so that they are logged once per change.
    bad_entries: u64,
    /// How many languages of the last answer had no field for their completion.
    absent_completions: usize,
}

type Departed = BTreeMap<(RepositoryId, Arc<str>), (Progress, Timestamp)>;

/// Everything that is remembered.
///
/// A repository is in `listed` from the first listing that shows it until a complete one lacks it. While it also passes the
/// filters, and no other of the same name has a higher id, it is in `polled`.
#[derive(Debug, Default)]
pub struct Ledger {
    /// How long the last poll took that was not ended early.
    pub last_full_poll: Option<Duration>,
    listed: BTreeMap<RepositoryId, Arc<Repository>>,
    polled: BTreeMap<RepositoryId, Polled>,
    /// The clocks of languages that are in `polled` no longer, and when they left.
    departed: Departed,
    /// The falls of languages in `polled` or `departed`.
    falls: Falls,
    /// Those in `listed` that the last complete listing lacked, so many that the next must confirm it.
    missed: BTreeSet<RepositoryId>,
    /// How many repositories were listed before the last complete listing took away more than half of them, if it did.
    pub dropped_of: Option<usize>,
    /// The zeros of the field `private`: absent in the last complete listing, spelled out ever.
    private: ZeroCount,
    /// How many completions of 0 were ever spelled out.
    zero_completions: usize,
    /// How many ids of the last complete listing have no name that can be read.
    unnamed: usize,
    /// How many languages the repositories in `polled` have at the most: exact when a poll begins to read them.
    languages: usize,
    attempts: u64,
    /// Which time counts as now in all of this.
    time: RecordedTime,
    /// Whether it was logged that too many clocks departed.
    has_logged_excess: bool,
}

impl Ledger {
    pub fn restore(memory: Memory, now: Timestamp) -> Self {
        let mut ledger = Self {
            last_full_poll: memory.last_full_poll,
            departed: memory.departed,
            falls: memory.falls,
            missed: memory.missed,
            ..Self::default()
        };
        for (_, _, fall) in ledger.falls.iter() {
            ledger.time.record(fall.at);
        }
        for (progress, left_at) in ledger.departed.values() {
            ledger.time.record(progress.at.max(*left_at));
        }
        for Remembered {
            repository,
            last_attempt,
            failures,
            languages,
        } in memory.repositories
        {
            ledger.attempts = ledger.attempts.max(last_attempt);
            ledger.listed.insert(repository.id, Arc::clone(&repository));
            if let Some(languages) = &languages {
                ledger.time.record(languages.newest_time());
            }
            let what = "its last read before the restart failed";
            let hint = "nothing to do: it is read again soon";
            let failure = || ReadFailure {
                lasting: Failure::new(what, hint).since(now),
                reason: None,
                fault: Fault::Repository,
            };
            let known = Polled {
                languages,
                failure: (failures > 0).then(failure),
                last_attempt,
                failures,
                ..Polled::new(repository)
            };
            ledger.polled.insert(known.repository.id, known);
        }
        ledger
    }

    pub fn memory(&self) -> Memory {
        let remember = |known: &Polled| Remembered {
            repository: Arc::clone(&known.repository),
            last_attempt: known.last_attempt,
            failures: known.failures,
            languages: known.languages.clone(),
        };
        let repositories = self.polled.values().map(remember).collect();
        Memory {
            last_full_poll: self.last_full_poll,
            repositories,
            missed: self.missed.clone(),
            departed: self.departed.clone(),
            falls: self.falls.clone(),
            ..Memory::default()
        }
    }

    /// How many repositories are polled.
    pub fn polled(&self) -> usize {
        self.polled.len()
    }

    /// How many repositories are listed, but not polled.
    pub fn filtered(&self) -> usize {
        self.listed.len() - self.polled.len()
    }

    /// Whether languages of any repository are shown, or were ever read by this process.
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
            private: self.private,
        }
    }

    /// Returns the repositories to read, the oldest attempt first; and those that failed before, to
    /// be read after them, the fewest failures in a row first. `only` chooses by name; an empty set
    /// chooses all.
    pub fn order(&mut self, only: &GlobSet) -> (Vec<RepositoryId>, Vec<RepositoryId>) {
        self.languages = self.polled.values().map(Polled::languages).sum();
        let mut order: Vec<_> = self
            .polled
            .iter()
            .filter(|(_, known)| only.is_empty() || only.is_match(&*known.repository.name))
            .map(|(id, known)| (known.failures, known.last_attempt, *id))
            .collect();
        order.sort_unstable();
        let never_failed = order.partition_point(|(failures, ..)| *failures == 0);
        let mut first: Vec<_> = order.into_iter().map(|(.., id)| id).collect();
        let failed_before = first.split_off(never_failed);
        (first, failed_before)
    }

    /// Whether a repository may have so many languages: what is kept of all is bounded.
    pub fn has_room(&self, id: RepositoryId, languages: usize) -> bool {
        let before = self.polled.get(&id).map_or(0, Polled::languages);
        self.languages - before + languages <= MOST_LANGUAGES
    }

    /// The languages of a repository were read.
    pub fn succeeded(
        &mut self,
        id: RepositoryId,
        LanguageList {
            languages,
            completion: zeros,
            bad,
        }: LanguageList,
        scale: f64,
        now: Moment,
        log: &mut PollLog,
    ) {
        let Some(known) = self.polled.get_mut(&id) else {
            return;
        };
        let repo = &known.repository.name;
        log.bad_entries(repo, &bad.described, &mut known.bad_entries);
        if matches!(known.failure.take(), Some(failure) if failure.fault == Fault::Repository) {
            log.recovered(repo, id);
        }
        known.absent_completions = zeros.absent;
        self.zero_completions = self.zero_completions.saturating_add(zeros.spelled_out);
        let at = self.time.record(now.wall);
        self.attempts += 1;
        known.last_attempt = self.attempts;
        self.languages = self.languages - known.languages() + languages.len();
        let before = known.languages.take();
        let before_scale = before.as_ref().map_or(scale, |before| before.scale);
        let is_comparable = before_scale.total_cmp(&scale).is_eq();
        let previous: &[Reading] = before.as_ref().map_or(&[], |languages| &languages.readings);
        let mut readings = Vec::with_capacity(languages.len());
        for TargetLanguage {
            language,
            completion,
        } in languages
        {
            let progress = match find(previous, &language.code) {
                Some(reading) => reading.progress(),
                None => self
                    .departed
                    .remove(&(id, Arc::clone(&language.code)))
                    .map(|(progress, _)| progress),
            };
            let reported = match (completion, progress) {
                (Some(completion), progress) => {
                    if let Some(Progress {
                        completion: before, ..
                    }) = progress
                        && is_comparable
                    {
                        let code = &language.code;
                        self.falls.observe(id, code, before, completion, at);
                    }
                    Reported::Now(advance(progress, completion, scale, at))
                }
                (None, Some(progress)) => Reported::Before(progress),
                (None, None) => Reported::Never,
            };
            readings.push(Reading { language, reported });
        }
        for reading in previous {
            if find(&readings, &reading.language.code).is_none() {
                depart(&mut self.departed, &mut self.time, id, reading, at);
            }
        }
        let readings = match &before {
            Some(before) if *before.readings == *readings => Arc::clone(&before.readings),
            _ => readings.into(),
        };
        known.languages = Some(Arc::new(Languages {
            read_at: at,
            scale,
            readings,
        }));
        known.read_at = Some(now.monotonic);
        known.failures = 0;
    }

    /// Notes that a repository's languages could not be read. If it `comes_last`, the next poll
    /// requests it after all others. Logs a failure of its own that was not logged before.
    pub fn failed(
        &mut self,
        FailedRead {
            id,
            failure,
            reason,
            fault,
        }: FailedRead,
        comes_last: bool,
        now: Timestamp,
        log: &mut PollLog,
    ) {
        let Some(known) = self.polled.get_mut(&id) else {
            return;
        };
        self.attempts += 1;
        known.last_attempt = self.attempts;
        known.failures = (known.failures + u32::from(comes_last)).min(MOST_FAILURES);
        let before = known.failure.as_ref();
        let own_before = before.filter(|before| before.fault == Fault::Repository);
        if own_before.is_some() && fault == Fault::Api {
            return;
        }
        let is_new = own_before.is_none_or(|before| before.reason != reason);
        if is_new && fault == Fault::Repository {
            log.failing(&known.repository.name, id, &failure);
        }
        known.failure = Some(ReadFailure {
            lasting: failure.lasting(before.map(|before| &before.lasting), now),
            reason,
            fault,
        });
    }

    /// Forgets the falls of repositories that were last read with another `api.completion_scale`: the
    /// API may report other numbers since.
    pub fn follow_scale(&mut self, scale: f64) {
        for (id, known) in &self.polled {
            if let Some(languages) = &known.languages
                && languages.scale.total_cmp(&scale).is_ne()
            {
                self.falls.forget_repository(*id);
            }
        }
    }

    /// When, after `now`, the next data become stale.
    pub fn next_expiry(&self, limit: Duration, now: Moment) -> Option<Instant> {
        let ages = self
            .polled
            .values()
            .filter_map(|known| self.age(known, now));
        let rest = ages.filter_map(|age| limit.checked_sub(age)).min()?;
        // At the limit itself they are still shown.
        now.monotonic.checked_add(rest + Duration::from_millis(1))
    }

    /// How old the languages of a repository are. Where an earlier process read them, the clock of the machine, which may be set at any
    /// time, is all that there is to know it by.
    fn age(&self, known: &Polled, now: Moment) -> Option<Duration> {
        let languages = known.languages.as_ref()?;
        Some(match known.read_at {
            Some(read_at) => now.monotonic - read_at,
            None => self.time.now(now.wall).since(languages.read_at),
        })
    }

    pub fn snapshot(
        &self,
        completion_scale: f64,
        targets: Arc<Targets>,
        links: Arc<Links>,
        limit: Duration,
        now: Moment,
    ) -> Snapshot {
        let mut repositories: Vec<_> = self
            .polled
            .values()
            .map(|known| self.show(known, limit, now))
            .collect();
        repositories.sort_unstable_by(|a, b| a.repository.name.cmp(&b.repository.name));
        Snapshot {
            taken_at: now.wall,
            repositories,
            filtered: self.filtered(),
            unnamed: self.unnamed,
            unconfirmed: self.missed.len(),
            falls: self.falls.clone(),
            completion_scale,
            targets,
            links,
        }
    }

    fn show(&self, known: &Polled, limit: Duration, now: Moment) -> Shown {
        let mut failure = known.failure.clone();
        let mut languages = known.languages.clone();
        // Nothing is shown in the future.
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
            repository: Arc::clone(&known.repository),
            condition,
        }
    }
}

impl Polled {
    fn new(repository: Arc<Repository>) -> Self {
        Self {
            repository,
            languages: None,
            read_at: None,
            failure: None,
            last_attempt: 0,
            failures: 0,
            bad_entries: 0,
            absent_completions: 0,
        }
    }

    /// How many languages it has.
    fn languages(&self) -> usize {
        let languages = self.languages.as_ref();
        languages.map_or(0, |languages| languages.readings.len())
    }
}

/// Keeps the clock of a language that left, if it has one.
fn depart(
    departed: &mut Departed,
    time: &mut RecordedTime,
    id: RepositoryId,
    reading: &Reading,
    now: Timestamp,
) {
    if let Some(progress) = reading.progress() {
        let key = (id, Arc::clone(&reading.language.code));
        departed.insert(key, (progress, time.record(now)));
    }
}
