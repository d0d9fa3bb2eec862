//! What the poller remembers: what is listed, what was last read of it, and the progress clocks of what left.
//!
//! Nothing here waits or sends requests: answers come in, snapshots go out. A repository leaves when a complete listing
//! lacks it or the filters leave it out, and for no other reason.

mod clocks;
mod listing;

pub(super) use listing::{Changes, Listing};

use crate::{
    clock::{Moment, RecordedTime},
    model::{Failure, LanguageList, Repository, RepositoryId, TargetLanguage, Timestamp},
    progress::{Progress, advance},
    snapshot::{Condition, Languages, Reading, Reported, Shown, Snapshot},
    state::{Memory, Remembered},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};
use tokio::time::Instant;

/// A repository that is polled.
#[derive(Debug)]
struct Known {
    repository: Arc<Repository>,
    languages: Option<Arc<Languages>>,
    /// When they were read, so that their age does not depend on jumps of the wall clock.
    read: Option<Instant>,
    failure: Option<Failure>,
    /// The failure that was logged, until it is read again.
    logged_failure: Option<Arc<str>>,
    /// Larger is later; 0 is never.
    last_attempt: u64,
    /// How many reads in a row failed.
    failures: u32,
    /// Digest of the bad entries of the last answer, so that they are logged once per change.
    bad_entries: u64,
}

/// Everything that is remembered.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    /// Everything that the listing shows, before the filters.
    listed: BTreeMap<RepositoryId, Arc<Repository>>,
    /// Those of them that are polled.
    known: BTreeMap<RepositoryId, Known>,
    departed: BTreeMap<(RepositoryId, Arc<str>), (Progress, Timestamp)>,
    /// Missing from the last complete listing, but so many that the next must confirm it.
    missed: BTreeSet<RepositoryId>,
    /// How many entries of the last complete listing have no name that can be read.
    unnamed: usize,
    attempts: u64,
    /// Which time counts as now in all of this.
    time: RecordedTime,
    /// What was read no later was read by an earlier process.
    restored_at: Option<Instant>,
    /// When, by the monotonic clock, it is next checked which clocks in `departed` are too old, and when it last was.
    expiry: Option<Moment>,
    /// Whether it was logged that too many clocks departed.
    has_logged_excess: bool,
}

impl Ledger {
    pub fn restore(memory: Memory) -> Self {
        let mut ledger = Self {
            departed: memory.departed,
            missed: memory.missed,
            ..Self::default()
        };
        let mut order = memory.repositories;
        order.sort_by_key(|remembered| remembered.last_attempt);
        for Remembered {
            repository,
            last_attempt,
            failures,
            languages,
        } in order
        {
            ledger.attempts += u64::from(last_attempt > 0);
            let last_attempt = if last_attempt > 0 { ledger.attempts } else { 0 };
            ledger.listed.insert(repository.id, Arc::clone(&repository));
            let known = Known {
                languages,
                last_attempt,
                failures,
                ..Known::new(repository)
            };
            ledger.known.insert(known.repository.id, known);
        }
        if let Some(wall) = ledger.newest_time() {
            ledger.time = RecordedTime::after(wall);
            let monotonic = Instant::now();
            ledger.expiry = Some(Moment { wall, monotonic });
        }
        ledger
    }

    pub fn memory(&self, last_full_poll: Option<Duration>) -> Memory {
        let remember = |known: &Known| Remembered {
            repository: Arc::clone(&known.repository),
            last_attempt: known.last_attempt,
            failures: known.failures,
            languages: known.languages.clone(),
        };
        let repositories = self.known.values().map(remember).collect();
        let missed = self
            .missed
            .iter()
            .filter(|id| self.known.contains_key(id))
            .copied()
            .collect();
        Memory {
            last_full_poll,
            repositories,
            missed,
            departed: self.departed.clone(),
        }
    }

    /// How many repositories are polled.
    pub fn polled(&self) -> usize {
        self.known.len()
    }

    /// How many repositories are listed, but not polled.
    pub fn filtered(&self) -> usize {
        self.listed.len() - self.known.len()
    }

    /// What to read, the oldest attempt first.
    pub fn queue(&self) -> Vec<RepositoryId> {
        let mut queue: Vec<_> = self
            .known
            .iter()
            .map(|(id, known)| (known.last_attempt, *id))
            .collect();
        queue.sort_unstable();
        queue.into_iter().map(|(_, id)| id).collect()
    }

    /// The name of a repository that is polled; empty for any other.
    pub fn name(&self, id: RepositoryId) -> &str {
        self.known
            .get(&id)
            .map_or("", |known| &*known.repository.name)
    }

