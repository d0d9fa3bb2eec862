//! The translations to act on first.

use super::{Row, Translation, View, furthest_first};

impl View<'_> {
    /// Returns the translations that pass `accepts`: by date, then by gap. One without a date comes
    /// last. Stale ones are among them.
    pub fn actions(&self, accepts: impl Fn(&Translation) -> bool) -> Vec<(&Row, &Translation)> {
        let rows = self.rows.iter();
        let known = rows.flat_map(|row| row.known.iter().map(move |one| (row, one)));
        let mut actions: Vec<_> = known.filter(|(_, one)| accepts(one)).collect();
        actions.sort_by(|(_, one), (_, other)| {
            let due = |one: &Translation| (one.target().due.is_none(), one.target().due);
            let gaps = furthest_first(one.gap(), other.gap());
            due(one).cmp(&due(other)).then(gaps)
        });
        actions
    }
}
