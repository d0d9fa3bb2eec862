//! The changes that a listing makes: it adds, renames and removes repositories.

use super::{
    super::log::{Names, PollLog},
    Ledger, Polled,
};
use crate::{
    domain::{Defect, Listing, Repository, RepositoryId, filter::Filter, record::Languages},
    support::clock::Timestamp,
};
use std::{
    collections::{BTreeSet, HashSet},
    sync::Arc,
};

impl Ledger {
    /// Applies a complete listing: removes the repositories that it lacks. Returns the number of
    /// repositories that it leaves out because another one has the same name.
    pub fn apply_complete(
        &mut self,
        listing: Listing,
        filter: &Filter,
        now: Timestamp,
        log: &mut PollLog,
    ) -> usize {
        self.remove_missing(&listing, now);
        self.has_data = true;
        self.listing.unnamed = listing.nameless.len();
        for (id, repository) in listing.repositories {
            if self.listed.get(&id) != Some(&repository) {
                self.listed.insert(id, repository);
            }
        }
        // Without an answer of the API, a clock that is ahead would forget all records.
        self.departed.forget_old(now);
        let mut bad = listing.bad;
        let duplicates = self.reselect(filter, now);
        for repository in &duplicates {
            bad.add_duplicate(Defect::DuplicateName, repository);
        }
        log.defects("the listing", &self.listing.defects, &bad);
        self.listing.defects = bad;
        duplicates.len()
    }

    /// Adds the new repositories of a listing that broke off, and changes no known repository.
    ///
    /// A new repository with the name of a known one waits for a complete listing, because the
    /// known one may have been renamed or removed. Repositories beyond `max_repositories` wait
    /// too: broken listings that show different repositories each time could otherwise fill the
    /// memory.
    pub fn apply_incomplete(
        &mut self,
        listing: Listing,
        max_repositories: usize,
        filter: &Filter,
        now: Timestamp,
    ) {
        let known = self.listed.values();
        let known: HashSet<_> = known
            .map(|repository| Arc::clone(&repository.name))
            .collect();
        for (id, repository) in listing.repositories {
            let has_room = self.listed.len() < max_repositories;
            if has_room && !known.contains(&repository.name) {
                self.listed.entry(id).or_insert(repository);
            }
        }
        self.reselect(filter, now);
    }

    /// Removes the repositories that a complete listing lacks. If the listing lacks more than half
    /// of them, it removes only those that the previous complete listing lacked too.
    fn remove_missing(&mut self, listing: &Listing, now: Timestamp) {
        let listed = self.listed.values();
        let missing: BTreeSet<_> = listed
            .filter(|repository| !listing.shows(repository))
            .map(|repository| repository.id)
            .collect();
        let needs_confirmation = missing.len() * 2 > self.listed.len();
        let missed_before = std::mem::take(&mut self.listing.missed);
        for id in missing {
            if needs_confirmation && !missed_before.contains(&id) {
                self.listing.missed.insert(id);
            } else {
                self.listed.remove(&id);
                self.leave(id, now);
            }
        }
    }

    /// Applies the filters to the listed repositories. Returns the repositories that are left out
    /// because another one has the same name.
    pub fn reselect(&mut self, filter: &Filter, now: Timestamp) -> Vec<Arc<Repository>> {
        let (polled, duplicates) = filter.apply(&self.listed);
        let known: Vec<_> = self.polled.keys().copied().collect();
        for id in known {
            if !polled.contains_key(&id) {
                self.leave(id, now);
            }
        }
        for (id, repository) in polled {
            let new = || Polled::new(Arc::clone(&repository));
            let known = self.polled.entry(id).or_insert_with(new);
            known.kept.repository = repository;
        }
        duplicates
    }

    /// Removes a repository from the polled ones, and keeps its records.
    fn leave(&mut self, id: RepositoryId, now: Timestamp) {
        let known = self.polled.remove(&id);
        if let Some(languages) = known.and_then(|known| known.kept.languages) {
            for record in &*languages.records {
                self.departed.keep(id, record, left_at(&languages, now));
            }
        }
    }

    /// Returns the names of the polled repositories.
    pub fn names(&self) -> Names {
        let polled = self.polled.iter();
        polled
            .map(|(id, known)| (*id, Arc::clone(&known.kept.repository.name)))
            .collect()
    }
}

/// Returns the time at which languages leave: after their last read, even if the clock is wrong
/// before the first listing of a process.
fn left_at(languages: &Languages, now: Timestamp) -> Timestamp {
    now.max(languages.read_at)
}
