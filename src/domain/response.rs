//! What an answer of the API means: pages of the listing, lists of languages, and their defects.

use super::{Completion, Defect, Language, Repository, RepositoryId};
use crate::support::clock::Timestamp;
use std::{
    collections::{BTreeMap, HashSet, btree_map::Entry},
    fmt,
    sync::Arc,
};

/// How many defects are described.
const MAX_DESCRIBED: usize = 100;

/// One bad entry, or one bad field of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadEntry {
    /// Which entry of an answer it is, counted from 1; `None` if the defect shows only across answers.
    pub place: Option<usize>,
    /// Its id, name or code, as far as they can be read; otherwise empty.
    pub identity: String,
    pub defect: Defect,
}

/// Such as `entry 3 (id 7, "owner/repo"): created_at`.
impl fmt::Display for BadEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            place,
            identity,
            defect,
        } = self;
        let defect = defect.label();
        match place {
            Some(place) if identity.is_empty() => write!(f, "entry {place}: {defect}"),
            Some(place) => write!(f, "entry {place} ({identity}): {defect}"),
            None => write!(f, "{identity}: {defect}"),
        }
    }
}

/// What is bad in an answer, or in a listing of several.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Defects {
    pub all: Vec<Defect>,
    /// The first of them, at most 100.
    pub described: Vec<BadEntry>,
}

impl Defects {
    pub fn add(&mut self, defect: Defect, place: Option<usize>, identity: impl fmt::Display) {
        self.all.push(defect);
        if self.described.len() < MAX_DESCRIBED {
            let identity = identity.to_string();
            self.described.push(BadEntry {
                place,
                identity,
                defect,
            });
        }
    }

    /// Adds a repository that cannot be used because of another one in the listing.
    pub fn add_duplicate(&mut self, defect: Defect, Repository { id, name, .. }: &Repository) {
        self.add(defect, None, format_args!("id {id}, {name:?}"));
    }

    /// Adds those of another answer.
    pub fn append(&mut self, mut other: Self) {
        self.all.append(&mut other.all);
        self.described.append(&mut other.described);
        self.described.truncate(MAX_DESCRIBED);
    }
}

/// How often responses leave a field out, and how often they spell its zero (0 or false) out.
///
/// Protobuf's JSON leaves out fields whose value is zero unless the server asks otherwise. An absent
/// field then means zero; in any other API it means that the value is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ZeroCount {
    pub absent: usize,
    pub spelled_out: usize,
}

impl ZeroCount {
    pub fn add(&mut self, other: Self) {
        self.absent += other.absent;
        self.spelled_out += other.spelled_out;
    }

    /// Whether the field is absent in a way that suggests omitted zeros.
    pub fn suggests_omission(self) -> bool {
        self.absent > 0 && self.spelled_out == 0
    }
}

/// The zeros of the fields that may be absent. All are 0 while `api.omits_zeros` is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Zeros {
    pub completion: ZeroCount,
    pub private: ZeroCount,
}

/// How the listing continues after a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Next {
    /// The page is empty: this was the end.
    #[default]
    End,
    /// The id of the last entry.
    After(RepositoryId),
    /// The id of the last entry cannot be read.
    Unreadable,
}

/// What a listing has shown so far, or one page of it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Listing {
    pub repositories: BTreeMap<RepositoryId, Arc<Repository>>,
    /// Ids of entries whose name cannot be read: they are listed, though nothing new is known of them.
    pub nameless: HashSet<RepositoryId>,
    /// Names of entries whose id cannot be read: likewise.
    pub unidentified: HashSet<Arc<str>>,
    /// The bytes of all names, those that appear again counted again.
    pub name_bytes: usize,
    /// The zeros of the field `private`.
    pub private: ZeroCount,
    pub bad: Defects,
}

impl Listing {
    /// Adds a repository; the first of an id counts.
    pub fn add(&mut self, repository: Arc<Repository>) {
        self.name_bytes += repository.name.len();
        match self.repositories.entry(repository.id) {
            Entry::Vacant(entry) => drop(entry.insert(repository)),
            Entry::Occupied(_) => self.bad.add_duplicate(Defect::DuplicateId, &repository),
        }
    }

    /// Adds a name without an id.
    pub fn add_unidentified(&mut self, name: Arc<str>) {
        self.name_bytes += name.len();
        self.unidentified.insert(name);
    }

    /// Adds the next page.
    pub fn append(&mut self, page: Self) {
        for repository in page.repositories.into_values() {
            self.add(repository);
        }
        self.bad.append(page.bad);
        self.private.add(page.private);
        self.nameless.extend(page.nameless);
        for name in page.unidentified {
            self.add_unidentified(name);
        }
    }

    /// How many repositories it has shown.
    pub fn count(&self) -> usize {
        self.repositories.len() + self.nameless.len() + self.unidentified.len()
    }

    /// Whether it shows this repository, even if only its id or only its name can be read.
    pub fn shows(&self, repository: &Repository) -> bool {
        self.repositories.contains_key(&repository.id)
            || self.nameless.contains(&repository.id)
            || self.unidentified.contains(&repository.name)
    }
}

/// One page of the listing.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Page {
    pub listing: Listing,
    pub next: Next,
    /// When the API sent the page, by its own clock: the header Date.
    pub sent_at: Option<Timestamp>,
}

/// One target language of a repository.
#[derive(Debug, Clone, PartialEq)]
pub struct TargetLanguage {
    pub language: Arc<Language>,
    /// `None` if the API gave none that can be read.
    pub completion: Option<Completion>,
}

/// The languages of one repository.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LanguageList {
    /// In the order of their codes, each code once.
    pub languages: Vec<TargetLanguage>,
    /// The zeros of the field `completion`.
    pub completion: ZeroCount,
    pub bad: Defects,
}
