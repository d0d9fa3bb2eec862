//! The translations to act on first, and the changes since an earlier time.

use super::{Readiness, Row, Translation, View, furthest_first};
use crate::{domain::TranslationProblem, support::clock::Timestamp};

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

impl Translation {
    /// Returns the state that the translation has entered since `at`, when it had the ratio
    /// `earlier`: `overdue`, `unready` after it was ready, or `ready`. Judges then and now by
    /// today's target.
    pub fn became(&self, earlier: Option<f64>, at: Timestamp) -> Option<&'static str> {
        let was_met = earlier.map(|ratio| ratio >= self.target().ratio);
        // Across a suspect scale nothing is compared.
        let has_scale = self.ratio.is_some() || self.completion.is_none();
        let is_comparable = has_scale && !self.is_missing;
        let is_due = self.target().due.is_some_and(|due| due >= at);
        match self.readiness {
            Readiness::Ready if was_met == Some(false) => Some("ready"),
            _ if is_due && self.has(TranslationProblem::Overdue) => Some("overdue"),
            Readiness::Behind | Readiness::Unknown if was_met == Some(true) && is_comparable => {
                Some("unready")
            }
            _ => None,
        }
    }
}
