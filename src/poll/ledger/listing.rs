//! What a listing changes: which repositories there are, and which of them are polled.

use super::{Known, Ledger};
use crate::{
    config::FilterConfig,
    model::{BadEntry, Defect, Page, Repository, RepositoryId, Timestamp},
    select::{Selection, select},
    snapshot::{Languages, Reading},
};
use globset::GlobSet;
use std::{
    collections::{BTreeMap, BTreeSet, HashSet, btree_map::Entry},
    sync::Arc,
};

/// A listing while it is read.
#[derive(Debug)]
pub(in crate::poll) struct Listing {
    /// How many repositories were listed before it.
    listed_before: usize,
    /// Those that were polled before it.
    names_before: BTreeMap<RepositoryId, Arc<str>>,
    seen: BTreeMap<RepositoryId, Arc<Repository>>,
    nameless: HashSet<RepositoryId>,
    unidentified: HashSet<Arc<str>>,
    duplicate_ids: Vec<BadEntry>,
}

impl Listing {
    /// Adds a page; the first entry of an id counts.
    pub fn add(&mut self, page: Page) {
        for repository in page.repositories {
            match self.seen.entry(repository.id) {
                Entry::Vacant(entry) => drop(entry.insert(Arc::new(repository))),
                Entry::Occupied(_) => {
                    self.duplicate_ids
                        .push(BadEntry::of_repository(&repository, Defect::DuplicateId));
                }
            }
        }
        self.nameless.extend(page.nameless);
        self.unidentified.extend(page.unidentified);
    }

    /// How many repositories it has shown so far.
    pub fn len(&self) -> usize {
        self.seen.len()
    }

    /// Whether the listing shows this repository, even if only its id or only its name can be read.
    fn shows(&self, repository: &Repository) -> bool {
        self.seen.contains_key(&repository.id)
            || self.nameless.contains(&repository.id)
            || self.unidentified.contains(&repository.name)
    }
}

/// What a listing changed about the repositories that are polled.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::poll) struct Changes {
    pub appeared: Vec<(RepositoryId, Arc<str>)>,
    pub left: Vec<(RepositoryId, Arc<str>)>,
    /// With the name before and the name now.
    pub renamed: Vec<(RepositoryId, Arc<str>, Arc<str>)>,
}

impl Ledger {
    /// A listing begins to be read.
    pub fn begin_listing(&self) -> Listing {
        Listing {
            listed_before: self.listed.len(),
            names_before: self.names(),
            seen: BTreeMap::new(),
            nameless: HashSet::new(),
            unidentified: HashSet::new(),
            duplicate_ids: Vec::new(),
        }
    }

    /// Adds what is new in a listing that is still being read; nothing known changes yet. A new repository with the name of
    /// a known one waits for the complete listing, which may show that the known one was renamed.
    pub fn preview(&mut self, listing: &Listing, filter: &FilterConfig, now: Timestamp) {
        let names: HashSet<_> = self
            .listed
            .values()
            .map(|repository| Arc::clone(&repository.name))
            .collect();
        let before = self.listed.len();
        for (id, repository) in &listing.seen {
            if !names.contains(&repository.name) {
                self.listed
                    .entry(*id)
                    .or_insert_with(|| Arc::clone(repository));
            }
        }
        if self.listed.len() > before {
            self.reselect(filter, now);
        }
    }

    /// Applies a listing that was read as far as possible. Returns what it changed, and its repositories that cannot be used
    /// because another one has the same id or name.
    pub fn apply_listing(
        &mut self,
        listing: Listing,
        is_complete: bool,
        filter: &FilterConfig,
        now: Timestamp,
    ) -> (Changes, Vec<BadEntry>) {
        if is_complete {
            self.remove_missing(&listing, now);
            self.unnamed = listing.nameless.len();
        }
        for (id, repository) in listing.seen {
            if self.listed.get(&id) != Some(&repository) {
                self.listed.insert(id, repository);
            }
        }
        self.forget_departed(now);
        let same_name = self.reselect(filter, now);
        let same_name = same_name
            .iter()
            .map(|repository| BadEntry::of_repository(repository, Defect::DuplicateName));
        let duplicates = listing.duplicate_ids.into_iter().chain(same_name).collect();
        (self.changes_since(listing.names_before), duplicates)
    }

    fn remove_missing(&mut self, listing: &Listing, now: Timestamp) {
        let before = listing.listed_before;
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
        for id in &gone {
            self.listed.remove(id);
            if let Some(known) = self.known.remove(id) {
                self.depart(&known, now);
            }
        }
        self.missed = missing.difference(&gone).copied().collect();
    }

    /// Applies the filters to all that is listed, and returns those with the same name as another.
    pub fn reselect(&mut self, filter: &FilterConfig, now: Timestamp) -> Vec<Arc<Repository>> {
        let Selection { polled, duplicates } = select(&self.listed, filter);
        let left: Vec<_> = self
            .known
            .keys()
            .filter(|id| !polled.contains_key(id))
            .copied()
            .collect();
        for known in left
            .into_iter()
            .filter_map(|id| self.known.remove(&id))
            .collect::<Vec<_>>()
        {
            self.depart(&known, now);
        }
        for (id, repository) in polled {
            match self.known.entry(id) {
                Entry::Vacant(entry) => drop(entry.insert(Known::new(repository))),
                Entry::Occupied(mut entry) => entry.get_mut().repository = repository,
            }
        }
        self.exclude(&filter.exclude_languages, now);
        duplicates
    }

    /// Takes languages away; their clocks are kept like those of what left.
    pub fn exclude(&mut self, languages: &GlobSet, now: Timestamp) {
        let now = self.time.record(now);
        let is_excluded = |reading: &Reading| languages.is_match(&*reading.language.code);
        for (id, known) in &mut self.known {
            let Some(read) = &known.languages else {
                continue;
            };
            if languages.is_empty() || !read.readings.iter().any(is_excluded) {
                continue;
            }
            let mut kept = Vec::new();
            for reading in read.readings.iter() {
                if !is_excluded(reading) {
                    kept.push(reading.clone());
                } else if let Some(progress) = reading.progress() {
                    let key = (*id, Arc::clone(&reading.language.code));
                    self.departed.insert(key, (progress, now));
                }
            }
            known.languages = Some(Arc::new(Languages {
                read_at: read.read_at,
                readings: kept.into(),
            }));
        }
    }

    fn names(&self) -> BTreeMap<RepositoryId, Arc<str>> {
        self.known
            .iter()
            .map(|(id, known)| (*id, Arc::clone(&known.repository.name)))
            .collect()
    }

    fn changes_since(&self, mut before: BTreeMap<RepositoryId, Arc<str>>) -> Changes {
        let mut changes = Changes::default();
        for (id, name) in self.names() {
            match before.remove(&id) {
                None => changes.appeared.push((id, name)),
                Some(before) if before != name => changes.renamed.push((id, before, name)),
                Some(_) => {}
            }
        }
        changes.left = before.into_iter().collect();
        changes
    }
}
