//! The documents that are made of another one: of a selection, by globs on repositories and languages
//! and by days of their dates, and of what was last known.

use super::{Departed, Document, Row, State, Totals, Translation};
use crate::support::{clock::Timestamp, glob::Globs};
use globset::Glob;
use std::collections::BTreeSet;

/// Choices of repositories, languages and dates. A translation is chosen by all of them.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// None chooses every repository.
    pub repositories: Globs<true>,
    /// None chooses every language.
    pub languages: Globs<false>,
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
            repositories: Globs::new(repositories)?,
            languages: Globs::new(languages)?,
            dates: BTreeSet::new(),
        })
    }

    pub fn is_everything(&self) -> bool {
        self.repositories.items.is_empty() && self.has_all_translations()
    }

    /// Returns whether all translations of the chosen repositories are chosen.
    pub fn has_all_translations(&self) -> bool {
        self.languages.items.is_empty() && self.dates.is_empty()
    }

    /// Returns the row with its chosen translations, perhaps none; `None` if its repository is not
    /// chosen. A choice of languages or dates never leaves out a repository, because an unread
    /// repository or entry may have any.
    pub fn of_row(&self, row: &Row) -> Option<Row> {
        if !self.repositories.chooses(row.name()) {
            return None;
        }
        let mut row = row.clone();
        if !self.has_all_translations() {
            let is_chosen = |translation: &&Translation| {
                let is_due = self.dates.is_empty() || self.dates.contains(&translation.day());
                is_due && self.languages.chooses(translation.code())
            };
            row.known = row.known.iter().filter(is_chosen).cloned().collect();
        }
        Some(row)
    }
}

impl Document {
    /// Returns the document of the chosen repositories and languages: with a verdict, counts, ages
    /// and findings of its own. The last poll and the listing are those of the whole account.
    pub fn select(&self, selection: &Selection) -> Self {
        let rows = self.rows.iter().filter_map(|row| selection.of_row(row));
        let rows: Vec<_> = rows.collect();
        let is_chosen = |departed: &&Departed| {
            selection.repositories.chooses(&departed.repository)
                && selection.languages.chooses(&departed.language)
        };
        let departed = self.departed.iter().filter(is_chosen);
        Self {
            selection: selection.clone(),
            totals: Totals::of_rows(&rows),
            departed: departed.cloned().collect(),
            rows,
            ..self.clone()
        }
    }

    /// Returns the document with its stale data as if they were shown, if there are no others.
    pub fn last_known(&self) -> Option<Self> {
        let stale = self.rows.iter().filter(|row| !row.known.is_empty());
        let as_of = stale.filter_map(|row| row.read_at).max();
        let mut document = Self {
            as_of: Some(as_of.filter(|_| self.totals.with_resting() == 0)?),
            ..self.clone()
        };
        for row in &mut document.rows {
            if row.state == State::Stale {
                row.state = State::Failing;
            }
        }
        document.totals = Totals::of_rows(&document.rows);
        Some(document)
    }
}
