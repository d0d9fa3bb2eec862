//! The translations to act on first.

use super::{Row, Translation, View, furthest_first};
use crate::domain::TranslationProblem;

impl View<'_> {
    /// Returns the translations with a problem of these kinds, or without kinds all unready ones:
    /// by date, then by gap. One without a date comes last. Stale ones are among them.
    pub fn actions(&self, kinds: &[TranslationProblem]) -> Vec<(&Row, &Translation)> {
        let rows = self.rows.iter();
        let known = rows.flat_map(|row| row.known.iter().map(move |one| (row, one)));
        let mut actions: Vec<_> = known
            .filter(|(_, one)| {
                kinds.is_empty() && one.is_unready() || kinds.iter().any(|kind| one.has(*kind))
            })
            .collect();
        actions.sort_by(|(_, one), (_, other)| {
            let due = |one: &Translation| (one.target().due.is_none(), one.target().due);
            let gaps = furthest_first(one.gap(), other.gap());
            due(one).cmp(&due(other)).then(gaps)
        });
        actions
    }
}
