//! The dates by which translations must be ready.

use super::{Document, Row, Totals, Translation};
use crate::support::clock::Timestamp;
use std::collections::BTreeMap;

/// The translations with one date.
#[derive(Debug, Default)]
pub struct Due<'a> {
    pub totals: Totals,
    /// The translations furthest from their targets, the worst first; unknown ones come last.
    pub furthest: Vec<(&'a Row, &'a Translation)>,
}

impl<'a> Due<'a> {
    /// Adds a translation, and keeps it among the `most` furthest ones if it is behind.
    fn add(&mut self, row: &'a Row, translation: &'a Translation, most: usize) {
        self.totals.add(translation);
        let missing = translation.missing();
        let place = self
            .furthest
            .partition_point(|(_, other)| other.missing() >= missing);
        if place < most && translation.is_behind() {
            self.furthest.truncate(most - 1);
            self.furthest.insert(place, (row, translation));
        }
    }
}

impl Document {
    /// Returns the dates, the earliest first, without past dates that were met and dates of resting
    /// translations. Each date names at most `most` translations that are behind.
    pub fn dates(&self, most: usize) -> BTreeMap<Timestamp, Due<'_>> {
        let mut dates: BTreeMap<_, Due<'_>> = BTreeMap::new();
        for (row, translation) in self.translations() {
            if let Some(due) = translation.target().due
                && !translation.rests()
            {
                dates.entry(due).or_default().add(row, translation, most);
            }
        }
        dates.retain(|due, date| *due >= self.taken_at || !date.totals.is_ready());
        dates
    }
}
