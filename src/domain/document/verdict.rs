//! The verdict: the readiness of a view as a whole. Gate, headline, `languages`, badge and the CI
//! action read it here.

use super::{Readiness, Row, View};
use crate::support::humanize::{counted, repositories};
use std::fmt;

/// A reason why the readiness as a whole is unknown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Doubt {
    /// The first poll of this process is under way.
    FirstPoll,
    /// The last listing did not reach its end, or none has yet.
    Listing,
    /// The names of repositories that `targets` requires, and that are not shown.
    NotListed(Vec<String>),
    /// The number of repositories that the last poll did not read.
    Unread(usize),
    /// The number of entries that could not be read, and may be repositories or languages.
    Unreadable(usize),
    /// There is no translation at all.
    Nothing,
    /// `api.completion_scale` does not fit the completions.
    Scale,
    /// The languages that `targets` requires, and that their repositories lack.
    Missing(Vec<String>),
    /// The number of translations without a known completion.
    NotKnown(usize),
}

impl View<'_> {
    /// Judges the readiness as a whole: behind as soon as one translation is, otherwise unknown as
    /// long as something is.
    pub fn readiness(&self) -> Readiness {
        match () {
            () if self.totals.behind() > 0 => Readiness::Behind,
            () if !self.doubts().is_empty() => Readiness::Unknown,
            () if self.totals.counted == 0 => Readiness::Resting,
            () => Readiness::Ready,
        }
    }

    /// Returns the reasons why more may be behind than is known, the causes first.
    pub fn doubts(&self) -> Vec<Doubt> {
        let document = self.document;
        let unlisted: Vec<_> = self.unlisted().collect();
        let missing = self.translations().filter(|(_, one)| one.is_missing);
        let missing = missing.map(|(row, one)| format!("{} of {}", one.code(), row.name()));
        let missing: Vec<_> = missing.collect();
        let unread = self.outdated();
        let unreadable = self.unreadable();
        let has_polled = document.status.last.is_some();
        let is_incomplete = !document.is_listed() || unread > 0;
        let unknown = self.totals.unknown - missing.len();
        let is_empty = self.totals.with_resting() == 0 && unread == 0;
        [
            (!has_polled && is_incomplete).then_some(Doubt::FirstPoll),
            (has_polled && !document.is_listed()).then_some(Doubt::Listing),
            (!unlisted.is_empty()).then_some(Doubt::NotListed(unlisted)),
            (has_polled && unread > 0).then_some(Doubt::Unread(unread)),
            (unreadable > 0).then_some(Doubt::Unreadable(unreadable)),
            is_empty.then_some(Doubt::Nothing),
            (document.is_scale_suspect && unknown > 0).then_some(Doubt::Scale),
            (!missing.is_empty()).then_some(Doubt::Missing(missing)),
            (!document.is_scale_suspect && unknown > 0).then_some(Doubt::NotKnown(unknown)),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// Returns the chosen repositories that `targets` requires, and that the document lacks.
    fn unlisted(&self) -> impl Iterator<Item = String> {
        let required = self.document.settings.targets.required_repositories();
        let rows = &self.document.rows;
        let unlisted = required.filter(|name| {
            let is_listed = rows.binary_search_by(|row| row.name().cmp(name)).is_ok();
            !is_listed && self.has_repository(name)
        });
        unlisted.map(str::to_owned)
    }

    /// Counts the entries of the listing and of the chosen repositories that could not be read, and
    /// may be chosen too.
    fn unreadable(&self) -> usize {
        let of_rows = self.rows.iter().map(Row::unreadable);
        self.document.unreadable() + of_rows.sum::<usize>()
    }
}

/// Formats the doubt as a clause for people.
impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FirstPoll => f.write_str("the first poll has not ended yet"),
            Self::Listing => f.write_str("the list of repositories was not read completely"),
            Self::NotListed(names) | Self::Missing(names) => {
                let are = if names.len() == 1 { "is" } else { "are" };
                write!(
                    f,
                    "{}, for which there is a target, {are} not listed",
                    names.join(", ")
                )
            }
            Self::Unread(count) => write!(f, "{} not read", repositories(*count)),
            Self::Unreadable(count) => {
                let entries = counted(*count, "entry", "entries");
                write!(f, "{entries} of the API's responses could not be used")
            }
            Self::Nothing => f.write_str("no repository has a target language"),
            Self::Scale => f.write_str("the completions do not fit their scale"),
            Self::NotKnown(count) => {
                let translations = counted(*count, "translation", "translations");
                write!(f, "{translations} without a known completion")
            }
        }
    }
}
