//! The order of repositories and languages, and the figure by which it sorts.

use super::words::percent;
use crate::{domain::document::Totals, support::humanize::grouped};
use std::cmp::{Ordering, Reverse};

/// The order of repositories and languages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    Urgent,
    Gap,
    Name,
    Due,
}

impl Order {
    pub const ALL: [Self; 4] = [Self::Urgent, Self::Gap, Self::Name, Self::Due];

    /// Returns the order of languages beside this one of repositories: the furthest behind come
    /// first by default.
    pub fn of_languages(self) -> Self {
        match self {
            Self::Urgent => Self::Gap,
            chosen => chosen,
        }
    }

    /// Returns the value of `sort`; the default one is empty.
    pub fn label(self) -> &'static str {
        match self {
            Self::Urgent => "",
            Self::Gap => "gap",
            Self::Name => "name",
            Self::Due => "due",
        }
    }

    pub fn words(self) -> &'static str {
        match self {
            Self::Urgent => "most urgent",
            Self::Gap => "furthest behind",
            Self::Name => "name",
            Self::Due => "due date",
        }
    }

    /// Sorts items, which come sorted by name. Except by name, items come first of which something
    /// is not known.
    pub fn sort<T>(self, items: &mut [T], totals: impl Fn(&T) -> &Totals) {
        let is_known = |totals: &Totals| totals.unknown == 0;
        let due = |totals: &Totals| (totals.due.is_none(), totals.due);
        let worst = |totals: &Totals| Reverse(totals.problems.keys().next_back().copied());
        items.sort_by(|one, other| {
            let (one, other) = (totals(one), totals(other));
            let gaps = other
                .gap
                .get()
                .partial_cmp(&one.gap.get())
                .unwrap_or(Ordering::Equal);
            let known = is_known(one).cmp(&is_known(other));
            match self {
                Self::Name => Ordering::Equal,
                Self::Gap => known.then(gaps),
                Self::Due => known.then(due(one).cmp(&due(other))).then(gaps),
                Self::Urgent => known
                    .then(worst(one).cmp(&worst(other)))
                    .then(due(one).cmp(&due(other)))
                    .then(gaps),
            }
        });
    }

    /// Returns the figure by which this order sorts; a date stands elsewhere.
    pub fn figure(self, totals: &Totals) -> String {
        let missing = totals.gap.get().filter(|gap| *gap > 0.0);
        let missing = missing.map(|gap| format!("{}% missing", (gap * 100.0 - 1e-9).ceil()));
        match (self, totals.problems.last_key_value(), missing) {
            (Self::Urgent, Some((kind, count)), _) => {
                format!("{} {}", grouped(*count), kind.words())
            }
            (Self::Urgent | Self::Gap, _, Some(missing)) => missing,
            _ => percent(totals.mean.get()),
        }
    }
}
