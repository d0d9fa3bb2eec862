//! What the poller remembers: what is listed, what was last read of it, and the progress clocks of what left.
//!
//! Nothing here waits or sends requests: answers come in, snapshots go out. A repository leaves when a complete listing
//! lacks it or the filters leave it out, and for no other reason.

mod clocks;
mod listing;

pub(super) use listing::{Changes, Listing};

use super::queue::Queue;
use crate::{
    clock::{Moment, RecordedTime},
    model::{Failure, LanguageList, Repository, RepositoryId, Scope, TargetLanguage, Timestamp},
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

/// Failures in a row are counted up to this: what fails like this long enough takes turns, so that each is tried again.
const MOST_FAILURES: u32 = 10;

/// How many languages all repositories may have in all: two million series, or four with targets.
pub(super) const MOST_LANGUAGES: usize = 1_000_000;

/// A repository that is polled.
#[derive(Debug)]
struct Known {
    repository: Arc<Repository>,
    languages: Option<Arc<Languages>>,
    /// When they were read, so that their age does not depend on jumps of the wall clock.
    read_at: Option<Instant>,
    last_read: LastRead,
    /// Larger is later; 0 is never.
    last_attempt: u64,
    /// How many reads in a row failed, up to [`MOST_FAILURES`]; those in an outage of the API do not count.
    failures: u32,
    /// Digest of the bad entries of the last answer, so that they are logged once per change.
    bad_entries: u64,
}

/// How the last read of a repository by this process ended.
#[derive(Debug)]
enum LastRead {
    NotYet,
    Succeeded,
    Failed(Failure),
}

impl LastRead {
    fn failure(&self) -> Option<&Failure> {
        match self {
            Self::Failed(failure) => Some(failure),
            Self::NotYet | Self::Succeeded => None,
        }
    }

    /// A failure of the repository's own, not of the API as a whole.
    fn own_failure(&self) -> Option<&Failure> {
        self.failure()
            .filter(|failure| failure.scope == Scope::Request)
    }
}

/// Everything that is remembered.
///
/// A repository is in `listed` from the first listing that shows it until a complete one lacks it. While it also passes the
/// filters, and no other of the same name has a higher id, it is in `known`.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    listed: BTreeMap<RepositoryId, Arc<Repository>>,
    known: BTreeMap<RepositoryId, Known>,
    /// The clocks of languages that are in `known` no longer, and when they left.
    departed: BTreeMap<(RepositoryId, Arc<str>), (Progress, Timestamp)>,
    /// Those in `listed` that the last complete listing lacked, so many that the next must confirm it.
    missed: BTreeSet<RepositoryId>,
    /// How many entries of the last complete listing have no name that can be read.
    unnamed: usize,
    /// How many languages the repositories in `known` have at the most: exact when a poll begins to read them.
    languages: usize,
    attempts: u64,
    /// Which time counts as now in all of this.
    time: RecordedTime,
    /// What was read no later was read by an earlier process.
    restored_at: Option<Instant>,
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
            let last_read = match failures {
                0 => LastRead::NotYet,
                _ => LastRead::Failed(Failure::new(
                    now,
                    "its last read before the restart failed",
                    "nothing to do: it is read again soon",
                )),
            };
            let known = Known {
                languages,
                last_read,
                last_attempt,
                failures,
                ..Known::new(repository)
            };
            ledger.known.insert(known.repository.id, known);
        }
        if let Some(wall) = ledger.newest_time() {
            ledger.time = RecordedTime::after(wall);
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

    /// Whether the languages of any repository are known.
    pub fn has_languages(&self) -> bool {
        self.known.values().any(|known| known.languages.is_some())
    }

    /// What to read: the oldest attempt first, but after all others those that failed, the fewest failures in a row first.
    pub fn queue(&mut self) -> Queue {
        self.languages = self.known.values().map(Known::languages).sum();
        let mut order: Vec<_> = self
            .known
            .iter()
            .map(|(id, known)| (known.failures, known.last_attempt, *id))
            .collect();
        order.sort_unstable();
        let (first, failed_before): (Vec<_>, Vec<_>) =
            order.into_iter().partition(|(failures, ..)| *failures == 0);
        let ids = |order: Vec<(u32, u64, RepositoryId)>| order.into_iter().map(|(.., id)| id);
        Queue::new(ids(first).collect(), ids(failed_before).collect())
    }

    /// The name of a repository that is polled; empty for any other.
    pub fn name(&self, id: RepositoryId) -> &str {
        self.known
            .get(&id)
            .map_or("", |known| &*known.repository.name)
    }

    /// Whether a repository may have so many languages: what is kept of all is bounded.
    pub fn has_room(&self, id: RepositoryId, languages: usize) -> bool {
        let before = self.known.get(&id).map_or(0, Known::languages);
        self.languages - before + languages <= MOST_LANGUAGES
    }

    /// The languages of a repository were read. Returns whether that ends a failure of its own.
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
        self.languages = self.languages - known.languages() + list.languages.len();
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
        known.read_at = Some(now.monotonic);
        known.failures = 0;
        let before = std::mem::replace(&mut known.last_read, LastRead::Succeeded);
        before.own_failure().is_some()
    }

    /// The languages of a repository could not be read, so that the next poll asks for it after the others, if it
    /// `comes_last`. Returns whether to log that: not if the API failed as a whole, nor if it was logged before.
    pub fn failed(
        &mut self,
        id: RepositoryId,
        failure: Failure,
        comes_last: bool,
        now: Timestamp,
    ) -> bool {
        let Some(known) = self.attempted(id) else {
            return false;
        };
        let is_own = failure.scope == Scope::Request;
        known.failures = (known.failures + u32::from(comes_last)).min(MOST_FAILURES);
        let before = known.last_read.own_failure();
        if !is_own && before.is_some() {
            return false;
        }
        let is_new = is_own && before.is_none_or(|before| before.what != failure.what);
        let since = known.last_read.failure().map_or(now, |before| before.since);
        known.last_read = LastRead::Failed(Failure { since, ..failure });
        is_new
    }

    fn attempted(&mut self, id: RepositoryId) -> Option<&mut Known> {
        let known = self.known.get_mut(&id)?;
        self.attempts += 1;
        known.last_attempt = self.attempts;
        Some(known)
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
            .filter_map(|known| known.read_at?.checked_add(limit));
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
            read_at: None,
            last_read: LastRead::NotYet,
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
        let failure = self.last_read.failure().map(shown);
        let mut languages = self.languages.clone();
        if let Some(languages) = &mut languages {
            clocks::cut_to(languages, now.wall);
        }
        let condition = match (languages, &self.last_read) {
            (None, _) => Condition::Pending(failure),
            (Some(languages), _) if self.age(&languages, now) > limit => Condition::Stale {
                read_at: languages.read_at,
                failure,
            },
            (Some(languages), LastRead::NotYet) => Condition::Restored(languages),
            (Some(languages), LastRead::Succeeded) => Condition::Fresh(languages),
            (Some(languages), LastRead::Failed(failure)) => {
                Condition::Failing(languages, shown(failure))
            }
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

/// The reading with this code, among readings in the order of their codes.
fn find<'r>(readings: &'r [Reading], code: &str) -> Option<&'r Reading> {
    let index = readings
        .binary_search_by(|reading| (*reading.language.code).cmp(code))
        .ok()?;
    readings.get(index)
}
