//! The grid of repositories by languages: a search, an order, and one page of rows.

use super::query::{Column, Query};
use crate::{
    domain::{
        TranslationProblem,
        readiness::{self, Row, Totals, Translation},
    },
    support::clock::Timestamp,
};
use std::{cmp::Reverse, collections::BTreeSet};

/// The number of rows on a page.
pub const ROWS: usize = 200;

/// The number of languages that fit as columns. A larger grid leaves out the languages of the
/// fewest repositories.
pub const MOST_LANGUAGES: usize = 60;

/// The number of tiles of a row that a narrow window shows in a long grid: two lines on a phone.
const MOST_TILES: usize = 10;

/// A grid of at most this many repositories shows all languages.
const FEW: usize = 20;

#[derive(Debug)]
pub struct Grid<'a> {
    pub rows: Vec<Row<'a>>,
    /// The languages of all found repositories, sorted by code.
    pub languages: Vec<(&'a str, Totals)>,
    /// The number of languages without a column.
    pub left_out: usize,
    /// The number of repositories that match the query.
    pub found: usize,
    /// The number of matching repositories that have been read.
    pub read: usize,
    /// The number of the first row, from 1.
    pub first: usize,
    /// The number of this page, from 0.
    pub page: usize,
    pub pages: usize,
    /// The totals of all matching repositories.
    pub totals: Totals,
}

impl<'a> Grid<'a> {
    /// Selects and sorts `rows`, which come sorted by name, and keeps one page of at most `size`.
    pub fn new(mut rows: Vec<Row<'a>>, query: &Query, size: usize) -> Self {
        if !query.search.is_empty() {
            let wanted = query.search.to_lowercase();
            rows.retain(|row| row.shown.repository.name.to_lowercase().contains(&wanted));
        }
        if query.stalled {
            rows.retain(|row| row.totals.count(TranslationProblem::Stalled) > 0);
        }
        sort(&mut rows, query);
        let mut languages = readiness::languages(&rows);
        let most = if rows.len() <= FEW {
            usize::MAX
        } else {
            MOST_LANGUAGES
        };
        let left_out = languages.len().saturating_sub(most);
        languages.sort_by_key(|(_, totals)| Reverse(totals.all));
        languages.truncate(most);
        languages.sort_by_key(|(code, _)| *code);
        let (found, read) = (rows.len(), rows.iter().filter(|row| row.is_read()).count());
        let totals = Totals::of(&rows);
        let pages = found.div_ceil(size).max(1);
        let page = query.page.min(pages - 1);
        rows.drain(..page * size);
        rows.truncate(size);
        Self {
            rows,
            languages,
            left_out,
            found,
            read,
            first: page * size + 1,
            page,
            pages,
            totals,
        }
    }
}

impl<'a> Grid<'a> {
    /// Returns whether narrow windows show only some tiles of each row.
    pub fn is_long(&self) -> bool {
        self.rows.len() > FEW
    }

    /// Returns the codes of a row that a narrow window leaves out of a long grid: ready ones, and
    /// all but the [`MOST_TILES`] furthest behind.
    pub fn folded(&self, row: &Row<'a>) -> BTreeSet<&'a str> {
        if !self.is_long() {
            return BTreeSet::new();
        }
        let ready = row.translations().filter(Translation::is_ready);
        let nearest = row.behind().into_iter().skip(MOST_TILES);
        ready.chain(nearest).map(|one| one.code()).collect()
    }
}

/// Sorts the rows by the column of the query; equal rows stay sorted by name.
fn sort(rows: &mut [Row<'_>], query: &Query) {
    let value = |row: &Row<'_>| match query.column {
        Column::Name => None,
        // The furthest behind first.
        Column::Behind => row.totals.missing.get().map(|missing| -missing),
        Column::Completion => row.totals.mean.get(),
        Column::Progress => row.totals.last_progress.map(Timestamp::as_seconds),
    };
    let sign = if query.descending { -1.0 } else { 1.0 };
    // Unknown values come last in either direction.
    let key = |row: &Row<'_>| value(row).map_or(f64::INFINITY, |value| sign * value);
    rows.sort_by(|one, other| key(one).total_cmp(&key(other)));
    match query.column {
        Column::Name if query.descending => rows.reverse(),
        // The gaps leave out unknown translations, which keep a repository from being ready.
        Column::Behind => rows.sort_by_key(|row| (row.totals.behind() > 0) == query.descending),
        _ => {}
    }
}
