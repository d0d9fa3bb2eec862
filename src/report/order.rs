//! The order of repositories and languages.

use crate::domain::document::{Totals, furthest_first};
use std::cmp::Ordering;

/// The order of repositories or languages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    Due,
    Gap,
    Name,
}

impl Order {
    /// The orders, each with its value of `sort` and its name for people.
    pub const ALL: [(Self, &str, &str); 3] = [
        (Self::Due, "", "most urgent, by due date"),
        (Self::Gap, "gap", "furthest behind"),
        (Self::Name, "name", "name"),
    ];

    /// Sorts items, which come sorted by name. Items of which something is not known come before
    /// those without a problem, and first by their gap.
    pub fn sort<T>(self, items: &mut [T], totals: impl Fn(&T) -> &Totals) {
        let due = |totals: &Totals| (totals.due.is_none(), totals.due);
        items.sort_by(|one, other| {
            let (one, other) = (totals(one), totals(other));
            let gaps = furthest_first(one.gap(), other.gap());
            let known = (one.unknown() == 0).cmp(&(other.unknown() == 0));
            match self {
                Self::Due => due(one).cmp(&due(other)).then(known).then(gaps),
                Self::Gap => known.then(gaps),
                Self::Name => Ordering::Equal,
            }
        });
    }
}
