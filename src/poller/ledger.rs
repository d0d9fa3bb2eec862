//! The ledger: the listed repositories, the records of their languages, and the records of departed
//! languages.
//!
//! The ledger does no I/O. The poll passes listings and languages to it, and publishes what it knows
//! as a [`Document`].
//! A repository is dropped only when complete listings lack it (two in a row if more than half are
//! missing), when the filters leave it out, or when a repository with a higher id has its name.

mod listing;

use super::log::PollLog;
use crate::{
    domain::{
        Completion, Defects, Failure, LanguageList, ReportedLanguage, Repository, RepositoryId,
        Scale, Settings, State, ZeroCount,
        document::{Departed, Document, Judge, Row},
        polling::PollStatus,
        record::{Languages, Record, SavedRepository},
    },
    state::SavedState,
    support::clock::{DAY, Timestamp},
};
use globset::GlobSet;
use std::{
    collections::{BTreeMap, BTreeSet},
    mem::take,
    sync::Arc,
    time::Duration,
};
use tokio::time::Instant;

/// The maximum number of translations in the ledger, departed ones included.
pub const MOST_LANGUAGES: usize = 1_000_000;

/// A repository that is polled.
#[derive(Debug)]
struct Polled {
    /// The part that the state file keeps.
    kept: SavedRepository,
    /// The time at which this process read the languages.
    read_at: Option<Instant>,
    /// The failure of the last read, if it failed.
    failure: Option<Failure>,
    /// The defects of the last response.
    defects: Defects,
    /// The number of languages in the last response that had no field for their completion.
    absent_completions: usize,
}

/// Everything that the poller knows of the account.
#[derive(Debug, Default)]
pub struct Ledger {
    /// The listed repositories that pass the filters, without the lower id of two with one name.
    polled: BTreeMap<RepositoryId, Polled>,
    /// The number of listed repositories that are not polled.
    filtered: usize,
    /// The repositories that the last complete listing lacked, if they are more than half: the next
    /// listing must confirm them.
    missed: BTreeSet<RepositoryId>,
    /// The number of ids without a readable name in the last complete listing.
    unnamed: usize,
    /// The defects of the last complete listing.
    defects: Defects,
    /// The records of repositories that left. A repository that comes back continues them.
    gone: BTreeMap<RepositoryId, Arc<[Record]>>,
    /// The names of those that the listing lacked; the filters leave out the others.
    unlisted: BTreeMap<RepositoryId, Arc<str>>,
    /// The number of completions of 0 that were read or restored.
    zero_completions: usize,
    /// An upper bound of the records, departed ones included: exact when a poll begins to read
    /// languages.
    languages: usize,
    /// The number of the last attempt to read a repository.
    attempts: u64,
    /// The start of the last poll of this process that has ended.
    last_poll: Option<Instant>,
    /// A listing was complete, or repositories were restored.
    has_data: bool,
}

impl Ledger {
    /// Restores the ledger from the content of the state file.
    pub fn restore(saved: SavedState) -> Self {
        let mut ledger = Self {
            // `once` saves a state even where it could list nothing.
            has_data: !saved.repositories.is_empty(),
            missed: saved.missed,
            gone: saved.gone,
            unlisted: saved.unlisted,
            ..Self::default()
        };
        for kept in saved.repositories {
            let repository = Arc::clone(&kept.repository);
            let languages = kept.languages.iter();
            let records = languages.flat_map(|languages| &*languages.records);
            let completions = records.filter_map(Record::completion);
            ledger.zero_completions += completions.filter(|it| *it == Completion::ZERO).count();
            ledger.attempts = ledger.attempts.max(kept.last_attempt);
            let failure = kept.failing_since.map(|since| {
                let what = "its last read before the restart failed";
                let hint = "nothing to do: it is read again soon";
                Failure::new(what, hint, since)
            });
            let polled = Polled {
                kept,
                failure,
                ..Polled::new(Arc::clone(&repository))
            };
            ledger.polled.insert(repository.id, polled);
        }
        ledger
    }

    /// Returns the part of the ledger that survives a restart.
    pub fn to_save(&self) -> SavedState {
        let polled = self.polled.values();
        SavedState {
            repositories: polled.map(|known| known.kept.clone()).collect(),
            missed: self.missed.clone(),
            gone: self.gone.clone(),
            unlisted: self.unlisted.clone(),
            ..SavedState::default()
        }
    }

