//! Selections: globs that choose repositories and languages.

use super::{Document, Row, Totals, View, translations};
use crate::support::glob::glob_set;
use globset::{Glob, GlobSet};

/// Globs that choose repositories and languages.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// Globs on `owner/repo`.
    pub repositories: Globs,
    /// Globs on codes.
    pub languages: Globs,
}

/// Globs on names; none choose all.
#[derive(Debug, Clone, Default)]
pub struct Globs {
    each: Vec<Glob>,
    set: GlobSet,
}

impl Globs {
    fn new(globs: &[Glob]) -> Result<Self, String> {
        Ok(Self {
            set: glob_set(globs)?,
            each: globs.to_vec(),
        })
    }

    fn is_all(&self) -> bool {
        self.each.is_empty()
    }

    /// Returns the compiled globs; an empty set matches all.
    pub fn set(&self) -> &GlobSet {
        &self.set
    }

    pub fn matches(&self, name: &str) -> bool {
        self.is_all() || self.set.is_match(name)
    }

    /// Returns the globs that match none of these names.
    pub fn unmatched<'a>(
        &self,
        names: impl Iterator<Item = &'a str> + Clone,
    ) -> impl Iterator<Item = &str> {
        let unmatched = self.each.iter().filter(move |glob| {
            let matcher = glob.compile_matcher();
            !names.clone().any(|name| matcher.is_match(name))
        });
        unmatched.map(Glob::glob)
    }
}

impl Selection {
    /// Compiles the globs.
    ///
    /// # Errors
    /// Fails if the globs together are too large.
    pub fn new(repositories: &[Glob], languages: &[Glob]) -> Result<Self, String> {
        Ok(Self {
            repositories: Globs::new(repositories)?,
            languages: Globs::new(languages)?,
        })
    }

    /// Returns the row with its chosen languages, or `None` if it is not chosen.
    ///
    /// Globs on languages also leave out a repository that is known to have no matching language.
    pub fn of_row(&self, row: &Row) -> Option<Row> {
        if !self.repositories.matches(row.name()) {
            return None;
        }
        let mut row = row.clone();
        if self.languages.is_all() {
            return Some(row);
        }
        let chosen = row.known.iter();
        let chosen = chosen.filter(|one| self.languages.matches(one.code()));
        row.known = chosen.cloned().collect();
        if row.is_read() && row.known.is_empty() {
            return None;
        }
        Some(row)
    }

    /// Returns the view of the chosen repositories and languages.
    pub fn of<'a>(&'a self, document: &'a Document) -> View<'a> {
        if self.repositories.is_all() && self.languages.is_all() {
            return document.whole();
        }
        let rows = document.rows.iter();
        let rows: Vec<_> = rows.filter_map(|row| self.of_row(row)).collect();
        View {
            document,
            selection: Some(self),
            totals: Totals::of(translations(&rows).map(|(_, one)| one)),
            rows: rows.into(),
        }
    }
}
