//! The ledger: the listed repositories, the records of their languages, and the records of
//! departed languages.
//!
//! The ledger does no I/O. The poll passes listings and languages to it, and publishes what it
//! knows as a [`Document`]. A repository is dropped only when complete listings lack it (two in a
//! row if more than half are missing), when the filters leave it out, or when a repository with a
//! higher id has its name.

mod listing;

use super::log::PollLog;
use crate::{
    api::RequestFailure,
    domain::{
        Completion, Defect, Defects, LanguageList, RepositoryId, Settings, State,
        document::{Document, Judge, Row, Selection, Totals, row_of},
        filter::LeftOut,
        polling::PollStatus,
        record::{Languages, SavedRepository},
    },
    state::SavedState,
    support::clock::Timestamp,
};
use globset::GlobSet;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};
use tokio::time::Instant;

/// The maximum number of repositories in a listing, and in the ledger.
pub const MOST_REPOSITORIES: usize = 200_000;

/// The maximum number of translations in the ledger, departed ones included.
pub const MOST_TRANSLATIONS: usize = 1_000_000;

/// A repository that is polled.
#[derive(Debug)]
struct Polled {
    /// The part that the state file keeps.
    kept: SavedRepository,
    /// The time at which this process read the languages.
    read_at: Option<Instant>,
    /// The failure of the last read of this process, if it failed.
    failure: Option<RequestFailure>,
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
    /// The listed repositories that are not polled.
    filtered: BTreeMap<RepositoryId, LeftOut>,
    /// The repositories that the last complete listing lacked, if they are more than half: the
    /// next listing must confirm them.
    missed: BTreeSet<RepositoryId>,
    /// The defects of the last complete listing.
    defects: Defects,
    /// The repositories that left. One that comes back continues its records.
    gone: BTreeMap<RepositoryId, SavedRepository>,
    /// The number of records, counted at each listing and with each read.
    translations: usize,
    /// The number of the last attempt to read a repository.
    attempts: u64,
    /// The start of the last poll of this process that has ended.
    last_poll_began: Option<Instant>,
    /// A completion was 0 before the last read of its repository.
    has_zeros: bool,
}

impl Ledger {
    /// Restores the ledger from the content of the state file.
    pub fn restore(saved: SavedState) -> Self {
        let mut ledger = Self {
            missed: saved.missed,
            gone: saved.gone,
            ..Self::default()
        };
        for kept in saved.repositories {
            ledger.attempts = ledger.attempts.max(kept.last_attempt);
            ledger.polled.insert(kept.repository.id, Polled::new(kept));
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
            ..SavedState::default()
        }
    }

    /// Returns the repositories, also those that left.
    fn kept(&self) -> impl Iterator<Item = &SavedRepository> {
        let polled = self.polled.values().map(|known| &known.kept);
        polled.chain(self.gone.values())
    }

    /// Notes that the poll which began at `began` has ended.
    pub fn poll_ended(&mut self, began: Instant) {
        self.last_poll_began = Some(began);
    }