    /// Returns whether a listing was complete, or repositories were restored.
    pub fn has_data(&self) -> bool {
        self.has_data
    }

    /// Returns whether languages of any repository were read or restored.
    pub fn has_languages(&self) -> bool {
        let mut polled = self.polled.values();
        polled.any(|known| known.kept.languages.is_some())
    }

    /// Notes that the poll which began at `began` has ended.
    pub fn poll_ended(&mut self, began: Instant) {
        self.last_poll = Some(began);
    }

    /// Returns the repositories to read, the oldest attempt first. `only` selects them by name, and
    /// an empty set selects all.
    pub fn order(&mut self, only: &GlobSet) -> Vec<&SavedRepository> {
        self.languages = self.count_languages();
        let polled = self.polled.values().map(|known| &known.kept);
        let mut chosen: Vec<_> = polled
            .filter(|kept| only.is_empty() || only.is_match(&*kept.repository.name))
            .collect();
        chosen.sort_by_key(|kept| kept.last_attempt);
        chosen
    }

    /// Notes that a request for a repository ended. A request that a stop of the process cuts off
    /// does not count, so that the next process begins with it.
    pub fn attempted(&mut self, id: RepositoryId) {
        self.attempts += 1;
        if let Some(known) = self.polled.get_mut(&id) {
            known.kept.last_attempt = self.attempts;
        }
    }

    /// Returns whether the ledger has room for the languages of a repository. A language with a
    /// record needs no more room, so that a full ledger is still updated.
    pub fn has_room(&self, id: RepositoryId, languages: &[ReportedLanguage]) -> bool {
        let known = self.polled.get(&id).into_iter().flat_map(Polled::records);
        let known: BTreeSet<_> = known.map(|record| &record.language.code).collect();
        let languages = languages.iter();
        let new = languages.filter(|one| !known.contains(&one.language.code));
        self.languages + new.count() <= MOST_LANGUAGES
    }

    fn count_languages(&self) -> usize {
        let polled = self.polled.values().map(|known| known.records().count());
        let gone = self.gone.values().map(|records| records.len());
        polled.chain(gone).sum()
    }

    /// Records the languages read from a repository. Logs the end of its failure.
    pub fn succeeded(
        &mut self,
        id: RepositoryId,
        list: LanguageList,
        scale: Scale,
        now: Timestamp,
        log: &mut PollLog,
    ) {
        let Some(known) = self.polled.get_mut(&id) else {
            return;
        };
        let LanguageList {
            languages,
            zeros,
            bad,
        } = list;
        let repo = &known.kept.repository.name;
        log.defects(repo, &known.defects, &bad);
        if known.failure.take().is_some() {
            log.recovered(repo);
        }
        known.defects = bad;
        known.absent_completions = zeros.absent;
        self.zero_completions = self.zero_completions.saturating_add(zeros.spelled_out);
        let before = known.kept.languages.take();
        let before = before.map(|before| Arc::clone(&before.records));
        let departed = take(&mut known.kept.departed);
        let departed = self.gone.remove(&id).unwrap_or(departed);
        self.unlisted.remove(&id);
        let before = before.unwrap_or_default();
        let held = before.len() + departed.len();
        let (languages, departed) = Languages::after(before, departed, languages, scale, now);
        self.languages = self.languages + languages.records.len() + departed.len() - held;
        known.kept.languages = Some(Arc::new(languages));
        known.kept.departed = departed;
        known.read_at = Some(Instant::now());
        known.kept.failing_since = None;
    }

    /// Records that a poll could not read a repository, so that the next poll requests it last.
    /// Logs a failure when it begins, unless it belongs to an outage.
    pub fn failed(
        &mut self,
        id: RepositoryId,
        failure: Failure,
        is_outage: bool,
        log: &mut PollLog,
    ) {
        let Some(known) = self.polled.get_mut(&id) else {
            return;
        };
        let before = known.failure.as_ref();
        if !is_outage && before.and_then(|before| before.reason) != failure.reason {
            log.failing(&known.kept.repository.name, &failure);
        }
        let failure = failure.continuing(before);
        known.kept.failing_since = Some(failure.since);
        known.failure = Some(failure);
    }

