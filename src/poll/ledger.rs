//! What the poller remembers: what is listed, what was last read of it, and the progress clocks of what left.
//!
//! Nothing here waits or sends requests: answers come in, snapshots go out. A repository leaves when a complete listing
//! lacks it or the filters leave it out, and for no other reason.

mod clocks;
mod listing;

pub use listing::Change;

use super::queue::Queue;
use crate::{
    clock::{Moment, RecordedTime},
    model::{Failure, Repository, RepositoryId, Scope, TargetLanguage, Timestamp},
    progress::{Progress, advance},
    snapshot::{Condition, Languages, Reading, Reported, Shown, Snapshot, find},
    state::{Memory, Remembered},
    targets::Targets,
};
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

/// A repository that is polled.
#[derive(Debug)]
struct Polled {
    repository: Arc<Repository>,
    languages: Option<Arc<Languages>>,
    /// When they were read, so that their age does not depend on jumps of the wall clock.
    read_at: Option<Instant>,
    /// Whether an earlier process read them.
    are_restored: bool,
    /// Why the last read failed, if it did.
    failure: Option<Failure>,
    /// Larger is later; 0 is never.
    last_attempt: u64,
    /// How many reads in a row failed, up to [`MOST_FAILURES`]; those of polls in which nothing could be read for an outage do not
    /// count.
    failures: u32,
    /// Digest of the bad entries of the last answer, so that they are logged once per change.
    bad_entries: u64,
}

type Departed = BTreeMap<(RepositoryId, Arc<str>), (Progress, Timestamp)>;

/// Everything that is remembered.
///
/// A repository is in `listed` from the first listing that shows it until a complete one lacks it. While it also passes the
/// filters, and no other of the same name has a higher id, it is in `polled`.
#[derive(Debug, Default)]
pub struct Ledger {
    listed: BTreeMap<RepositoryId, Arc<Repository>>,
    polled: BTreeMap<RepositoryId, Polled>,
    /// The clocks of languages that are in `polled` no longer, and when they left.
    departed: Departed,
    /// Those in `listed` that the last complete listing lacked, so many that the next must confirm it.
    missed: BTreeSet<RepositoryId>,
    /// How many ids of the last complete listing have no name that can be read.
    unnamed: usize,
    /// How many languages the repositories in `polled` have at the most: exact when a poll begins to read them.
    languages: usize,
    attempts: u64,
    /// Which time counts as now in all of this.
    time: RecordedTime,
    /// When it was last checked which clocks in `departed` are too old, or when this process began.
    last_expiry: Option<Moment>,
    /// Whether it was logged that too many clocks departed.
    has_logged_excess: bool,
}

impl Ledger {
    pub fn restore(memory: Memory, now: Timestamp) -> Self {
        let mut ledger = Self {
            departed: memory.departed,
            missed: memory.missed,
            ..Self::default()
        };
        for Remembered {
            repository,
            last_attempt,
            failures,
            languages,
        } in memory.repositories
        {
            ledger.attempts = ledger.attempts.max(last_attempt);
            ledger.listed.insert(repository.id, Arc::clone(&repository));
            let what = "its last read before the restart failed";
            let hint = "nothing to do: it is read again soon";
            let known = Polled {
                languages,
                are_restored: true,
                failure: (failures > 0).then(|| Failure::new(now, what, hint)),
                last_attempt,
                failures,
                ..Polled::new(repository)
            };
            ledger.polled.insert(known.repository.id, known);
        }
        if let Some(wall) = ledger.newest_time() {
            ledger.time = RecordedTime::after(wall);
        }
        ledger
    }

    pub fn memory(&self, last_full_poll: Option<Duration>) -> Memory {
        let remember = |known: &Polled| Remembered {
            repository: Arc::clone(&known.repository),
            last_attempt: known.last_attempt,
            failures: known.failures,
            languages: known.languages.clone(),
        };
        let repositories = self.polled.values().map(remember).collect();
        let missed = self
            .missed
            .iter()
            .filter(|id| self.polled.contains_key(id))
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
        self.polled.len()
    }

    /// How many repositories are listed, but not polled.
    pub fn filtered(&self) -> usize {
        self.listed.len() - self.polled.len()
    }

    /// Whether the languages of any repository are known.
    pub fn has_languages(&self) -> bool {
        self.polled.values().any(|known| known.languages.is_some())
    }

    /// What to read: the oldest attempt first, but after all others those that failed, the fewest failures in a row first.
    pub fn queue(&mut self) -> Queue {
        self.languages = self.polled.values().map(Polled::languages).sum();
        let mut order: Vec<_> = self
            .polled
            .iter()
            .map(|(id, known)| (known.failures, known.last_attempt, *id))
            .collect();
        order.sort_unstable();
        let never_failed = order.partition_point(|(failures, ..)| *failures == 0);
        let mut first: Vec<_> = order.into_iter().map(|(.., id)| id).collect();
        let failed_before = first.split_off(never_failed);
        Queue::new(first, failed_before)
    }

