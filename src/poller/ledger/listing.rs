//! What a listing changes: which repositories there are, and which of them are polled.

use super::{
    super::{log::Names, steps::NAME_BYTES},
    Ledger, Polled, depart,
};
use crate::{
    domain::{
        Defect, Defects, Listing, Repository,
        filter::{Filter, LanguageFilter, Selection, select},
        snapshot::Reading,
    },
    support::clock::Timestamp,
};
use std::{
    collections::{BTreeSet, HashSet},
    sync::Arc,
};

impl Ledger {
    /// Applies a listing that reached its end: what it lacks leaves. Returns what is bad in it.
    pub fn apply_complete(&mut self, listing: Listing, filter: &Filter, now: Timestamp) -> Defects {
        self.remove_missing(&listing, now);
        self.unnamed = listing.nameless.len();
        self.private.absent = listing.private.absent;
        self.private.spelled_out += listing.private.spelled_out;
        for (id, repository) in listing.repositories {
            if self.listed.get(&id) != Some(&repository) {
                self.listed.insert(id, repository);
            }
        }
        self.forget_excess();
        let mut bad = listing.bad;
        for repository in self.reselect(filter, now) {
            bad.add_duplicate(Defect::DuplicateName, &repository);
        }
        bad
    }

    /// Takes over what is new in a listing that broke off; what was known stays as it was. A new repository with the name of
    /// a known one waits for a complete listing, which may show that the known one was renamed or removed. So do those beyond
    /// `max_repositories`: listings that break off, and show others each time, could go on for ever.
    pub fn apply_incomplete(
        &mut self,
        listing: Listing,
        max_repositories: usize,
        filter: &Filter,
        now: Timestamp,
    ) {
        let known: HashSet<Arc<str>> = self
            .listed
            .values()
            .map(|repository| Arc::clone(&repository.name))
            .collect();
        let mut name_bytes: usize = known.iter().map(|name| name.len()).sum();
        for (id, repository) in listing.repositories {
            let has_room = self.listed.len() < max_repositories
                && name_bytes <= max_repositories.saturating_mul(NAME_BYTES);
            if has_room && !known.contains(&repository.name) {
                name_bytes += repository.name.len();
                self.listed.entry(id).or_insert(repository);
            }
        }
        self.reselect(filter, now);
    }

    fn remove_missing(&mut self, listing: &Listing, now: Timestamp) {
        let missing: BTreeSet<_> = self
            .listed
            .values()
            .filter(|repository| !listing.shows(repository))
            .map(|repository| repository.id)
            .collect();
        let needs_confirmation = missing.len() * 2 > self.listed.len();
        let missed_before = std::mem::take(&mut self.missed);
        let before = self.listed.len();
        for id in missing {
            if needs_confirmation && !missed_before.contains(&id) {
                self.missed.insert(id);
            } else {
                self.listed.remove(&id);
                self.leave(id, now);
            }
        }
        self.dropped_of = (self.listed.len() * 2 < before).then_some(before);
    }

    /// Applies the filters to all that is listed, and returns those with the same name as another.
    pub fn reselect(&mut self, filter: &Filter, now: Timestamp) -> Vec<Arc<Repository>> {
        let Selection { polled, duplicates } = select(&self.listed, filter);
        let known: Vec<_> = self.polled.keys().copied().collect();
        for id in known {
            if !polled.contains_key(&id) {
                self.leave(id, now);
            }
        }
        for (id, repository) in polled {
            let new = || Polled::new(Arc::clone(&repository));
            let known = self.polled.entry(id).or_insert_with(new);
            known.repository = repository;
        }
        duplicates
    }

    /// Takes languages away; their clocks are kept like those of what left.
    pub fn exclude(&mut self, excluded: &LanguageFilter, now: Timestamp) {
        let is_excluded = |reading: &Reading| excluded.matches(&reading.language.code);
        for (id, known) in &mut self.polled {
            let Some(read) = &mut known.languages else {
                continue;
            };
            if !read.readings.iter().any(is_excluded) {
                continue;
            }
            let (leaving, kept): (Vec<_>, Vec<_>) =
                read.readings.iter().cloned().partition(is_excluded);
            for reading in &leaving {
                depart(&mut self.departed, &mut self.time, *id, reading, now);
            }
            Arc::make_mut(read).readings = kept.into();
        }
    }

    pub fn names(&self) -> Names {
        self.polled
            .iter()
            .map(|(id, known)| (*id, Arc::clone(&known.repository.name)))
            .collect()
    }
}
