//! The ledger: the listed repositories, the records of their languages, and the records of
//! departed languages.
//!
//! The ledger does no I/O. The poll passes listings and languages to it, and the
//! [`Poller`](super::Poller) publishes what it knows, judged, as a [`Document`]. A repository is dropped only when complete listings lack it (two in a
//! row if more than half are missing), when the filters leave it out, or when a repository with a
//! higher id has its name.

mod listing;

use crate::{
    api::RequestFailure,
    domain::{
        Completion, Defects, Language, LanguageList, RepositoryId, Settings, State,
        document::{Document, Judge, Selection, Totals, row_of},
        filter::LeftOut,
        polling::PollStatus,
        record::{KeptRepository, Record, SavedState},
    },
    support::{clock::Timestamp, glob::Globs},
};
use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::Duration,
};

/// The maximum number of repositories in a listing, and in the ledger.
pub const MOST_REPOSITORIES: usize = 200_000;

/// The maximum number of translations in the ledger, departed ones included.
pub const MOST_TRANSLATIONS: usize = 1_000_000;

/// Everything that the poller knows of the account.
#[derive(Debug, Default)]
pub struct Ledger {
    /// The records of all languages by repository, and the rest that survives a restart. Its
    /// repositories are those that are polled: the listed ones that pass the filters, without the
    /// lower id of two with one name.
    pub saved: SavedState,
    /// The listed repositories that are not polled.
    filtered: BTreeMap<RepositoryId, LeftOut>,
    /// The defects of the last complete listing.
    defects: Defects,
    /// The languages of all records, each once in memory.
    languages: Languages,
    /// The number of records, counted at each listing and with each read.
    translations: usize,
    /// The number of polls of this process that have ended.
    pub polls: u64,
}

/// Languages by themselves: all repositories have the same few.
type Languages = HashMap<Arc<Language>, Arc<Language>>;

/// Lets a language share the memory of an equal one.
fn share(languages: &mut Languages, language: &mut Arc<Language>) {
    let same = languages.entry(Arc::clone(language));
    *language = Arc::clone(same.or_insert_with_key(Arc::clone));
}

impl Ledger {
    /// Returns the ledger of a process that begins with this state.
    pub fn new(saved: SavedState) -> Self {
        let mut ledger = Self {
            saved,
            ..Self::default()
        };
        for kept in ledger.saved.repositories.values_mut() {
            // Nobody else has the records yet.
            for record in Arc::get_mut(&mut kept.records).into_iter().flatten() {
                share(&mut ledger.languages, &mut record.language);
            }
        }
        ledger
    }

    /// Returns the repositories to read, the oldest attempt first. `only` selects them by name,
    /// and an empty set selects all.
    pub fn order(&self, only: &Globs<true>) -> Vec<&KeptRepository> {
        let polled = self.saved.repositories.values();
        let mut chosen: Vec<_> = polled
            .filter(|kept| only.chooses(&kept.repository.name))
            .collect();
        chosen.sort_by_key(|kept| kept.last_attempt);
        chosen
    }

    /// Notes that a request for a repository ended. A request that a stop of the process cuts off
    /// does not count, so that the next process begins with it.
    pub fn attempted(&mut self, id: RepositoryId) {
        self.saved.attempts += 1;
        if let Some(kept) = self.saved.repositories.get_mut(&id) {
            kept.last_attempt = self.saved.attempts;
        }
    }

    /// Returns whether a completion was read or restored.
    pub fn has_completions(&self) -> bool {
        let polled = self.saved.repositories.values();
        let mut records = polled.flat_map(|kept| &*kept.records);
        records.any(|record| record.reported.is_some())
    }

    /// Returns whether there is room for this number of languages of a repository.
    pub fn has_room(&self, id: RepositoryId, languages: usize) -> bool {
        let known = self.saved.repositories.get(&id);
        let known = known.map_or(0, |kept| kept.records.len());
        self.translations + languages <= MOST_TRANSLATIONS + known
    }

