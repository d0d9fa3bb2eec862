//! The order of repositories and languages, and the figure by which it sorts.

use super::words::percent;
use crate::{
    domain::document::{Totals, furthest_first},
    support::humanize::grouped,
};
use std::cmp::{Ordering, Reverse};

/// The order of repositories or languages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    Urgent,
    Gap,
    Name,
}

impl Order {
    /// The orders, each with its value of `sort` and its name for people.
    pub const ALL: [(Self, &str, &str); 3] = [
        (Self::Urgent, "", "most urgent"),
        (Self::Gap, "gap", "furthest behind"),
        (Self::Name, "name", "name"),
    ];

    /// Sorts items, which come sorted by name. Items of which something is not known come before
    /// those without a problem, and first by their gap.
    pub fn sort<T>(self, items: &mut [T], totals: impl Fn(&T) -> &Totals) {
        let urgency = |totals: &Totals| {
            let worst = totals.problems.keys().next_back().copied();
            (Reverse(worst), totals.due.is_none(), totals.due)
        };
        items.sort_by(|one, other| {
            let (one, other) = (totals(one), totals(other));
            let gaps = furthest_first(one.gap(), other.gap());
            let known = (one.unknown == 0).cmp(&(other.unknown == 0));
            match self {
                Self::Urgent => urgency(one).cmp(&urgency(other)).then(known).then(gaps),
                Self::Gap => known.then(gaps),
                Self::Name => Ordering::Equal,
            }
        });
    }

    /// Returns the figure by which this order sorts; a date stands elsewhere.
    pub fn figure(self, totals: &Totals) -> String {
        let missing = totals.gap().filter(|gap| *gap > 0.0);
        match (totals.problems.last_key_value(), missing) {
            (Some((kind, count)), _) if self == Self::Urgent => {
                format!("{} {}", grouped(*count), kind.words())
            }
            (_, Some(gap)) => format!("{}% missing", (gap * 100.0 - 1e-9).ceil()),
            _ => percent(totals.mean()),
        }
    }
}
