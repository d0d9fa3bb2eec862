//! The grid of repositories by languages: a search, a filter, an order, and one page of rows.

use super::query::{Column, Query};
use crate::{
    domain::document::{Row, Totals, languages},
    support::clock::Timestamp,
};
use std::cmp::Reverse;

/// The number of rows on a page.
pub const ROWS: usize = 200;

/// The number of languages that fit as columns. A larger grid leaves out the languages of the
/// fewest repositories.
pub const MOST_LANGUAGES: usize = 60;

/// A grid of at most this many repositories shows all languages.
const FEW: usize = 20;

#[derive(Debug)]
pub struct Grid<'a> {
    pub rows: Vec<&'a Row>,
    /// The languages of all found repositories, sorted by code.
    pub languages: Vec<(&'a str, Totals)>,
    /// The number of languages without a column.
    pub left_out: usize,
    /// The number of repositories that match the query.
    pub found: usize,
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
    pub fn new(rows: &'a [Row], query: &Query, size: usize) -> Self {
        let wanted = query.search.to_lowercase();
        let is_found = |row: &&Row| {
            row.name().to_lowercase().contains(&wanted)
                && query.only.is_none_or(|only| only.count(&row.totals()) > 0)
        };
        let mut rows: Vec<_> = rows.iter().filter(is_found).collect();
        sort(&mut rows, query);
        let mut languages = languages(rows.iter().copied());
        let most = if rows.len() <= FEW {
            usize::MAX
        } else {
            MOST_LANGUAGES
        };
        let left_out = languages.len().saturating_sub(most);
        languages.sort_by_key(|(_, totals)| Reverse(totals.with_resting()));
        languages.truncate(most);
        languages.sort_by_key(|(code, _)| *code);
        let totals = Totals::of(rows.iter().copied());
        let found = rows.len();
        let pages = found.div_ceil(size).max(1);
        let page = query.page.min(pages - 1);
        rows.drain(..page * size);
        rows.truncate(size);
        Self {
            rows,
            languages,
            left_out,
            found,
            first: page * size + 1,
            page,
            pages,
            totals,
        }
    }

    /// Returns whether narrow windows leave out the translations that are ready.
    pub fn is_long(&self) -> bool {
        self.rows.len() > FEW
    }
}

/// Sorts the rows by the column of the query; equal rows stay sorted by name.
fn sort(rows: &mut [&Row], query: &Query) {
    let value = |totals: &Totals| match query.column {
        Column::Name => None,
        // The furthest behind first.
        Column::Behind => totals.missing.get().map(|missing| -missing),
        Column::Completion => totals.mean.get(),
        Column::Progress => totals.last_progress.map(Timestamp::as_seconds),
    };
    let sign = if query.descending { -1.0 } else { 1.0 };
    // Unknown values come last in either direction.
    let key = |row: &Row| value(&row.totals()).map_or(f64::INFINITY, |value| sign * value);
    rows.sort_by(|one, other| key(one).total_cmp(&key(other)));
    match query.column {
        Column::Name if query.descending => rows.reverse(),
        // The gaps leave out unknown translations, which keep a repository from being ready.
        Column::Behind => rows.sort_by_key(|row| (row.totals().behind() > 0) == query.descending),
        _ => {}
    }
}
