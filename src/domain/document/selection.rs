//! Selections: globs that choose repositories and languages, and days of their dates.

use super::{Row, Translation};
use crate::support::{
    clock::Timestamp,
    glob::{chooses, glob_set},
};
use globset::{Glob, GlobSet};
use std::collections::BTreeSet;

/// Choices of repositories, languages and dates. A translation is chosen by all of them.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// Globs on `owner/repo`; an empty set chooses every repository.
    pub repositories: GlobSet,
    /// Globs on codes; an empty set chooses every language.
    pub languages: GlobSet,
    /// The beginnings of the days of dates, `None` for no date; an empty set chooses all.
    pub dates: BTreeSet<Option<Timestamp>>,
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
            dates: BTreeSet::new(),
        })
    }

    pub fn is_everything(&self) -> bool {
        self.repositories.is_empty() && self.has_all_translations()
    }

    /// Returns whether all translations of the chosen repositories are chosen.
    pub fn has_all_translations(&self) -> bool {
        self.languages.is_empty() && self.dates.is_empty()
    }

    pub fn has_repository(&self, name: &str) -> bool {
        chooses(&self.repositories, name)
    }

    pub fn has_language(&self, code: &str) -> bool {
        chooses(&self.languages, code)
    }

    /// Returns the row with its chosen translations, perhaps none; `None` if its repository is not
    /// chosen. A choice of languages or dates never leaves out a repository, because an unread
    /// repository or entry may have any.
    pub fn of_row(&self, row: &Row) -> Option<Row> {
        if !self.has_repository(row.name()) {
            return None;
        }
        let mut row = row.clone();
        if !self.has_all_translations() {
            let is_chosen = |translation: &&Translation| {
                let is_due = self.dates.is_empty() || self.dates.contains(&translation.day());
                is_due && self.has_language(translation.code())
            };
            row.known = row.known.iter().filter(is_chosen).cloned().collect();
        }
        Some(row)
    }
}