    /// Records the languages read from a repository. Returns its name if all its completions have
    /// fallen to 0: the service has lost them.
    pub fn succeeded(
        &mut self,
        id: RepositoryId,
        mut response: LanguageList,
        settings: &Settings,
        now: Timestamp,
    ) -> Option<Arc<str>> {
        for reported in &mut response.languages {
            share(&mut self.languages, &mut reported.language);
        }
        let kept = self.saved.repositories.get_mut(&id)?;
        let completion = |record: &Record| Some(record.history.as_ref()?.completion);
        let is_above_0 = |record: &Record| completion(record) > Some(Completion::ZERO);
        let had_some = kept.records.iter().any(is_above_0);
        self.translations -= kept.records.len();
        kept.observe(response, settings, now);
        self.translations += kept.records.len();
        kept.read_in = self.polls + 1;
        let mut reported = kept.listed().map(|record| record.reported);
        self.saved.has_zeros |= reported.any(|reported| reported == Some(Completion::ZERO));
        let is_lost = had_some && !kept.records.iter().any(is_above_0);
        is_lost.then(|| Arc::clone(&kept.repository.name))
    }

    /// Records that a poll could not read a repository, so that the next poll requests it last.
    pub fn failed(&mut self, id: RepositoryId, failure: &RequestFailure, now: Timestamp) {
        if let Some(kept) = self.saved.repositories.get_mut(&id) {
            kept.failing_since.get_or_insert(now);
            (kept.failure, kept.reason) = (Some(failure.told()), Some(failure.reason));
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
        let polled = self.saved.repositories.values();
        let records = polled.clone().flat_map(KeptRepository::listed);
        let codes = records.clone().map(|record| &record.language.code);
        let excluded = codes.filter(|code| settings.filter.excludes_language(code));
        let excluded = excluded.cloned().collect();
        let completions = records.filter_map(|record| record.reported);
        // While a poll meets another scale, most records still have the one before.
        let read = polled.clone().filter(|kept| kept.read_in > self.polls);
        let records = read.flat_map(KeptRepository::listed);
        let just_read = records.clone().filter_map(|record| record.reported);
        let mut histories = records.filter_map(|record| record.history.as_ref());
        let judge = Judge {
            settings,
            now,
            is_scale_suspect: settings.scale.is_suspect(completions)
                || settings.scale.is_suspect(just_read)
                    && histories.any(|history| history.fall(now).is_some()),
            previous,
        };
        let mut rows: Vec<_> = polled
            .clone()
            .map(|kept| judge.row(kept, self.state(kept, settings.stale_after, now)))
            .collect();
        rows.sort_unstable_by(|a, b| a.name().cmp(b.name()));
        let absent = polled.map(|kept| kept.absent_completions);
        let departed = self.saved.all().flat_map(|kept| judge.departed(kept));
        // A repository that was created again, under a new id, has its languages again.
        let departed = departed.filter(|left| {
            let row = row_of(&rows, &left.repository);
            let language = row.and_then(|row| row.translation(&left.language));
            language.is_none_or(|translation| translation.is_missing)
        });
        Document {
            taken_at: now,
            filtered: self.filtered.values().cloned().collect(),
            unconfirmed: self.saved.missed.len(),
            defects: self.defects.clone(),
            omitted_zeros: if self.saved.has_zeros {
                0
            } else {
                absent.sum()
            },
            departed: departed.collect(),
            excluded,
            totals: Totals::of_rows(&rows),
            selection: Selection::default(),
            as_of: None,
            is_scale_suspect: judge.is_scale_suspect,
            settings: Arc::clone(settings),
            rows,
            status: PollStatus {
                last_success_at: self.saved.last_success_at,
                has_data: status.has_data || self.has_completions(),
                ..status
            },
        }
    }

    fn state(&self, kept: &KeptRepository, stale_after: Duration, now: Timestamp) -> State {
        match (kept.read_at, kept.read_in) {
            // A poll may take longer than data become stale.
            (_, poll) if poll > 0 && poll >= self.polls => State::Fresh,
            (None, _) => State::Pending,
            (Some(at), _) if now.since(at) > stale_after => State::Stale,
            (_, 0) if kept.failing_since.is_none() => State::Pending,
            _ => State::Failing,
        }
    }
}
