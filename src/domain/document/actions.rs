//! The translations to act on first.

use super::{Document, Row, Translation, furthest_first};
use crate::support::clock::Timestamp;
use std::{cmp::Reverse, collections::BTreeMap};

/// The translations of one date to act on, those that hold it back most first: without an expected
/// day, and then by that day, the last one first.
#[derive(Debug)]
pub struct Group<'a> {
    /// The beginning of the day of their date.
    pub day: Option<Timestamp>,
    pub actions: Vec<(&'a Row, &'a Translation)>,
    /// The number of further ones.
    pub left: usize,
}

impl Document {
    /// Returns the translations that pass `accepts`, stale ones among them, by date; those without
    /// one come last. The dates share `places` evenly. If there are more dates than places, the first
    /// ones have one each.
    pub fn actions(
        &self,
        accepts: impl Fn(&Row, &Translation) -> bool,
        mut places: usize,
    ) -> Vec<Group<'_>> {
        let mut by_day: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for row in &self.rows {
            for translation in row.known.iter().filter(|known| accepts(row, known)) {
                let day = translation.day();
                let actions = by_day.entry((day.is_none(), day)).or_default();
                actions.push((row, translation));
            }
        }
        let of_each = (places / by_day.len().max(1)).max(1);
        let groups = by_day.into_iter().map(|((_, day), mut actions)| {
            actions.sort_by(|(_, one), (_, other)| furthest_first(one.gap(), other.gap()));
            actions.sort_by_key(|(_, known)| known.estimated_ready.map(Reverse));
            let shown = of_each.min(places).min(actions.len());
            places -= shown;
            let left = actions.split_off(shown).len();
            Group { day, actions, left }
        });
        groups.collect()
    }
}
