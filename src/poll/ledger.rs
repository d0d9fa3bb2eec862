//! What the poller remembers: who is listed, what was last read of them, and the clocks of those who left.
//!
//! Nothing here waits or asks: answers come in, snapshots go out. A repository leaves when a complete listing lacks it
//! or the filters leave it out, and for no other reason.

use crate::{
    api::wire::{LanguageList, Page, Target},
    config::FilterConfig,
    model::{Failure, Repository, RepositoryId, Timestamp},
    progress::{Progress, advance},
    select::{Selection, select},
    snapshot::{Condition, Languages, Reading, Reported, Shown, Snapshot},
    state::{Memory, Remembered},
};
use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    sync::Arc,
    time::Duration,
};

/// How long the clocks of what left are kept.
const DEPARTED_FOR: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// A repository that is polled.
#[derive(Debug)]
struct Known {
    repository: Arc<Repository>,
    languages: Option<Arc<Languages>>,
    failure: Option<Failure>,
    /// Larger is later; 0 is never.
    last_attempt: u64,
    /// Digest of the flaws of the last answer, so that they are logged once per change.
    flaws: u64,
}

/// All that is remembered.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    /// What the listing shows, the filters notwithstanding.
    listed: BTreeMap<RepositoryId, Arc<Repository>>,
    /// Those of them that are polled.
    known: BTreeMap<RepositoryId, Known>,
    departed: BTreeMap<(RepositoryId, Arc<str>), (Progress, Timestamp)>,
    /// Lacking in the last complete listing, in such numbers that the next has to confirm it.
    missed: BTreeSet<RepositoryId>,
    attempts: u64,
}

/// A listing while it is read.
#[derive(Debug)]
pub(super) struct Listing {
    /// How many repositories were known when it began.
    known_before: usize,
    seen: BTreeMap<RepositoryId, Arc<Repository>>,
    nameless: HashSet<RepositoryId>,
    unidentified: HashSet<Arc<str>>,
}

impl Listing {
    pub fn add(&mut self, page: Page) {
        for repository in page.repositories {
            self.seen.insert(repository.id, Arc::new(repository));
        }
        self.nameless.extend(page.nameless);
        self.unidentified.extend(page.unidentified);
    }

    /// Whether the listing shows this repository, be it by an entry of which only the id or the name can be read.
    fn shows(&self, repository: &Repository) -> bool {
        self.seen.contains_key(&repository.id)
            || self.nameless.contains(&repository.id)
            || self.unidentified.contains(&repository.name)
    }
}

/// What is new about a repository since its last read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum News {
    None,
    /// It failed before, and does no more; or it fails, and did not, or otherwise.
    Changed,
}

impl Ledger {
    pub fn restore(memory: Memory) -> Self {
        let mut ledger = Self { departed: memory.departed, ..Self::default() };
        // Polls read the oldest attempt first: that order is restored from the reads.
        let mut order = memory.repositories;
        order.sort_by_key(|remembered| remembered.languages.as_ref().map(|languages| languages.read_at));
        for Remembered { repository, languages } in order {
            ledger.attempts += 1;
            let last_attempt = if languages.is_some() { ledger.attempts } else { 0 };
            ledger.listed.insert(repository.id, Arc::clone(&repository));
            let known = Known { repository, languages, failure: None, last_attempt, flaws: 0 };
            ledger.known.insert(known.repository.id, known);
        }
        ledger
    }

    pub fn memory(&self, last_full_poll: Option<Duration>) -> Memory {
        let remember = |known: &Known| Remembered {
            repository: Arc::clone(&known.repository),
            languages: known.languages.clone(),
        };
        let repositories = self.known.values().map(remember).collect();
        Memory { last_full_poll, repositories, departed: self.departed.clone() }
    }

    /// A listing begins to be read.
    pub fn begin_listing(&self) -> Listing {
        Listing {
            known_before: self.listed.len(),
            seen: BTreeMap::new(),
            nameless: HashSet::new(),
            unidentified: HashSet::new(),
        }
    }