    /// The languages of a repository were read. Returns whether that ends a failure that was logged.
    pub fn succeeded(
        &mut self,
        id: RepositoryId,
        list: LanguageList,
        scale: f64,
        now: Moment,
    ) -> bool {
        let at = self.time.record(now.wall);
        let Some(known) = self.known.get_mut(&id) else {
            return false;
        };
        self.attempts += 1;
        known.last_attempt = self.attempts;
        let before = known.languages.take();
        let previous: &[Reading] = before.as_ref().map_or(&[], |languages| &languages.readings);
        let mut readings = Vec::with_capacity(list.languages.len());
        for TargetLanguage {
            language,
            completion,
        } in list.languages
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
                    Reported::Now(advance(progress, completion, scale, at))
                }
                (None, Some(progress)) => Reported::Before(progress),
                (None, None) => Reported::Never,
            };
            readings.push(Reading { language, reported });
        }
        for reading in previous {
            if let (Some(progress), None) =
                (reading.progress(), find(&readings, &reading.language.code))
            {
                self.departed
                    .insert((id, Arc::clone(&reading.language.code)), (progress, at));
            }
        }
        let readings = match before {
            Some(before) if *before.readings == *readings => Arc::clone(&before.readings),
            _ => readings.into(),
        };
        known.languages = Some(Arc::new(Languages {
            read_at: at,
            readings,
        }));
        known.read = Some(now.monotonic);
        known.failure = None;
        known.failures = 0;
        known.logged_failure.take().is_some()
    }

    /// The languages of a repository could not be read. Returns whether to log that: if it is a failure of the repository,
    /// not of the API itself, and differs from the one logged last.
    pub fn failed(
        &mut self,
        id: RepositoryId,
        failure: Failure,
        is_its_own: bool,
        now: Timestamp,
    ) -> bool {
        let Some(known) = self.known.get_mut(&id) else {
            return false;
        };
        self.attempts += 1;
        known.last_attempt = self.attempts;
        let is_new = is_its_own && known.logged_failure.as_ref() != Some(&failure.what);
        if is_new {
            known.logged_failure = Some(Arc::clone(&failure.what));
        }
        let since = known.failure.as_ref().map_or(now, |before| before.since);
        known.failures = known.failures.saturating_add(1);
        known.failure = Some(Failure { since, ..failure });
        is_new
    }

    /// Whether the bad entries of a repository's answer differ from last time, by their digest.
    pub fn bad_entries_changed(&mut self, id: RepositoryId, digest: u64) -> bool {
        self.known
            .get_mut(&id)
            .is_some_and(|known| std::mem::replace(&mut known.bad_entries, digest) != digest)
    }

    /// When, after `now`, the next data become stale.
    pub fn next_expiry(&self, limit: Duration, now: Instant) -> Option<Instant> {
        // One past the limit: at the limit itself they are still shown.
        let limit = limit.saturating_add(Duration::from_millis(1));
        let expiries = self
            .known
            .values()
            .filter_map(|known| known.read?.checked_add(limit));
        expiries.filter(|expiry| *expiry > now).min()
    }

    pub fn snapshot(&self, scale: f64, limit: Duration, now: Moment) -> Snapshot {
        let mut repositories: Vec<_> = self
            .known
            .values()
            .map(|known| known.show(limit, now))
            .collect();
        repositories.sort_unstable_by(|a, b| a.repository.name.cmp(&b.repository.name));
        Snapshot {
            taken_at: now.wall,
            repositories,
            filtered: self.filtered(),
            unnamed: self.unnamed,
            unconfirmed: self.missed.len(),
            completion_scale: scale,
            targets: Arc::default(),
        }
    }
}

impl Known {
    fn new(repository: Arc<Repository>) -> Self {
        Self {
            repository,
            languages: None,
            read: None,
            failure: None,
            logged_failure: None,
            last_attempt: 0,
            failures: 0,
            bad_entries: 0,
        }
    }

    fn show(&self, limit: Duration, now: Moment) -> Shown {
        let is_stale = |languages: &Languages| {
            let age = self.read.map_or_else(
                || now.wall.since(languages.read_at),
                |read| now.monotonic - read,
            );
            age > limit
        };
        // Nothing is shown in the future.
        let mut languages = self.languages.clone();
        if let Some(languages) = &mut languages {
            clocks::cut_to(languages, now.wall);
        }
        let failure = self.failure.clone().map(|failure| Failure {
            since: failure.since.min(now.wall),
            ..failure
        });
        let condition = match (languages, failure) {
            (None, failure) => Condition::Pending(failure),
            (Some(languages), failure) if is_stale(&languages) => Condition::Stale {
                read_at: languages.read_at,
                failure,
            },
            (Some(languages), None) => Condition::Fresh(languages),
            (Some(languages), Some(failure)) => Condition::Failing(languages, failure),
        };
        Shown::new(Arc::clone(&self.repository), condition)
    }
}

/// The reading with this code, among readings in the order of their codes.
fn find<'r>(readings: &'r [Reading], code: &str) -> Option<&'r Reading> {
    let index = readings
        .binary_search_by(|reading| (*reading.language.code).cmp(code))
        .ok()?;
    readings.get(index)
}
