//! The verdict: the readiness of a view as a whole. Gate, headline, `languages`, badge and the CI
//! action read it here.

use super::{Readiness, Row, View, row_of};
use crate::support::humanize::{SOME, counted, named, repositories};

impl View<'_> {
    /// Judges the readiness as a whole: behind as soon as one translation is, otherwise unknown as
    /// long as something is.
    pub fn readiness(&self) -> Readiness {
        match () {
            () if self.totals.behind() > 0 => Readiness::Behind,
            () if !self.doubts().is_empty() => Readiness::Unknown,
            () if self.totals.counted() == 0 => Readiness::Resting,
            () => Readiness::Ready,
        }
    }

    /// Returns the reasons why more may be behind than is known, the causes first.
    pub fn doubts(&self) -> Vec<String> {
        let missing = self.translations().filter(|(_, one)| one.is_missing);
        let missing = missing.map(|(row, one)| format!("{} of {}", one.code(), row.name()));
        let missing: Vec<_> = missing.collect();
        let unknown = self.totals.unknown() - missing.len();
        let unknown = (unknown > 0).then(|| {
            let translations = counted(unknown, "translation", "translations");
            if self.document.is_scale_suspect {
                format!("the scale of {translations} is in doubt")
            } else {
                format!("{translations} without a known completion")
            }
        });
        let mut doubts = self.unseen();
        if doubts.is_empty() && self.totals.with_resting() == 0 {
            doubts.push("no translation is known".to_owned());
        }
        let known = [not_listed(&missing), unknown];
        doubts.extend(known.into_iter().flatten());
        doubts
    }

    /// Returns the reasons why any language may have translations that are not shown.
    pub fn unseen(&self) -> Vec<String> {
        let listing = match self.document.last_poll() {
            None => Some("the first poll has not ended yet"),
            Some(last) if last.is_listed => None,
            Some(_) => Some("the list of repositories was not read completely"),
        };
        let unread = self.outdated();
        let unreadable = self.unreadable();
        [
            listing.map(str::to_owned),
            not_listed(&self.unlisted()),
            (unread > 0).then(|| format!("{} not read", repositories(unread))),
            (unreadable > 0).then(|| {
                let entries = counted(unreadable, "entry", "entries");
                format!("{entries} of the API's responses could not be used")
            }),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// Returns the chosen repositories that `targets` requires, and that the document lacks.
    fn unlisted(&self) -> Vec<String> {
        let required = self.document.settings.targets.required_repositories();
        let rows = &self.document.rows;
        let unlisted =
            required.filter(|name| row_of(rows, name).is_none() && self.has_repository(name));
        unlisted.map(str::to_owned).collect()
    }

    /// Counts the entries of the listing and of the chosen repositories that could not be read, and
    /// may be chosen too.
    fn unreadable(&self) -> usize {
        let of_rows = self.rows.iter().map(Row::unreadable);
        self.document.unreadable() + of_rows.sum::<usize>()
    }
}

/// Says that what `targets` requires is not listed.
fn not_listed(names: &[String]) -> Option<String> {
    let are = if names.len() == 1 { "is" } else { "are" };
    named(names, SOME)
        .map(|names| format!("{names}, for which there is a target, {are} not listed"))
}
