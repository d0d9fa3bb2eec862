//! The grid of repositories by languages: a search, a filter, an order, and one page of rows.

use super::query::Query;
use crate::domain::document::{Row, Totals, Translation};
use std::collections::BTreeSet;

/// The number of rows on a page.
pub const ROWS: usize = 200;

#[derive(Debug)]
pub struct Grid<'a> {
    /// The repositories with something unready, each with its totals.
    pub rows: Vec<(&'a Row, Totals)>,
    /// The repositories that are ready in everything.
    pub done: Vec<&'a Row>,
    /// The languages of all found repositories, sorted by code.
    pub languages: BTreeSet<&'a str>,
    /// The number of repositories that match the query.
    pub found: usize,
    /// The number of this page, from 1.
    pub page: usize,
    pub pages: usize,
}

impl<'a> Grid<'a> {
    /// Selects and sorts `rows`, which come sorted by name, and keeps one page of at most `size`.
    /// Stale repositories have the figures of their last read.
    pub fn new(rows: impl Iterator<Item = &'a Row>, query: &Query, size: usize) -> Self {
        let wanted = query.get("q").trim().to_lowercase();
        let all = rows.filter(|row| row.name().to_lowercase().contains(&wanted));
        let all = all.map(|row| (row, Totals::of(&*row.known)));
        let found = all.filter(|(_, totals)| {
            let only = query.only();
            only.is_none_or(|kinds| kinds.iter().any(|kind| totals.count(*kind) > 0))
        });
        let found: Vec<_> = found.collect();
        let count = found.len();
        let codes = found
            .iter()
            .flat_map(|(row, _)| row.known.iter().map(Translation::code));
        let languages = codes.collect();
        let is_done = |(row, totals): &(&Row, Totals)| {
            let is_whole = row.is_read() && row.unreadable() == 0;
            is_whole && totals.unready() == 0 && totals.counted() > 0
        };
        let (done, mut rows): (Vec<_>, Vec<_>) = found.into_iter().partition(is_done);
        query.order().sort(&mut rows, |(_, totals)| totals);
        let pages = rows.len().div_ceil(size).max(1);
        let page = query.get("page").parse().unwrap_or(1).clamp(1, pages);
        rows.drain(..(page - 1) * size);
        rows.truncate(size);
        Self {
            rows,
            done: done.into_iter().map(|(row, _)| row).collect(),
            languages,
            found: count,
            page,
            pages,
        }
    }
}
