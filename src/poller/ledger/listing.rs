//! The changes that a listing makes: it adds, renames and removes repositories.

use super::{super::log::PollLog, Ledger, Polled};
use crate::{
    domain::{Defect, Listing, Repository, RepositoryId, filter::Filter, record::SavedRepository},
    support::clock::{DAY, Timestamp},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    mem::take,
    sync::Arc,
    time::Duration,
};

impl Ledger {
    /// Applies a complete listing: removes the repositories that it lacks. If it lacks more than
    /// half of them, it removes only those that the previous complete listing lacked too, and a new
    /// repository with the name of one that stays waits as well. Returns the number of repositories
    /// that are left out because another one has the same name.
    pub fn apply_complete(
        &mut self,
        listing: Listing,
        filter: &Filter,
        now: Timestamp,
        log: &mut PollLog,
    ) -> usize {
        let known = self.polled.values().map(|known| &known.kept.repository);
        let missing = known.filter(|repository| !listing.shows(repository));
        let missing: BTreeSet<_> = missing.map(|repository| repository.id).collect();
        let missed_before = take(&mut self.missed);
        if missing.len() * 2 > self.polled.len() {
            self.missed = missing.difference(&missed_before).copied().collect();
        }
        let Listing {
            mut repositories,
            nameless,
            mut bad,
            ..
        } = listing;
        let polled = &self.polled;
        let stay = self.missed.iter().filter_map(|id| polled.get(id));
        let stay: BTreeSet<_> = stay.map(|known| &known.kept.repository.name).collect();
        repositories.retain(|id, new| polled.contains_key(id) || !stay.contains(&new.name));
        for (id, known) in &self.polled {
            if nameless.contains(id) || self.missed.contains(id) {
                let repository = || Arc::clone(&known.kept.repository);
                repositories.entry(*id).or_insert_with(repository);
            }
        }
        self.has_data = true;
        self.unnamed = nameless.len();
        self.filtered = 0;
        self.gone.retain(|_, kept| {
            let is_kept = kept.records().iter().any(|record| record.is_kept(now));
            self.translations -= if is_kept { 0 } else { kept.records().len() };
            is_kept
        });
        let duplicates = self.select(&repositories, filter, now, log);
        for repository in &duplicates {
            bad.add_duplicate(Defect::DuplicateName, repository);
        }
        log.defects("the listing", &self.defects, &bad);
        self.defects = bad;
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
        log: &mut PollLog,
    ) {
        let mut repositories = self.repositories();
        let names: BTreeSet<_> = repositories.values().map(|one| one.name.clone()).collect();
        for (id, repository) in listing.repositories {
            if repositories.len() < max_repositories && !names.contains(&repository.name) {
                repositories.entry(id).or_insert(repository);
            }
        }
        self.select(&repositories, filter, now, log);
    }

    /// Returns the polled repositories.
    pub fn repositories(&self) -> BTreeMap<RepositoryId, Arc<Repository>> {
        let polled = self.polled.iter();
        let polled = polled.map(|(id, known)| (*id, Arc::clone(&known.kept.repository)));
        polled.collect()
    }

    /// Polls the repositories that pass the filters, and keeps the records of those that leave.
    /// Returns the repositories that are left out because another one has the same name.
    pub fn select(
        &mut self,
        repositories: &BTreeMap<RepositoryId, Arc<Repository>>,
        filter: &Filter,
        now: Timestamp,
        log: &mut PollLog,
    ) -> Vec<Arc<Repository>> {
        let (polled, duplicates) = filter.apply(repositories);
        // An incomplete listing does not show all of them.
        self.filtered = self.filtered.max(repositories.len() - polled.len());
        let mut before = take(&mut self.polled);
        for (id, repository) in polled {
            let known = if let Some(known) = before.remove(&id) {
                let kept = SavedRepository {
                    repository,
                    ..known.kept
                };
                Polled { kept, ..known }
            } else {
                log.good("repositories added", &repository.name);
                Polled::new(repository)
            };
            self.polled.insert(id, known);
        }
        for (id, known) in before {
            log.good("repositories removed", &known.kept.repository.name);
            // The filters leave out what the API still lists: it has not left within a day.
            let is_listed = repositories.contains_key(&id);
            let left_at = now.saturating_sub(if is_listed { DAY } else { Duration::ZERO });
            let languages = known.kept.languages.as_deref();
            if let Some(languages) = languages.map(|languages| languages.departed(left_at)) {
                let kept = SavedRepository {
                    languages: Some(Arc::new(languages)),
                    ..known.kept
                };
                self.gone.insert(id, kept);
            }
        }
        duplicates
    }
}
