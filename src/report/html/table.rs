//! Which repositories the table shows, in which order, and which languages.

use super::query::{Column, Query};
use crate::{
    domain::readiness::{self, Row, Totals},
    support::clock::Timestamp,
};
use std::cmp::Reverse;

/// Rows of one page.
pub const ROWS: usize = 200;

/// If there are more languages than this, those of the fewest repositories are left out, unless few repositories are shown.
pub const MOST_LANGUAGES: usize = 60;

/// So few repositories show all of their languages.
const FEW: usize = 20;

#[derive(Debug)]
pub struct Table<'a> {
    pub rows: Vec<Row<'a>>,
    /// Of all repositories that were found, in the order of their codes.
    pub languages: Vec<(&'a str, Totals)>,
    /// Languages of these repositories that are not shown.
    pub left_out: usize,
    /// Repositories that the search found.
    pub found: usize,
    /// How many of them have been read.
    pub read: usize,
    /// The number of the first row, from 1.
    pub first: usize,
    /// How many pages precede this one.
    pub page: usize,
    pub pages: usize,
    /// Of all languages of the repositories that were found.
    pub totals: Totals,
}

impl<'a> Table<'a> {
    /// The requested rows, at most `size`, of all rows in the order of their names.
    pub fn new(mut rows: Vec<Row<'a>>, query: &Query, size: usize, now: Timestamp) -> Self {
        if !query.search.is_empty() {
            let wanted = query.search.to_lowercase();
            rows.retain(|row| row.shown.repository.name.to_lowercase().contains(&wanted));
        }
        if query.stalled {
            rows.retain(|row| row.totals.stalled > 0);
        }
        sort(&mut rows, query);
        let mut languages = readiness::languages(&rows, now);
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

/// Equal rows stay in the order of their names.
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
    if query.column == Column::Name && query.descending {
        rows.reverse();
    }
}
