//! The translations to act on first.

use super::{Document, Row, Translation, furthest_first};
use crate::support::clock::Timestamp;
use std::collections::BTreeMap;

/// The translations of one date to act on, the furthest behind first.
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
    /// one come last. A date has at most `of_each` of them, and all dates together `in_all`.
    pub fn actions(
        &self,
        accepts: impl Fn(&Row, &Translation) -> bool,
        of_each: usize,
        in_all: usize,
    ) -> Vec<Group<'_>> {
        let mut by_day: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for row in &self.rows {
            for translation in row.known.iter().filter(|known| accepts(row, known)) {
                let day = translation.day();
                let actions = by_day.entry((day.is_none(), day)).or_default();
                actions.push((row, translation));
            }
        }
        let mut room = in_all;
        let groups = by_day.into_iter().map(|((_, day), mut actions)| {
            actions.sort_by(|(_, one), (_, other)| furthest_first(one.gap(), other.gap()));
            let shown = actions.len().min(of_each).min(room);
            room -= shown;
            let left = actions.split_off(shown).len();
            Group { day, actions, left }
        });
        groups.collect()
    }
}
