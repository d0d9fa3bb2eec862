//! The verdict: the readiness of a view as a whole, its tone, and the doubts about it. Gate,
//! headline, `languages`, badge, JSON and the CI action read it here.

use super::{Readiness, Row, Translation, View, row_of};
use crate::domain::TranslationProblem;
use std::collections::{BTreeMap, BTreeSet};

/// A reason why more may be behind than is known.
#[derive(Debug, Clone)]
pub enum Doubt<'a> {
    /// No poll has ended yet.
    NotPolled,
    /// The last listing did not reach its end.
    NotListed,
    /// The removal of this number of repositories waits for its confirmation.
    Removal(usize),
    /// There are targets for repositories that are not listed, or that the filter with this key
    /// leaves out.
    Unlisted(Option<&'static str>, BTreeSet<&'a str>),
    /// The last poll did not read this number of repositories.
    Unread(usize),
    /// This number of entries of the API's responses could not be used.
    Unreadable(usize),
    /// There are targets for translations that do not exist.
    Missing(Vec<(&'a Row, &'a Translation)>),
    /// The scale of this number of completions is in doubt.
    Scale(usize),
    /// This number of translations has no known completion.
    Unknown(usize),
}

impl Doubt<'_> {
    /// Returns whether any language may have translations that are not shown.
    pub fn hides_translations(&self) -> bool {
        !matches!(self, Self::Missing(_) | Self::Scale(_) | Self::Unknown(_))
    }
}

/// The tone in which outputs tell a verdict, the worst first: each has its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    Overdue,
    /// A translation has another problem, or is not known; or a repository is not.
    Troubled,
    /// Something is behind, or in doubt.
    Behind,
    /// No completion is known, or everything rests.
    Silent,
    Ready,
}

impl View<'_> {
    /// Judges the readiness as a whole: behind as soon as one translation is, otherwise unknown as
    /// long as something is.
    pub fn readiness(&self) -> Readiness {
        match () {
            () if self.totals.behind() > 0 => Readiness::Behind,
            () if self.totals.with_resting() == 0 || !self.doubts().is_empty() => {
                Readiness::Unknown
            }
            () if self.totals.counted() == 0 => Readiness::Resting,
            () => Readiness::Ready,
        }
    }

    /// Returns the tone of the readiness.
    pub fn tone(&self) -> Tone {
        let totals = &self.totals;
        match self.readiness() {
            _ if self.as_of.is_some() => Tone::Silent,
            _ if totals.count(TranslationProblem::Overdue) > 0 => Tone::Overdue,
            Readiness::Ready => Tone::Ready,
            _ if self.unread() > 0 || !totals.problems.is_empty() => Tone::Troubled,
            _ if totals.unknown() == totals.counted() => Tone::Silent,
            _ if totals.unknown() > 0 => Tone::Troubled,
            _ => Tone::Behind,
        }
    }

    /// Returns the doubts, the causes first.
    pub fn doubts(&self) -> Vec<Doubt<'_>> {
        let document = self.document;
        let mut doubts = Vec::new();
        match document.last_poll() {
            None => doubts.push(Doubt::NotPolled),
            Some(last) if !last.is_listed => doubts.push(Doubt::NotListed),
            Some(_) => {}
        }
        let unlisted = self.unlisted().into_iter();
        doubts.extend(unlisted.map(|(by, names)| Doubt::Unlisted(by, names)));
        for (count, doubt) in [
            (document.unconfirmed, Doubt::Removal as fn(usize) -> _),
            (self.outdated(), Doubt::Unread),
            (self.unreadable(), Doubt::Unreadable),
        ] {
            doubts.extend((count > 0).then(|| doubt(count)));
        }
        let missing = self.translations();
        let missing = missing.filter(|(_, translation)| translation.is_missing);
        let missing: Vec<_> = missing.collect();
        let unknown = self.totals.unknown() - missing.len();
        if !missing.is_empty() {
            doubts.push(Doubt::Missing(missing));
        }
        let doubt = if document.is_scale_suspect {
            Doubt::Scale
        } else {
            Doubt::Unknown
        };
        doubts.extend((unknown > 0).then(|| doubt(unknown)));
        doubts
    }

    /// Returns the chosen repositories that `targets` requires and that the document lacks, by the
    /// key of the filter that leaves them out.
    fn unlisted(&self) -> BTreeMap<Option<&'static str>, BTreeSet<&str>> {
        let document = self.document;
        let mut unlisted: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
        for name in document.settings.targets.required_repositories() {
            if row_of(&document.rows, name).is_none() && self.selection.has_repository(name) {
                let mut filtered = document.filtered.iter();
                let left_out = filtered.find(|left_out| *left_out.repository.name == *name);
                let by = left_out.and_then(|left_out| left_out.by);
                unlisted.entry(by).or_default().insert(name);
            }
        }
        unlisted
    }

    /// Counts the entries that could not be used and may be chosen: those of the listing and of
    /// the chosen repositories, and further ids with the name of a chosen repository.
    pub fn unreadable(&self) -> usize {
        let document = self.document;
        let of_rows = self.rows.iter().map(Row::unreadable);
        let doubled = document.filtered.iter().filter(|left_out| {
            left_out.by.is_none() && self.selection.has_repository(&left_out.repository.name)
        });
        document.unreadable() + of_rows.sum::<usize>() + doubled.count()
    }
}
