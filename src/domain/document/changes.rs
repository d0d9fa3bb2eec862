//! The changes since an earlier day, out of the records of days.
//!
//! A translation is compared with its last completion before that day, or with its first one if
//! that is younger. Today's target judges both.

use super::{Document, Translation};
use crate::{
    domain::{Change, Standing, history::History, twelve_decimals},
    support::clock::Timestamp,
};
use std::collections::BTreeMap;

impl Document {
    /// Returns the ratio of a translation before the day that begins at `since`; `None` if it was
    /// not known.
    pub fn earlier(&self, translation: &Translation, since: Timestamp) -> Option<f64> {
        let before = translation.history.as_ref()?.before(since);
        let ratio = self.settings.scale.ratio(before);
        ratio.filter(|_| !self.is_scale_suspect)
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
        let earlier = self.earlier(translation, since);
        let was_met = earlier.map(|ratio| translation.target().is_met_by(ratio));
        let fall = self
            .change(translation, since)
            .filter(|_| !translation.rests());
        let is_overdue = translation.standing() == Standing::Overdue;
        let regressed_by = *self.settings.thresholds.regressed_by;
        let is_unready = was_met == Some(true) && translation.is_unready();
        let is_ready = was_met == Some(false) && translation.is_ready();
        let changes = [
            is_unready.then_some(Change::Unready),
            fall.filter(|change| -change >= regressed_by)
                .map(|_| Change::Fell),
            (is_overdue && *translation.target().due >= Some(since)).then_some(Change::Overdue),
            is_ready.then_some(Change::Ready),
        ];
        changes.into_iter().flatten()
    }

    /// Counts the changes by kind, each by itself.
    pub fn change_counts(&self, since: Timestamp) -> BTreeMap<Change, usize> {
        let mut counts = BTreeMap::new();
        let left = self.left_since(since).map(|_| Change::Left);
        let of_known = |(_, known)| self.changes(known, since);
        for change in self.translations().flat_map(of_known).chain(left) {
            *counts.entry(change).or_default() += 1;
        }
        counts
    }

    /// Returns the first day of which anything is known.
    pub fn first_date(&self) -> Option<Timestamp> {
        let histories = self
            .translations()
            .filter_map(|(_, known)| known.history.as_ref());
        histories.map(History::first_date).min()
    }
}