    /// Returns the repositories to read, the oldest attempt first. `only` selects them by name,
    /// and an empty set selects all.
    pub fn order(&self, only: &GlobSet) -> Vec<&SavedRepository> {
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

    /// Returns whether a completion was read or restored.
    pub fn has_completions(&self) -> bool {
        let mut records = self.polled.values().flat_map(|known| known.kept.records());
        records.any(|record| record.reported.is_some())
    }

    /// Returns whether there is room for this number of languages of a repository.
    pub fn has_room(&self, id: RepositoryId, languages: usize) -> bool {
        let known = self.polled.get(&id).map(|known| known.kept.records().len());
        self.translations + languages <= MOST_TRANSLATIONS + known.unwrap_or_default()
    }

    /// Records the languages read from a repository.
    pub fn succeeded(
        &mut self,
        id: RepositoryId,
        list: LanguageList,
        settings: &Settings,
        now: Timestamp,
        log: &mut PollLog,
    ) {
        let Some(known) = self.polled.get_mut(&id) else {
            return;
        };
        let LanguageList {
            languages,
            absent,
            bad,
        } = list;
        let repo = &known.kept.repository.name;
        log.defects(repo, &known.defects, &bad);
        let codes = [Defect::NotAnObject, Defect::Code];
        let has_hidden = codes.iter().any(|defect| bad.0.contains_key(defect));
        (known.kept.failing_since, known.failure) = (None, None);
        known.defects = bad;
        known.absent_completions = absent;
        let before = known.kept.languages.take();
        let before = before.or_else(|| self.gone.remove(&id)?.languages);
        let before = before.map_or_else(Arc::default, |before| Arc::clone(&before.records));
        let targets = settings.targets.of_repository(repo);
        let scale = settings.scale;
        let response = (languages, has_hidden);
        let languages = Languages::after(Arc::clone(&before), response, scale, &targets, now);
        log.lost(repo, &before, &languages.records);
        let mut earlier = before.iter().filter_map(|record| record.reported);
        self.has_zeros |= earlier.any(|one| one == Completion::ZERO);
        self.translations += languages.records.len();
        self.translations -= before.len();
        known.kept.languages = Some(languages);
        known.read_at = Some(Instant::now());
    }

    /// Records that a poll could not read a repository, so that the next poll requests it last.
    pub fn failed(&mut self, id: RepositoryId, failure: RequestFailure, now: Timestamp) {
        if let Some(known) = self.polled.get_mut(&id) {
            known.kept.failing_since.get_or_insert(now);
            known.failure = Some(failure);
        }
    }

    /// Returns the knowledge at `now`, judged. `previous` is the document before.
    pub fn judge(
        &self,
        settings: &Arc<Settings>,
        status: PollStatus,
        now: Timestamp,
        previous: Option<&Document>,
    ) -> Document {
        let languages = self.polled.values().flat_map(|known| &known.kept.languages);
        let records = languages.clone().flat_map(Languages::listed);
        let codes = records.clone().map(|record| &record.language.code);
        let excluded = codes.filter(|code| settings.filter.excludes_language(code));
        let excluded = excluded.cloned().collect();
        let completions = records.filter_map(|record| record.reported);
        let has_zeros = self.has_zeros || completions.clone().any(|one| one == Completion::ZERO);
        let mut judge = Judge::new(settings, now, completions, previous);
        // While a poll meets another scale, most records still have the one before.
        judge.is_scale_suspect |= status.running.as_ref().is_some_and(|running| {
            let read = languages.filter(|languages| languages.read_at >= running.since);
            let records = read.flat_map(Languages::listed);
            let mut histories = records.clone().filter_map(|record| record.history.as_ref());
            settings
                .scale
                .is_suspect(records.filter_map(|record| record.reported))
                && histories.any(|history| history.fall(now).is_some())
        });
        let polled = self.polled.values();
        let mut rows: Vec<_> = polled
            .map(|known| self.row(known, &judge, settings.stale_after, now))
            .collect();
        rows.sort_unstable_by(|a, b| a.name().cmp(b.name()));
        let absent = self.polled.values().map(|known| known.absent_completions);
        let departed = self.kept().flat_map(|kept| judge.departed(kept));
        // A repository that was created again, under a new id, has its languages again.
        let departed = departed.filter(|one| {
            let row = row_of(&rows, &one.repository);
            let language = row.and_then(|row| row.language(&one.language));
            language.is_none_or(|one| one.is_missing)
        });
        let departed = departed.collect();
        Document {
            taken_at: now,
            filtered: self.filtered.values().cloned().collect(),
            unconfirmed: self.missed.len(),
            defects: self.defects.clone(),
            omitted_zeros: if has_zeros { 0 } else { absent.sum() },
            departed,
            excluded,
            totals: Totals::of_rows(&rows),
            rows,
            selection: Selection::default(),
            as_of: None,
            is_scale_suspect: judge.is_scale_suspect,
            settings: Arc::clone(settings),
            status,
        }
    }

    fn row(&self, known: &Polled, judge: &Judge<'_>, stale_after: Duration, now: Timestamp) -> Row {
        let languages = known.kept.languages.as_ref();
        let has_failed = known.kept.failing_since.is_some();
        let state = match (languages, known.read_at) {
            // A poll may take longer than data become stale.
            (_, Some(at)) if Some(at) >= self.last_poll_began && !has_failed => State::Fresh,
            (None, _) => State::Pending,
            (Some(languages), _) if now.since(languages.read_at) > stale_after => State::Stale,
            (Some(_), None) if !has_failed => State::Pending,
            (Some(_), _) => State::Failing,
        };
        let failure = known.failure.as_ref();
        Row {
            failure: failure.map(RequestFailure::told),
            reason: failure.map(|failure| failure.reason),
            failing_since: known.kept.failing_since,
            defects: known.defects.clone(),
            ..judge.row(&known.kept.repository, state, languages)
        }
    }
}

impl Polled {
    fn new(kept: SavedRepository) -> Self {
        Self {
            kept,
            read_at: None,
            failure: None,
            defects: Defects::default(),
            absent_completions: 0,
        }
    }
}
