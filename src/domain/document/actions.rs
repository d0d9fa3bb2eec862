//! The translations to act on first.

use super::{Document, Row, Translation, furthest_first};
use crate::support::clock::Timestamp;
use std::{cmp::Reverse, collections::BTreeMap};

/// The translations of one date to act on, those that hold it back most first: without a day on
/// which they are expected, and then by that day, the last one first.
#[derive(Debug)]
pub struct Group<'a> {
    /// The beginning of the day of their date.
    pub day: Option<Timestamp>,
    pub actions: Vec<(&'a Row, &'a Translation)>,
    /// The number of further ones.
    pub left: usize,
}

impl Document {
    /// Returns the translations that pass `accepts` by date; those without one come last. The dates share `most` places; each has one at least.
    pub fn actions(&self, accepts: impl Fn(&Translation) -> bool, most: usize) -> Vec<Group<'_>> {
        let mut by_day: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for (row, translation) in self.translations().filter(|(_, known)| accepts(known)) {
            let day = translation.day();
            let actions = by_day.entry((day.is_none(), day)).or_default();
            actions.push((row, translation));
        }
        let of_each = (most / by_day.len().max(1)).max(1);
        let groups = by_day.into_iter().map(|((_, day), mut actions)| {
            actions.sort_by(|(_, one), (_, other)| furthest_first(one.gap(), other.gap()));
            actions.sort_by_key(|(_, known)| {
                (
                    known.estimated_ready.is_some(),
                    Reverse(known.estimated_ready),
                )
            });
            let left = actions.split_off(of_each.min(actions.len())).len();
            Group { day, actions, left }
        });
        groups.collect()
    }
}
