//! Which repositories the table shows, in which order, and which languages.

use super::query::{Column, Query};
use crate::report::summary::{self, Language, Mean, Row};
use std::cmp::{Ordering, Reverse};

/// Rows of one page.
pub const ROWS: usize = 200;

/// Of more languages than this, those that the fewest repositories have are left out.
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
    /// Of all rows, in the order of their names, those that are asked for.
    pub fn new(mut rows: Vec<Row<'a>>, scale: f64, query: &Query) -> Self {
        if !query.search.is_empty() {
            let wanted = query.search.to_lowercase();
            rows.retain(|row| row.shown.repository.name.to_lowercase().contains(&wanted));
        }
        sort(&mut rows, query);
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
        Self { rows, languages, left_out, found, read, page, pages, mean, scale }
    }
}

/// What is unknown stands last, whichever way the rest goes; of equals the name decides.
fn sort(rows: &mut [Row<'_>], query: &Query) {
    fn unknown_last<T>(a: Option<T>, b: Option<T>, known: impl Fn(T, T) -> Ordering) -> Ordering {
        match (a, b) {
            (Some(a), Some(b)) => known(a, b),
            (a, b) => a.is_none().cmp(&b.is_none()),
        }
    }
    let descending = query.sort.descending;
    let turn = move |ordering: Ordering| if descending { ordering.reverse() } else { ordering };
    match query.sort.column {
        Column::Name if descending => rows.reverse(),
        // A snapshot is in the order of the names.
        Column::Name => {}
        Column::Completion => {
            rows.sort_by(|a, b| unknown_last(a.mean.get(), b.mean.get(), |a, b| turn(a.total_cmp(&b))));
        }
        Column::Progress => {
            rows.sort_by(|a, b| unknown_last(a.last_progress, b.last_progress, |a, b| turn(a.cmp(&b))));
        }
    }
}
