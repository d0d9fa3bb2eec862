//! Which repositories the table shows, in which order, and which languages.

use super::query::{Column, Query, Sort};
use crate::{
    model::Timestamp,
    report::summary::{self, Language, Mean, Row},
};
use std::cmp::Reverse;

/// Rows of one page.
pub const ROWS: usize = 200;

/// If there are more languages than this, those of the fewest repositories are left out.
pub const MOST_LANGUAGES: usize = 60;

#[derive(Debug)]
pub struct Table<'a> {
    pub rows: Vec<Row<'a>>,
    /// Of all repositories that were found, in the order of their codes.
    pub languages: Vec<Language<'a>>,
    /// Languages of these repositories that are not shown.
    pub left_out: usize,
    /// Repositories that the search found.
    pub found: usize,
    /// How many of them have been read.
    pub read: usize,
    /// From 1.
    pub page: usize,
    pub pages: usize,
    /// Of all languages of the repositories that were found.
    pub mean: Mean,
    pub scale: f64,
}

impl<'a> Table<'a> {
    /// The requested rows, of all rows in the order of their names.
    pub fn new(mut rows: Vec<Row<'a>>, scale: f64, query: &Query) -> Self {
        if !query.search.is_empty() {
            let wanted = query.search.to_lowercase();
            rows.retain(|row| row.shown.repository.name.to_lowercase().contains(&wanted));
        }
        sort(&mut rows, query.sort);
        let mut languages = summary::languages(&rows, scale);
        let left_out = languages.len().saturating_sub(MOST_LANGUAGES);
        if left_out > 0 {
            languages.sort_by_key(|language| Reverse(language.repositories));
            languages.truncate(MOST_LANGUAGES);
            languages.sort_by_key(|language| language.code);
        }
        let (found, read) = (rows.len(), rows.iter().filter(|row| row.is_read()).count());
        let mean = Mean::of(&rows);
        let pages = found.div_ceil(ROWS).max(1);
        let page = query.page.min(pages);
        rows.drain(..(page - 1) * ROWS);
        rows.truncate(ROWS);
        Self {
            rows,
            languages,
            left_out,
            found,
            read,
            page,
            pages,
            mean,
            scale,
        }
    }
}

/// Equal rows stay in the order of their names.
fn sort(rows: &mut [Row<'_>], sort: Sort) {
    let value = |row: &Row<'_>| match sort.column {
        Column::Name => None,
        Column::Completion => row.mean.get(),
        Column::Progress => row.last_progress.map(Timestamp::as_seconds),
    };
    let sign = if sort.descending { -1.0 } else { 1.0 };
    // Unknown values come last in either direction.
    let place = |row: &Row<'_>| value(row).map_or(f64::INFINITY, |value| sign * value);
    rows.sort_by(|one, other| place(one).total_cmp(&place(other)));
    if sort.column == Column::Name && sort.descending {
        rows.reverse();
    }
}