    /// Takes in what is new of a listing that is still being read: nothing that is known changes yet. So who bears a
    /// known name has to wait for the whole listing, which may show that the other has a new one.
    pub fn preview(&mut self, listing: &Listing, filter: &FilterConfig, now: Timestamp) {
        let names: HashSet<_> = self.listed.values().map(|repository| Arc::clone(&repository.name)).collect();
        let before = self.listed.len();
        for (id, repository) in &listing.seen {
            if !names.contains(&repository.name) {
                self.listed.entry(*id).or_insert_with(|| Arc::clone(repository));
            }
        }
        if self.listed.len() > before {
            self.reselect(filter, now);
        }
    }

    /// Takes in a listing, and returns those that are eclipsed by another of their name.
    pub fn list(
        &mut self,
        listing: &Listing,
        complete: bool,
        filter: &FilterConfig,
        now: Timestamp,
    ) -> Vec<Arc<Repository>> {
        if complete {
            self.remove_missing(listing, now);
        }
        for (id, repository) in &listing.seen {
            if self.listed.get(id) != Some(repository) {
                self.listed.insert(*id, Arc::clone(repository));
            }
        }
        self.departed.retain(|_, (_, left_at)| now.since(*left_at) < DEPARTED_FOR);
        self.reselect(filter, now)
    }

    fn remove_missing(&mut self, listing: &Listing, now: Timestamp) {
        let before = listing.known_before;
        let missing: BTreeSet<_> = self
            .listed
            .values()
            .filter(|repository| !listing.shows(repository))
            .map(|repository| repository.id)
            .collect();
        let gone: BTreeSet<_> = if missing.len() * 2 > before {
            missing.intersection(&self.missed).copied().collect()
        } else {
            missing.clone()
        };
        let unconfirmed = missing.len() - gone.len();
        if unconfirmed > 0 {
            tracing::warn!(
                missing = unconfirmed,
                known = before,
                "the listing lacks more than half of the repositories; keeping them until the next listing confirms it"
            );
        }
        for id in &gone {
            self.listed.remove(id);
            if let Some(known) = self.known.remove(id) {
                self.depart(&known, now);
            }
        }
        self.missed = missing.difference(&gone).copied().collect();
    }

    /// Applies the filters to all that is listed, and returns those that are eclipsed by another of their name.
    pub fn reselect(&mut self, filter: &FilterConfig, now: Timestamp) -> Vec<Arc<Repository>> {
        let Selection { polled, eclipsed } = select(&self.listed, filter);
        let left: Vec<_> = self.known.keys().filter(|id| !polled.contains_key(id)).copied().collect();
        for known in left.into_iter().filter_map(|id| self.known.remove(&id)).collect::<Vec<_>>() {
            self.depart(&known, now);
        }
        for (id, repository) in polled {
            self.known
                .entry(id)
                .and_modify(|known| known.repository = Arc::clone(&repository))
                .or_insert_with(|| Known { repository, languages: None, failure: None, last_attempt: 0, flaws: 0 });
        }
        eclipsed
    }

    /// Keeps the clocks of a repository that leaves.
    fn depart(&mut self, known: &Known, now: Timestamp) {
        for reading in known.languages.iter().flat_map(|languages| &*languages.readings) {
            if let Some(progress) = reading.progress() {
                self.departed.insert((known.repository.id, Arc::clone(&reading.language.code)), (progress, now));
            }
        }
    }

    /// Who is to be read, the oldest attempt first.
    pub fn queue(&self) -> Vec<RepositoryId> {
        let mut queue: Vec<_> = self.known.iter().map(|(id, known)| (known.last_attempt, *id)).collect();
        queue.sort_unstable();
        queue.into_iter().map(|(_, id)| id).collect()
    }

    pub fn name(&self, id: RepositoryId) -> Option<&str> {
        self.known.get(&id).map(|known| &*known.repository.name)
    }

