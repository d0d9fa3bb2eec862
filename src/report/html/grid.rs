//! The grid of repositories by languages: a search, a filter, an order, and one page of rows.

use super::query::Query;
use crate::domain::document::{Row, languages, worst_first};

/// The number of rows on a page.
pub const ROWS: usize = 200;

#[derive(Debug)]
pub struct Grid<'a> {
    pub rows: Vec<&'a Row>,
    /// The languages of all found repositories, sorted by code.
    pub languages: Vec<&'a str>,
    /// The number of repositories that match the query.
    pub found: usize,
    /// The number of this page, from 1.
    pub page: usize,
    pub pages: usize,
}

impl<'a> Grid<'a> {
    /// Selects and sorts `rows`, which come sorted by name, and keeps one page of at most `size`.
    pub fn new(rows: &'a [Row], query: &Query, size: usize) -> Self {
        let (wanted, only) = (query.q.trim().to_lowercase(), query.only());
        let found = rows.iter().filter(|row| {
            row.name().to_lowercase().contains(&wanted)
                && only.is_none_or(|kind| row.totals.count(kind) > 0)
        });
        let mut rows = if query.is_by_name() {
            found.collect()
        } else {
            worst_first(found)
        };
        let languages = languages(rows.iter().copied()).into_iter();
        let languages = languages.map(|(code, _)| code).collect();
        let found = rows.len();
        let pages = found.div_ceil(size).max(1);
        let page = query.page.clamp(1, pages);
        rows.drain(..(page - 1) * size);
        rows.truncate(size);
        Self {
            rows,
            languages,
            found,
            page,
            pages,
        }
    }
}
