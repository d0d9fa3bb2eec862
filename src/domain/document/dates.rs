//! The dates by which translations must be ready.

use super::{Row, Totals, Translation, View, furthest_first};
use crate::support::clock::Timestamp;
use std::collections::BTreeMap;

/// The translations with one date.
#[derive(Debug, Default)]
pub struct Due<'a> {
    pub totals: Totals,
    /// The translations furthest from their targets, the worst first; unknown ones come last.
    pub furthest: Vec<(&'a Row, &'a Translation)>,
}

impl View<'_> {
    /// Returns the dates, the earliest first, without past dates that were met and dates of resting
    /// translations. Each date names at most `most` translations that are behind.
    pub fn dates(&self, most: usize) -> BTreeMap<Timestamp, Due<'_>> {
        let mut dates: BTreeMap<_, Due<'_>> = BTreeMap::new();
        for (row, translation) in self.translations() {
            if let Some(at) = translation.target().due
                && !translation.rests()
            {
                let due = dates.entry(at).or_default();
                due.totals.add(translation);
                if translation.is_unready() {
                    due.furthest.push((row, translation));
                }
            }
        }
        dates.retain(|at, due| *at >= self.document.taken_at || !due.totals.is_ready());
        for due in dates.values_mut() {
            furthest_first(&mut due.furthest, |(_, one)| one.gap());
            due.furthest.truncate(most);
        }
        dates
    }
}
