//! Selections: globs that choose repositories and languages.

use super::Row;
use crate::support::glob::{chooses, glob_set};
use globset::{Glob, GlobSet};

/// Globs that choose repositories and languages.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// Globs on `owner/repo`; an empty set chooses every repository.
    pub repositories: GlobSet,
    /// Globs on codes; an empty set chooses every language.
    pub languages: GlobSet,
}

impl Selection {
    /// Compiles the globs.
    ///
    /// # Errors
    /// Fails if the globs together are too large.
    pub fn new(repositories: &[Glob], languages: &[Glob]) -> Result<Self, String> {
        Ok(Self {
            repositories: glob_set(repositories)?,
            languages: glob_set(languages)?,
        })
    }

    pub fn is_everything(&self) -> bool {
        self.repositories.is_empty() && self.languages.is_empty()
    }

    pub fn has_repository(&self, name: &str) -> bool {
        chooses(&self.repositories, name)
    }

    pub fn has_language(&self, code: &str) -> bool {
        chooses(&self.languages, code)
    }

    /// Returns the row with its chosen translations, perhaps none; `None` if its repository is not
    /// chosen. A choice of languages never leaves out a repository, because an unread repository
    /// or entry may have any language.
    pub fn of_row(&self, row: &Row) -> Option<Row> {
        if !self.has_repository(row.name()) {
            return None;
        }
        let mut row = row.clone();
        if !self.languages.is_empty() {
            let chosen = row.known.iter();
            let chosen = chosen.filter(|translation| self.has_language(translation.code()));
            row.known = chosen.cloned().collect();
        }
        Some(row)
    }
}
