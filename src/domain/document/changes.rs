//! The changes since an earlier day, out of the records of days.
//!
//! A translation is compared with its last completion before that day, or with its first one if
//! that is younger. Today's target judges both.

use super::{Document, Translation, View};
use crate::{
    domain::{Change, TranslationProblem, history::History, twelve_decimals},
    support::clock::Timestamp,
};
use std::collections::BTreeMap;

impl Document {
    /// Returns the ratio of a translation before the day that begins at `since`; `None` if it was
    /// not known.
    pub fn earlier(&self, translation: &Translation, since: Timestamp) -> Option<f64> {
        let history = translation
            .history
            .as_ref()
            .filter(|_| !self.is_scale_suspect)?;
        self.settings.scale.ratio(history.before(since))
    }

    /// Returns the difference between the ratio of a translation and its earlier one.
    pub fn change(&self, translation: &Translation, since: Timestamp) -> Option<f64> {
        let earlier = self.earlier(translation, since)?;
        Some(twelve_decimals(translation.ratio? - earlier))
    }

    /// Returns the kinds of changes of a translation that is still there.
    pub fn changes(
        &self,
        translation: &Translation,
        since: Timestamp,
    ) -> impl Iterator<Item = Change> {
        let target = translation.target();
        let earlier = self.earlier(translation, since);
        let was_met = earlier.map(|ratio| target.is_met_by(ratio));
        let change = self.change(translation, since);
        let regressed_by = *self.settings.thresholds.regressed_by;
        let is_due = target.due.is_some_and(|due| due >= since);
        let changes = [
            (
                Change::Unready,
                was_met == Some(true) && translation.is_unready(),
            ),
            (
                Change::Fell,
                !translation.rests() && change.is_some_and(|change| -change >= regressed_by),
            ),
            (
                Change::Overdue,
                is_due && translation.has(TranslationProblem::Overdue),
            ),
            (
                Change::Ready,
                was_met == Some(false) && translation.is_ready(),
            ),
        ];
        let changes = changes.into_iter().filter(|(_, has_changed)| *has_changed);
        changes.map(|(change, _)| change)
    }
}

impl View<'_> {
    /// Counts the changes by kind, each by itself.
    pub fn changes(&self, since: Timestamp) -> BTreeMap<Change, usize> {
        let mut counts = BTreeMap::new();
        let left = self.left_since(since).map(|_| Change::Left);
        let translations = self.translations();
        let changes =
            translations.flat_map(|(_, translation)| self.document.changes(translation, since));
        for change in changes.chain(left) {
            *counts.entry(change).or_default() += 1;
        }
        counts
    }

    /// Returns the first day of which anything is known.
    pub fn first_date(&self) -> Option<Timestamp> {
        let translations = self.translations().map(|(_, translation)| translation);
        let histories = translations.filter_map(|translation| translation.history.as_ref());
        histories.map(History::first_date).min()
    }
}
