//! Decoded responses of the API: pages of the listing, lists of languages, and their defects.

use super::{Completion, Defect, Language, Operation, Repository, RepositoryId};
use crate::support::humanize::counted;
use std::{
    collections::{BTreeMap, HashSet, btree_map::Entry},
    fmt,
    sync::Arc,
};

/// The defects of a response, or of all pages of a listing.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Defects(pub BTreeMap<Defect, Found>);

/// The defects of one kind.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    pub count: usize,
    /// The place, from 1, and the identity of the first bad entry, such as
    /// `entry 3 (id 7, "owner/repo")`.
    pub example: String,
}

impl Defects {
    /// Adds a bad entry or field. `place` is the position of the entry in its response, from 1;
    /// `None` if the defect is a conflict between entries.
    pub fn add(&mut self, defect: Defect, place: Option<usize>, identity: impl fmt::Display) {
        let found = self.0.entry(defect).or_insert_with(|| {
            let identity = identity.to_string();
            let example = match place {
                Some(place) if identity.is_empty() => format!("entry {place}"),
                Some(place) => format!("entry {place} ({identity})"),
                None => identity,
            };
            Found { count: 0, example }
        });
        found.count += 1;
    }

    /// Adds a repository whose id or name another repository of the listing has.
    pub fn add_duplicate(&mut self, defect: Defect, Repository { id, name, .. }: &Repository) {
        self.add(defect, None, format_args!("id {id}, {name:?}"));
    }

    /// Adds the defects of another response.
    pub fn append(&mut self, other: Self) {
        for (defect, found) in other.0 {
            let known = self.0.entry(defect);
            known
                .and_modify(|known| known.count += found.count)
                .or_insert(found);
        }
    }

    /// Counts the entries that could not be used.
    pub fn unreadable(&self, operation: Operation) -> usize {
        let hides_entry = |defect: &Defect| match defect {
            // A language without a completion is known, and so is a repository that is listed twice;
            // the name of two repositories may be known.
            Defect::Completion | Defect::DuplicateId | Defect::DuplicateName => false,
            defect => defect.hides_data(operation),
        };
        let hidden = self.0.iter().filter(|(defect, _)| hides_entry(defect));
        hidden.map(|(_, found)| found.count).sum()
    }
}

/// Formats the defects as `bad completion in 3 entries, first in entry 1 ("de")`.
impl fmt::Display for Defects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let defects = self.0.iter().map(|(defect, Found { count, example })| {
            let (label, entries) = (defect.label(), counted(*count, "entry", "entries"));
            format!("bad {label} in {entries}, first in {example}")
        });
        f.write_str(&defects.collect::<Vec<_>>().join("; "))
    }
}

/// The continuation of the listing after a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Next {
    /// The page is empty, which ends the listing.
    #[default]
    End,
    /// The next page begins after this id, which is the last one of the page.
    After(RepositoryId),
    /// The id of the last entry cannot be read.
    Unreadable,
}

/// The entries of a page, or of all pages so far.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Listing {
    pub repositories: BTreeMap<RepositoryId, Arc<Repository>>,
    /// The ids of entries without a readable name. They prove that a known repository still
    /// exists.
    pub nameless: HashSet<RepositoryId>,
    /// True if a new id was lower than one before it, so that others may be missing.
    pub is_unsorted: bool,
    /// The continuation after the last page.
    pub next: Next,
    pub bad: Defects,
}

impl Listing {
    /// Adds a repository. A later repository with the same id is a defect.
    pub fn add(&mut self, repository: Arc<Repository>) {
        let highest = self.repositories.last_key_value().map(|(id, _)| *id);
        match self.repositories.entry(repository.id) {
            Entry::Vacant(entry) => {
                self.is_unsorted |= highest > Some(repository.id);
                entry.insert(repository);
            }
            Entry::Occupied(_) => self.bad.add_duplicate(Defect::DuplicateId, &repository),
        }
    }

    /// Adds the next page.
    pub fn append(&mut self, page: Self) {
        for repository in page.repositories.into_values() {
            self.add(repository);
        }
        self.nameless.extend(page.nameless);
        self.is_unsorted |= page.is_unsorted;
        self.next = page.next;
        self.bad.append(page.bad);
    }

    /// Counts the listed repositories.
    pub fn count(&self) -> usize {
        self.repositories.len() + self.nameless.len()
    }
}

/// One target language of a repository.
#[derive(Debug, Clone, PartialEq)]
pub struct ReportedLanguage {
    pub language: Arc<Language>,
    /// `None` if the API reports no readable completion.
    pub completion: Option<Completion>,
}

/// The languages of one repository.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LanguageList {
    /// Sorted by code, each code once.
    pub languages: Vec<ReportedLanguage>,
    /// The number of absent completions, unless `api.omits_zeros` is set.
    ///
    /// Protobuf's JSON leaves out fields whose value is zero unless the server asks otherwise. An
    /// absent field then means zero; in any other API it means that the value is unknown.
    pub absent: usize,
    pub bad: Defects,
}
