//! Views: the whole document, or a selection of its repositories and languages.

use super::{Departed, Document, Row, Selection, Totals, Translation};
use crate::{
    domain::{State, targets::TargetEntry},
    support::clock::{DAY, Timestamp},
};
use std::{
    borrow::Cow,
    collections::BTreeMap,
    sync::{Arc, LazyLock},
};

/// The chosen rows of a document with their chosen translations.
///
/// A view has its own verdict, counts, ages and findings. The fields of the document itself, such
/// as the last poll, are about the whole account.
#[derive(Debug, Clone)]
pub struct View<'a> {
    pub document: &'a Document,
    pub selection: &'a Selection,
    /// All chosen repositories, sorted by name.
    pub rows: Cow<'a, [Row]>,
    pub totals: Totals,
    /// The time of the last read if the data are stale, and shown as what was last known.
    pub as_of: Option<Timestamp>,
}

impl Document {
    /// Returns the view of everything.
    pub fn whole(&self) -> View<'_> {
        static EVERYTHING: LazyLock<Selection> = LazyLock::new(Selection::default);
        self.select(&EVERYTHING)
    }

    /// Returns the view of the chosen repositories and languages.
    pub fn select<'a>(&'a self, selection: &'a Selection) -> View<'a> {
        let (rows, totals) = if selection.is_everything() {
            (Cow::Borrowed(&*self.rows), self.totals.clone())
        } else {
            let rows = self.rows.iter();
            let rows: Vec<_> = rows.filter_map(|row| selection.of_row(row)).collect();
            let totals = Totals::of_rows(&rows);
            (rows.into(), totals)
        };
        View {
            document: self,
            selection,
            rows,
            totals,
            as_of: None,
        }
    }
}

impl<'a> View<'a> {
    /// Returns a document of the chosen rows, for the metrics of the view.
    pub fn to_document(&self) -> Document {
        Document {
            rows: self.rows.to_vec(),
            totals: self.totals.clone(),
            departed: self.departed().cloned().collect(),
            ..self.document.clone()
        }
    }

    /// Returns the rows to list: a read repository without a chosen language has nothing to show.
    pub fn listed(&self) -> impl Iterator<Item = &Row> + Clone {
        let has_all = self.selection.has_all_translations();
        let rows = self.rows.iter();
        rows.filter(move |row| has_all || !row.known.is_empty() || !row.is_read())
    }

    /// Returns the view with its stale data as if they were shown, if there are no others.
    pub fn last_known(&self) -> Option<Self> {
        if self.totals.with_resting() > 0 {
            return None;
        }
        let stale = self.rows.iter().filter(|row| !row.known.is_empty());
        let as_of = stale.filter_map(|row| row.read_at).max()?;
        let mut rows = self.rows.to_vec();
        for row in rows.iter_mut().filter(|row| row.state == State::Stale) {
            row.state = State::Failing;
        }
        Some(Self {
            as_of: Some(as_of),
            totals: Totals::of_rows(&rows),
            rows: rows.into(),
            ..self.clone()
        })
    }

    /// Returns each shown translation with its repository.
    pub fn translations(&self) -> impl Iterator<Item = (&Row, &Translation)> + Clone {
        translations(&*self.rows)
    }

    /// Returns the totals by the day of the date (UTC), and last the totals without a date.
    pub fn dates(&self) -> impl Iterator<Item = (Option<Timestamp>, Totals)> {
        let mut totals = totals_by(&*self.rows, |translation| {
            let day = translation.day();
            (day.is_none(), day)
        });
        totals.entry((true, None)).or_default();
        totals.into_iter().map(|((_, day), totals)| (day, totals))
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
        let scale = self.document.settings.scale;
        let completions = self.translations().filter_map(|(_, one)| one.completion);
        completions
            .filter(|completion| scale.ratio(*completion).is_none())
            .count()
    }

    /// Returns the chosen translations that left within a day.
    pub fn departed(&self) -> impl Iterator<Item = &'a Departed> {
        self.left_since(self.document.taken_at.saturating_sub(DAY))
    }

    /// Returns the chosen translations that left since a time.
    pub fn left_since(&self, since: Timestamp) -> impl Iterator<Item = &'a Departed> {
        let (departed, selection) = (self.document.departed.iter(), self.selection);
        departed.filter(move |departed| {
            departed.left_at > since
                && selection.has_repository(&departed.repository)
                && selection.has_language(&departed.language)
        })
    }

    /// Returns the code of each language with the name that the first repository gives it; the
    /// name is empty if no repository has one.
    pub fn language_names(&self) -> BTreeMap<&str, &str> {
        let mut names = BTreeMap::<_, &str>::new();
        for (_, one) in self.translations().filter(|(_, one)| !one.is_missing) {
            let name = names.entry(one.code()).or_default();
            if name.is_empty() {
                *name = &*one.language.name;
            }
        }
        names
    }

    /// Returns the entries of `targets` that apply to no language; none of a part, or while
    /// languages of a repository are unknown, because others may use them.
    pub fn unused_targets(&self) -> Vec<&'a TargetEntry> {
        if !self.selection.is_everything() || self.unread() > 0 {
            return Vec::new();
        }
        let entries = self.document.settings.targets.0.iter();
        let unused = entries.map(Arc::as_ref).filter(|entry| {
            // The target of `--require` is nobody's typo.
            let is_of_all = entry.repositories.is_none() && entry.languages.is_none();
            let mut shown = self.translations();
            !is_of_all && !shown.any(|(_, one)| one.entry.as_deref() == Some(*entry))
        });
        unused.collect()
    }
}

/// Returns each shown translation of these rows with its repository.
pub fn translations<'a>(
    rows: impl IntoIterator<Item = &'a Row, IntoIter: Clone>,
) -> impl Iterator<Item = (&'a Row, &'a Translation)> + Clone {
    rows.into_iter()
        .flat_map(|row| row.translations().iter().map(move |one| (row, one)))
}

/// Returns the totals of the shown translations of these rows by a key, such as their codes.
pub fn totals_by<'a, K: Ord>(
    rows: impl IntoIterator<Item = &'a Row, IntoIter: Clone>,
    key: impl Fn(&'a Translation) -> K,
) -> BTreeMap<K, Totals> {
    let mut totals: BTreeMap<_, Totals> = BTreeMap::new();
    for (_, translation) in translations(rows) {
        totals.entry(key(translation)).or_default().add(translation);
    }
    totals
}
