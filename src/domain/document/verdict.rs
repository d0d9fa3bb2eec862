//! The verdict: the readiness of a document as a whole, its tone, and the doubts about it. Gate,
//! headline, `languages`, badge, JSON and the CI action read it here.

use super::{Document, Readiness, Row, Tone, Translation, row_of};
use crate::domain::Operation;
use std::collections::BTreeMap;

/// A reason why more may be behind than is known, the causes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doubt {
    /// No poll has ended yet.
    NotPolled,
    /// The last listing did not reach its end.
    NotListed,
    /// Repositories with a target are not listed, or left out by a filter.
    Unlisted,
    /// The removal of repositories waits for its confirmation.
    Removal,
    /// The last poll did not read repositories.
    Unread,
    /// Entries of the API's responses could not be used.
    Unreadable,
    /// Translations with a target do not exist.
    Missing,
    /// The scale of completions is in doubt.
    Scale,
    /// Translations have no known completion.
    Unknown,
}

impl Document {
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
        match self.totals.tone() {
            Tone::Overdue => Tone::Overdue,
            _ if self.unread() > 0 => Tone::Troubled,
            Tone::Ready if self.readiness() != Readiness::Ready => Tone::Behind,
            tone => tone,
        }
    }

    /// Returns the doubts, each with the number of what it is about.
    pub fn doubts(&self) -> Vec<(Doubt, usize)> {
        let is_unlisted = self.last_poll().is_some_and(|poll| !poll.is_listed);
        let missing = self.missing().count();
        let unknown = if self.is_scale_suspect {
            Doubt::Scale
        } else {
            Doubt::Unknown
        };
        let mut doubts = vec![
            (Doubt::NotPolled, self.last_poll().is_none().into()),
            (Doubt::NotListed, is_unlisted.into()),
            (Doubt::Unlisted, self.unlisted().len()),
            (Doubt::Removal, self.unconfirmed),
            (Doubt::Unread, self.outdated()),
            (Doubt::Unreadable, self.unreadable()),
            (Doubt::Missing, missing),
            (unknown, self.totals.unknown() - missing),
        ];
        doubts.retain(|(_, count)| *count > 0);
        doubts
    }

    /// Returns the translations that `targets` requires and that do not exist.
    pub fn missing(&self) -> impl Iterator<Item = (&Row, &Translation)> {
        self.translations()
            .filter(|(_, translation)| translation.is_missing)
    }

    /// Returns the chosen repositories that `targets` requires and that the document lacks, with
    /// the key of the filter that leaves them out.
    pub fn unlisted(&self) -> BTreeMap<&str, Option<&'static str>> {
        let required = self.settings.targets.required_repositories();
        let unlisted = required.filter(|name| {
            row_of(&self.rows, name).is_none() && self.selection.repositories.chooses(name)
        });
        let with_filter = unlisted.map(|name| {
            let mut filtered = self.filtered.iter();
            let left_out = filtered.find(|left_out| *left_out.repository.name == *name);
            (name, left_out.and_then(|left_out| left_out.by))
        });
        with_filter.collect()
    }

    /// Counts the entries that could not be used and may be chosen: those of the listing and of
    /// the chosen repositories, and further ids with the name of a chosen repository.
    pub fn unreadable(&self) -> usize {
        let of_rows = self.rows.iter().map(Row::unreadable);
        let doubled = self.filtered.iter().filter(|left_out| {
            left_out.by.is_none()
                && self
                    .selection
                    .repositories
                    .chooses(&left_out.repository.name)
        });
        let of_listing = self.defects.unreadable(Operation::ListRepositories);
        of_listing + of_rows.sum::<usize>() + doubled.count()
    }
}