    /// The languages of a repository were read.
    pub fn succeeded(&mut self, id: RepositoryId, list: LanguageList, scale: f64, now: Timestamp) -> News {
        let Some(known) = self.known.get_mut(&id) else { return News::None };
        self.attempts += 1;
        known.last_attempt = self.attempts;
        let before = known.languages.take();
        let previous: &[Reading] = before.as_ref().map_or(&[], |languages| &languages.readings);
        let mut readings = Vec::with_capacity(list.languages.len());
        for Target { language, completion } in list.languages {
            let progress = match find(previous, &language.code) {
                Some(reading) => reading.progress(),
                // Hardly ever is anything left to ask.
                None if self.departed.is_empty() => None,
                None => self.departed.remove(&(id, Arc::clone(&language.code))).map(|(progress, _)| progress),
            };
            let reported = match (completion, progress) {
                (Some(completion), progress) => Reported::Now(advance(progress, completion, scale, now)),
                (None, Some(progress)) => Reported::Before(progress),
                (None, None) => Reported::Never,
            };
            readings.push(Reading { language, reported });
        }
        for reading in previous {
            if let (Some(progress), None) = (reading.progress(), find(&readings, &reading.language.code)) {
                self.departed.insert((id, Arc::clone(&reading.language.code)), (progress, now));
            }
        }
        let readings = match before {
            Some(before) if *before.readings == *readings => Arc::clone(&before.readings),
            _ => readings.into(),
        };
        known.languages = Some(Arc::new(Languages { read_at: now, readings }));
        if known.failure.take().is_some() { News::Changed } else { News::None }
    }

    /// The languages of a repository could not be read.
    pub fn failed(&mut self, id: RepositoryId, what: &str, hint: &str, now: Timestamp) -> News {
        let Some(known) = self.known.get_mut(&id) else { return News::None };
        self.attempts += 1;
        known.last_attempt = self.attempts;
        let (news, since) = match &known.failure {
            Some(failure) if *failure.what == *what => return News::None,
            Some(failure) => (News::Changed, failure.since),
            None => (News::Changed, now),
        };
        known.failure = Some(Failure { since, what: what.into(), hint: hint.into() });
        news
    }

    /// Whether the flaws of a repository's answer are others than last time, as told by their digest.
    pub fn flaws_changed(&mut self, id: RepositoryId, digest: u64) -> bool {
        self.known.get_mut(&id).is_some_and(|known| std::mem::replace(&mut known.flaws, digest) != digest)
    }

    /// When, after `now`, the next of the known grows too old to be told.
    pub fn next_expiry(&self, limit: Duration, now: Timestamp) -> Option<Timestamp> {
        let expiries = self.known.values().filter_map(|known| known.languages.as_ref()).map(|languages| {
            // One past the limit: at the limit itself the data are still told.
            languages.read_at.saturating_add(limit).saturating_add(Duration::from_millis(1))
        });
        expiries.filter(|expiry| *expiry > now).min()
    }

    pub fn snapshot(&self, scale: f64, limit: Duration, now: Timestamp) -> Snapshot {
        let mut repositories: Vec<_> = self.known.values().map(|known| known.show(limit, now)).collect();
        repositories.sort_unstable_by(|a, b| a.repository.name.cmp(&b.repository.name));
        Snapshot {
            taken_at: now,
            repositories,
            filtered: self.listed.len() - self.known.len(),
            completion_scale: scale,
        }
    }
}

impl Known {
    fn show(&self, limit: Duration, now: Timestamp) -> Shown {
        let condition = match (&self.languages, &self.failure) {
            (None, failure) => Condition::Pending(failure.clone()),
            (Some(languages), failure) if now.since(languages.read_at) > limit => {
                Condition::Stale { read_at: languages.read_at, failure: failure.clone() }
            }
            (Some(languages), None) => Condition::Fresh(Arc::clone(languages)),
            (Some(languages), Some(failure)) => Condition::Failing(Arc::clone(languages), failure.clone()),
        };
        Shown::new(Arc::clone(&self.repository), condition)
    }
}

/// The reading of a code among readings in the order of their codes.
fn find<'r>(readings: &'r [Reading], code: &str) -> Option<&'r Reading> {
    let index = readings.binary_search_by(|reading| (*reading.language.code).cmp(code)).ok()?;
    readings.get(index)
}