    /// Returns what is known at `now`, judged. `previous` is the document before.
    pub fn judge(
        &self,
        settings: &Arc<Settings>,
        status: PollStatus,
        now: Timestamp,
        previous: Option<&Document>,
    ) -> Document {
        let languages = self.polled.values().flat_map(|known| &known.kept.languages);
        let records = languages.flat_map(|languages| &*languages.records);
        let completions = records.filter_map(Record::completion);
        let judge = Judge::new(settings, now, completions, previous);
        let polled = self.polled.values();
        let mut rows: Vec<_> = polled
            .map(|known| self.row(known, &judge, settings.stale_after, now))
            .collect();
        rows.sort_unstable_by(|a, b| a.name().cmp(b.name()));
        let absent = self.polled.values().map(|known| known.absent_completions);
        Document {
            taken_at: now,
            rows,
            filtered: self.filtered,
            unnamed: self.unnamed,
            unconfirmed: self.missed.len(),
            defects: self.defects.clone(),
            zeros: ZeroCount {
                absent: absent.sum(),
                spelled_out: self.zero_completions,
            },
            departed: self.departed(&judge, settings, now),
            is_scale_suspect: judge.is_scale_suspect,
            settings: Arc::clone(settings),
            status,
        }
    }

    fn row(&self, known: &Polled, judge: &Judge<'_>, stale_after: Duration, now: Timestamp) -> Row {
        let failure = known.failure.clone();
        let languages = known.kept.languages.as_deref();
        // A poll may take longer than data become stale.
        let is_of_last_poll = known.read_at.is_some_and(|at| Some(at) >= self.last_poll);
        let state = match (known.age(now), &failure) {
            (None, _) => State::Pending,
            (Some(age), _) if age > stale_after && !is_of_last_poll => State::Stale,
            (Some(_), Some(_)) => State::Failing,
            (Some(_), None) if known.read_at.is_none() => State::Pending,
            (Some(_), None) => State::Fresh,
        };
        let is_current = is_of_last_poll && failure.is_none();
        let repository = &known.kept.repository;
        let trouble = (failure, known.defects.clone());
        judge.row(repository, state, languages, is_current, trouble)
    }

    /// Returns the translations that left within a day, with their repositories or alone. A
    /// repository that returned and was not read yet lacks all of them.
    fn departed(&self, judge: &Judge<'_>, settings: &Settings, now: Timestamp) -> Vec<Departed> {
        let excluded = &settings.excluded_languages;
        let is_recent = |record: &&Record| {
            let left_within_a_day = record.left_at.is_some_and(|at| now.since(at) < DAY);
            left_within_a_day && !excluded.is_match(&*record.language.code)
        };
        let alone = self.polled.values().flat_map(|known| {
            let departed = known.kept.departed.iter().filter(is_recent);
            departed.map(|record| judge.departed(&known.kept.repository.name, record, false))
        });
        let unlisted = self.unlisted.iter();
        let unlisted = unlisted.filter(|(id, _)| !self.polled.contains_key(id));
        let with_repository = unlisted.flat_map(|(id, name)| {
            let records = self.gone.get(id).into_iter().flat_map(|records| &**records);
            let departed = records.filter(is_recent);
            departed.map(|record| judge.departed(name, record, true))
        });
        alone.chain(with_repository).collect()
    }
}

impl Polled {
    fn new(repository: Arc<Repository>) -> Self {
        Self {
            kept: SavedRepository {
                repository,
                last_attempt: 0,
                failing_since: None,
                languages: None,
                departed: Arc::default(),
            },
            read_at: None,
            failure: None,
            defects: Defects::default(),
            absent_completions: 0,
        }
    }

    fn age(&self, now: Timestamp) -> Option<Duration> {
        let languages = self.kept.languages.as_ref()?;
        Some(now.since(languages.read_at))
    }

    /// Returns all records, also those of departed languages.
    fn records(&self) -> impl Iterator<Item = &Record> {
        let languages = self.kept.languages.iter();
        let records = languages.flat_map(|languages| &*languages.records);
        records.chain(&*self.kept.departed)
    }
}
