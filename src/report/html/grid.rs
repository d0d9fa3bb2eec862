//! The grid of repositories by languages: a search, a filter, and one page of rows.

use super::{Page, page::MOST};
use crate::domain::document::{Row, Tone, Totals, Translation};
use std::collections::BTreeSet;

#[derive(Debug)]
pub struct Grid<'a> {
    /// The repositories with something unready, each with its totals, the most urgent first.
    pub rows: Vec<(&'a Row, Totals)>,
    /// The repositories that are ready in everything.
    pub done: Vec<(&'a Row, Totals)>,
    /// The languages of all found repositories, sorted by code.
    pub languages: BTreeSet<&'a str>,
    /// The number of repositories that match the query.
    pub found: usize,
    /// The number of this page, from 1.
    pub page: usize,
    pub pages: usize,
}

impl Page<'_> {
    /// Selects the repositories with a translation that the list shows, sorts them, and keeps one
    /// page of them.
    pub(super) fn grid(&self) -> Grid<'_> {
        let wanted = self.query.get("q").trim().to_lowercase();
        let found = self.document.by_urgency(|row| {
            let is_found = row.name().to_lowercase().contains(&wanted);
            let is_shown = row.known.is_empty() && self.query.get("only").is_empty();
            is_found && (is_shown || row.known.iter().any(|known| self.shows(known)))
        });
        let count = found.len();
        let known = found.iter().flat_map(|(row, _)| &*row.known);
        let languages = known.map(Translation::code).collect();
        let is_done = |(row, totals): &(&Row, Totals)| {
            let is_whole = row.is_read() && row.unreadable() == 0;
            is_whole && totals.tone() == Tone::Ready
        };
        let (done, mut rows): (Vec<_>, Vec<_>) = found.into_iter().partition(is_done);
        let size = if self.is_file() { usize::MAX } else { MOST };
        let pages = rows.len().div_ceil(size).max(1);
        let page = self.query.get("page").parse().unwrap_or(1).clamp(1, pages);
        rows.drain(..(page - 1) * size);
        rows.truncate(size);
        Grid {
            rows,
            done,
            languages,
            found: count,
            page,
            pages,
        }
    }
}
