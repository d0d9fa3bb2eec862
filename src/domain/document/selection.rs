//! Selections: parts of a document, chosen by globs on repositories and languages.

use super::{Document, Judged, Row, Totals};
use crate::support::glob::glob_set;
use globset::{Glob, GlobSet};
use std::sync::Arc;

/// Globs that choose repositories and languages; an empty set chooses all.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// Globs on `owner/repo`.
    pub repositories: GlobSet,
    /// Globs on codes.
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

    pub fn has_repository(&self, name: &str) -> bool {
        self.repositories.is_empty() || self.repositories.is_match(name)
    }

    pub fn has_language(&self, code: &str) -> bool {
        self.languages.is_empty() || self.languages.is_match(code)
    }

    /// Returns the row with its chosen languages, or `None` if it is not chosen.
    ///
    /// Globs on languages also leave out a repository that is known to have no matching language.
    pub fn of_row(&self, row: &Row) -> Option<Row> {
        if !self.has_repository(row.name()) {
            return None;
        }
        let mut row = row.clone();
        if self.languages.is_empty() {
            return Some(row);
        }
        let chosen = row.known().iter();
        let chosen = chosen.filter(|one| self.has_language(one.code()));
        let chosen: Box<[_]> = chosen.cloned().collect();
        if row.is_read() && chosen.is_empty() {
            return None;
        }
        row.judged = Arc::new(Judged::new(chosen));
        Some(row)
    }

    /// Returns the document reduced to the chosen repositories and languages, with their totals.
    pub fn of(&self, document: &Document) -> Document {
        let rows = document.rows.iter();
        let rows: Vec<_> = rows.filter_map(|row| self.of_row(row)).collect();
        Document {
            totals: Totals::of(&rows),
            rows,
            ..document.clone()
        }
    }
}
