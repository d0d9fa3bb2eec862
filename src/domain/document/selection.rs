//! Selections: globs that choose repositories and languages.

use super::{Document, Row, Totals, View};
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

    /// Returns the row with its chosen languages, or `None` if it is not chosen.
    ///
    /// Globs on languages also leave out a repository that is known to have no matching language.
    pub fn of_row(&self, row: &Row) -> Option<Row> {
        if !chooses(&self.repositories, row.name()) {
            return None;
        }
        let mut row = row.clone();
        if self.languages.is_empty() {
            return Some(row);
        }
        let chosen = row.known.iter();
        let chosen = chosen.filter(|one| chooses(&self.languages, one.code()));
        row.known = chosen.cloned().collect();
        if row.is_read() && row.known.is_empty() {
            return None;
        }
        Some(row)
    }

    /// Returns the view of the chosen repositories and languages.
    pub fn of<'a>(&'a self, document: &'a Document) -> View<'a> {
        if self.repositories.is_empty() && self.languages.is_empty() {
            return document.whole();
        }
        let rows = document.rows.iter();
        let rows: Vec<_> = rows.filter_map(|row| self.of_row(row)).collect();
        let totals = Totals::of_rows(&rows);
        View::new(document, Some(self), rows.into(), totals)
    }
}