    /// The name of a repository that is polled; empty for any other.
    pub fn name(&self, id: RepositoryId) -> &str {
        self.polled
            .get(&id)
            .map_or("", |known| &*known.repository.name)
    }

    /// Whether a repository may have so many languages: what is kept of all is bounded.
    pub fn has_room(&self, id: RepositoryId, languages: usize) -> bool {
        let before = self.polled.get(&id).map_or(0, Polled::languages);
        self.languages - before + languages <= MOST_LANGUAGES
    }

    /// The languages of a repository were read. Returns whether that ends a failure of its own.
    pub fn succeeded(
        &mut self,
        id: RepositoryId,
        languages: Vec<TargetLanguage>,
        scale: f64,
        now: Moment,
    ) -> bool {
        let Some(known) = self.polled.get_mut(&id) else {
            return false;
        };
        let at = self.time.record(now.wall);
        self.attempts += 1;
        known.last_attempt = self.attempts;
        self.languages = self.languages - known.languages() + languages.len();
        let before = known.languages.take();
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
            readings,
        }));
        known.read_at = Some(now.monotonic);
        known.are_restored = false;
        known.failures = 0;
        let before = known.failure.take();
        before.is_some_and(|failure| failure.scope == Scope::Request)
    }

    /// The languages of a repository could not be read, so that the next poll asks for it after the others, if it
    /// `comes_last`. Returns whether to log that: not if the API failed as a whole, nor if it was logged before.
    pub fn failed(
        &mut self,
        id: RepositoryId,
        failure: &Failure,
        comes_last: bool,
        now: Timestamp,
    ) -> bool {
        let Some(known) = self.polled.get_mut(&id) else {
            return false;
        };
        self.attempts += 1;
        known.last_attempt = self.attempts;
        known.failures = (known.failures + u32::from(comes_last)).min(MOST_FAILURES);
        let is_own = |failure: &Failure| failure.scope == Scope::Request;
        let before = known.failure.as_ref();
        let own_before = before.filter(|before| is_own(before));
        if own_before.is_some() && !is_own(failure) {
            return false;
        }
        let is_new = is_own(failure) && own_before.is_none_or(|before| before.what != failure.what);
        known.failure = Some(Failure {
            since: before.map_or(now, |before| before.since),
            ..failure.clone()
        });
        is_new
    }

    /// Whether the bad entries of a repository's answer differ from last time, by their digest.
    pub fn bad_entries_changed(&mut self, id: RepositoryId, digest: u64) -> bool {
        self.polled
            .get_mut(&id)
            .is_some_and(|known| std::mem::replace(&mut known.bad_entries, digest) != digest)
    }

    /// When, after `now`, the next data become stale.
    pub fn next_expiry(&self, limit: Duration, now: Instant) -> Option<Instant> {
        // One past the limit: at the limit itself they are still shown.
        let limit = limit.saturating_add(Duration::from_millis(1));
        let expiries = self
            .polled
            .values()
            .filter_map(|known| known.read_at?.checked_add(limit));
        expiries.filter(|expiry| *expiry > now).min()
    }

    pub fn snapshot(
        &self,
        completion_scale: f64,
        targets: Arc<Targets>,
        limit: Duration,
        now: Moment,
    ) -> Snapshot {
        let mut repositories: Vec<_> = self
            .polled
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
            completion_scale,
            targets,
        }
    }
}

impl Polled {
    fn new(repository: Arc<Repository>) -> Self {
        Self {
            repository,
            languages: None,
            read_at: None,
            are_restored: false,
            failure: None,
            last_attempt: 0,
            failures: 0,
            bad_entries: 0,
        }
    }

    /// How many languages it has.
    fn languages(&self) -> usize {
        let languages = self.languages.as_ref();
        languages.map_or(0, |languages| languages.readings.len())
    }

    fn show(&self, limit: Duration, now: Moment) -> Shown {
        // Nothing is shown in the future.
        let shown = |failure: &Failure| Failure {
            since: failure.since.min(now.wall),
            ..failure.clone()
        };
        let failure = self.failure.as_ref().map(shown);
        let mut languages = self.languages.clone();
        if let Some(languages) = &mut languages {
            clocks::cut_to(languages, now.wall);
        }
        let condition = match (languages, failure) {
            (None, failure) => Condition::Pending(failure),
            (Some(languages), failure) if self.age(&languages, now) > limit => Condition::Stale {
                read_at: languages.read_at,
                failure,
            },
            (Some(languages), Some(failure)) => Condition::Failing(languages, failure),
            (Some(languages), None) if self.are_restored => Condition::Restored(languages),
            (Some(languages), None) => Condition::Fresh(languages),
        };
        Shown::new(Arc::clone(&self.repository), condition)
    }

    fn age(&self, languages: &Languages, now: Moment) -> Duration {
        match self.read_at {
            Some(read_at) => now.monotonic - read_at,
            None => now.wall.since(languages.read_at),
        }
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
