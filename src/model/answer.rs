//! What an answer of the API means: pages of the listing, lists of languages, and their defects.

use super::{Completion, Defect, Language, Repository, RepositoryId};
use std::{fmt, sync::Arc};

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

impl BadEntry {
    /// A repository that cannot be used because of others in the listing.
    #[must_use]
    pub fn of_repository(repository: &Repository, defect: Defect) -> Self {
        Self {
            place: None,
            identity: format!("id {}, {:?}", repository.id, repository.name),
            defect,
        }
    }
}

/// How the listing continues after a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// The page is empty: this was the end.
    End,
    /// The id of the last entry.
    After(RepositoryId),
    /// The id of the last entry cannot be read.
    Unreadable,
}

/// One page of the listing.
#[derive(Debug, Clone, PartialEq)]
pub struct Page {
    /// In the order of the page; an id may appear more than once.
    pub repositories: Vec<Repository>,
    /// Ids of entries whose name cannot be read: they are listed, though nothing new is known of them.
    pub nameless: Vec<RepositoryId>,
    /// Names of entries whose id cannot be read: likewise.
    pub unidentified: Vec<Arc<str>>,
    pub bad: Vec<BadEntry>,
    pub next: Next,
}

impl Page {
    /// Whether the listing can continue, or ended properly, if this page was requested with the cursor `after`.
    #[must_use]
    pub fn follows(&self, after: Option<RepositoryId>) -> bool {
        match self.next {
            Next::End => true,
            Next::After(id) => after.is_none_or(|after| id > after),
            Next::Unreadable => false,
        }
    }
}

/// One target language of a repository.
#[derive(Debug, Clone, PartialEq)]
pub struct TargetLanguage {
    pub language: Arc<Language>,
    /// `None` if the API gave none that can be read.
    pub completion: Option<Completion>,
}

/// The languages of one repository.
#[derive(Debug, Clone, PartialEq)]
pub struct LanguageList {
    /// In the order of their codes, each code once.
    pub languages: Vec<TargetLanguage>,
    pub bad: Vec<BadEntry>,
}
