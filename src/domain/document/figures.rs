//! The figures of a document: rows, counts and totals.

use super::{Departed, Document, Row, Totals, Translation};
use crate::support::clock::{DAY, Timestamp};
use std::collections::BTreeMap;

impl Document {
    /// Returns the rows to list: a read repository without a chosen language has nothing to show.
    pub fn listed(&self) -> impl Iterator<Item = &Row> + Clone {
        let has_all = self.selection.has_all_translations();
        let is_listed = move |row: &&Row| has_all || !row.known.is_empty() || !row.is_read();
        self.rows.iter().filter(is_listed)
    }

    /// Returns the listed rows that pass `accepts` with the totals of their last good read, the most
    /// urgent first.
    pub fn by_urgency(&self, accepts: impl Fn(&Row) -> bool) -> Vec<(&Row, Totals)> {
        let rows = self.listed().filter(|row| accepts(row));
        let mut rows: Vec<_> = rows.map(|row| (row, Totals::of(&*row.known))).collect();
        rows.sort_by(|(_, one), (_, other)| one.urgency(other));
        rows
    }

    /// Returns each shown translation with its repository.
    pub fn translations(&self) -> impl Iterator<Item = (&Row, &Translation)> {
        let rows = self.rows.iter();
        rows.flat_map(|row| row.translations().iter().map(move |known| (row, known)))
    }

    /// Returns the totals by a key of translations, such as their codes.
    pub fn totals_by<'b, K: Ord>(
        &'b self,
        key: impl Fn(&'b Translation) -> K,
    ) -> BTreeMap<K, Totals> {
        let mut totals: BTreeMap<_, Totals> = BTreeMap::new();
        for (_, translation) in self.translations() {
            totals.entry(key(translation)).or_default().add(translation);
        }
        totals
    }

    /// Returns the totals by the day of the date (UTC), and last the totals without a date.
    pub fn dates(&self) -> impl Iterator<Item = (Option<Timestamp>, Totals)> {
        let mut totals = self.totals_by(Translation::day);
        let undated = totals.remove(&None).unwrap_or_default();
        totals.into_iter().chain([(None, undated)])
    }

    /// Counts the repositories that pass `accepts`.
    pub fn count(&self, accepts: impl Fn(&Row) -> bool) -> usize {
        self.rows.iter().filter(|row| accepts(row)).count()
    }

    /// Counts the repositories whose languages are not shown.
    pub fn unread(&self) -> usize {
        self.count(|row| !row.is_read())
    }

    /// Counts the repositories that the last poll did not read.
    pub fn outdated(&self) -> usize {
        self.count(|row| !row.is_current())
    }

    /// Counts the reported completions outside the scale.
    pub fn out_of_scale(&self) -> usize {
        let scale = self.settings.scale;
        let completions = self
            .translations()
            .filter_map(|(_, known)| known.completion);
        let outside = completions.filter(|completion| scale.ratio(*completion).is_none());
        outside.count()
    }

    /// Returns the chosen translations that left within a day.
    pub fn departed(&self) -> impl Iterator<Item = &Departed> {
        self.left_since(self.taken_at.saturating_sub(DAY))
    }

    /// Returns the chosen translations that left within a day and were not ready.
    pub fn left_unready(&self) -> impl Iterator<Item = &Departed> {
        self.departed().filter(|departed| !departed.was_met)
    }

    /// Returns the chosen translations that left since a time.
    pub fn left_since(&self, since: Timestamp) -> impl Iterator<Item = &Departed> {
        self.departed
            .iter()
            .filter(move |departed| departed.left_at > since)
    }

    /// Returns the code of each language with the name that the first repository gives it; the
    /// name is empty if no repository has one.
    pub fn language_names(&self) -> BTreeMap<&str, &str> {
        let mut names = BTreeMap::<_, &str>::new();
        for (_, listed) in self.translations().filter(|(_, known)| !known.is_missing) {
            let name = names.entry(listed.code()).or_default();
            if name.is_empty() {
                *name = &*listed.language.name;
            }
        }
        names
    }

    /// Returns whether what nothing matches is known: not of a part, nor while languages of a
    /// repository are unknown, because others may match.
    fn is_all_known(&self) -> bool {
        self.selection.is_everything() && self.unread() == 0
    }

    /// Returns the entries of `targets` that apply to no language.
    pub fn unused_targets(&self) -> Vec<String> {
        let entries = self.settings.targets.0.iter();
        let unused = entries.filter(|entry| {
            // The target of `--require` is nobody's typo.
            let is_of_all = entry.repositories.items.is_empty() && entry.languages.items.is_empty();
            let mut used = self
                .translations()
                .filter_map(|(_, known)| known.entry.as_ref());
            self.is_all_known() && !is_of_all && !used.any(|used| used == *entry)
        });
        unused.map(|entry| entry.globs()).collect()
    }

    /// Returns the excluding globs of `filter` that match nothing.
    pub fn unused_globs(&self) -> impl Iterator<Item = &str> {
        let left_out = self.filtered.iter();
        let left_out = left_out.map(|left_out| &*left_out.repository.name);
        let codes = self.excluded.iter().map(|code| &**code);
        let filter = &self.settings.filter;
        let unused = filter.exclude.unused(left_out);
        let unused = unused.chain(filter.exclude_languages.unused(codes));
        unused.filter(|_| self.is_all_known())
    }
}
