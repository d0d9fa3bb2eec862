//! Targets: the ratio at which each language is ready, and the date by which it should be.
//!
//! The first entry of `targets` that matches a language counts. A language without a matching entry
//! is ready at a ratio of 1 and has no date.

use crate::support::{
    clock::Timestamp,
    glob::Globs,
    keys::section,
    parsed::{HOUR, Parsed, YEAR, parse},
};
use std::{
    ptr,
    sync::{Arc, LazyLock},
    time::Duration,
};

/// The entry for languages that no entry matches.
static DEFAULT: LazyLock<TargetEntry> = LazyLock::new(TargetEntry::default);

parse! {
    Timestamp:
        "a date such as 2026-12-24, or a time with its offset such as 2026-12-24T18:00:00Z",
        parse_due;
}

/// Parses a day such as `2026-12-24`, which means its end in UTC, or an RFC 3339 time. Returns
/// `None` if `text` is neither.
pub fn parse_due(text: &str) -> Option<Timestamp> {
    let is_day = text.len() == "2026-12-24".len();
    let end = if is_day { "T23:59:59Z" } else { "" };
    Timestamp::parse(&format!("{text}{end}"))
}

section! {
    /// One entry of `targets`.
    #[derive(Default)]
    #[serde(default)]
    targets: TargetEntry {
        /// globs on owner/repo; all repositories if left out
        repositories: Parsed<Globs<true>> = "";
        /// globs on language codes; all languages if left out
        languages: Parsed<Globs<false>> = "";
        /// ratio at which a translation is ready; 0 is always met
        ratio: Parsed<Option<f64>, 0, 1> = "1";
        /// a date, until 23:59:59 UTC, or an RFC 3339 time
        due: Parsed<Option<Timestamp>> = "";
        /// the time without progress and without being ready after which a translation has stalled;
        /// `thresholds.stalled_after` if left out
        stalled_after: Parsed<Option<Duration>, HOUR, { 100 * YEAR }> = "";
    }
}

impl TargetEntry {
    /// Returns the lowest completion ratio that is ready: 0 to 1.
    pub fn ratio(&self) -> f64 {
        self.ratio.unwrap_or(1.0)
    }

    /// Returns the ratio in percent, rounded to four decimals.
    pub fn percent(&self) -> f64 {
        (self.ratio() * 1e6).round() / 1e4
    }

    /// Returns whether a translation with this ratio is ready.
    pub fn is_met_by(&self, ratio: f64) -> bool {
        ratio >= self.ratio()
    }

    /// Returns whether the language rests: a target of 0 expects no progress.
    pub fn rests(&self) -> bool {
        self.ratio() <= 0.0
    }

    /// Names the languages that the globs match, such as "de, fr of acme/webshop".
    pub fn globs(&self) -> String {
        let [languages, repositories] =
            [&self.languages.items, &self.repositories.items].map(|globs| globs.join(", "));
        match (&*languages, &*repositories) {
            ("", "") => "all languages".to_owned(),
            ("", repositories) => format!("all languages of {repositories}"),
            (languages, "") => languages.to_owned(),
            _ => format!("{languages} of {repositories}"),
        }
    }

    /// Returns the repositories that the entry names without wildcards; none if it rests. Each pair
    /// of one of them and one of the codes that it names is required to exist.
    fn named_repositories(&self) -> impl Iterator<Item = &str> {
        let repositories = self.repositories.literal();
        repositories.filter(|_| !self.rests())
    }
}

/// Two entries are equal if they are the same entry of the same file.
impl PartialEq for TargetEntry {
    fn eq(&self, other: &Self) -> bool {
        ptr::eq(self, other)
    }
}

/// Returns the target of a language by the entry that applies to it.
pub fn target_of(entry: Option<&Arc<TargetEntry>>) -> &TargetEntry {
    entry.map_or(&*DEFAULT, |entry| entry)
}

/// The entries of `targets` in the order of the file.
#[derive(Debug, Clone, Default)]
pub struct Targets(pub Vec<Arc<TargetEntry>>);

impl Targets {
    /// Returns one target for every language of every repository, without a date.
    pub fn everything_at(ratio: f64) -> Self {
        Self(vec![Arc::new(TargetEntry {
            ratio: Parsed(Some(ratio)),
            ..TargetEntry::default()
        })])
    }

    /// Returns the repositories that entries name, apart from resting ones. Each is required.
    pub fn required_repositories(&self) -> impl Iterator<Item = &str> {
        self.0.iter().flat_map(|entry| entry.named_repositories())
    }

    /// Returns the entries that match a repository.
    pub fn of_repository(&self, name: &str) -> Self {
        let entries = self.0.iter();
        let entries = entries.filter(|entry| entry.repositories.chooses(name));
        Self(entries.cloned().collect())
    }

    /// Returns the entry that applies to a language of a repository, whose entries these are: the
    /// first one that matches.
    pub fn entry(&self, code: &str) -> Option<&Arc<TargetEntry>> {
        self.0.iter().find(|entry| entry.languages.chooses(code))
    }

    /// Returns the target of a language of a repository, whose entries these are.
    pub fn target(&self, code: &str) -> &TargetEntry {
        target_of(self.entry(code))
    }

    /// Returns the codes that the repository `name`, whose entries these are, must have: each is
    /// named, together with the repository, by the entry that applies to it.
    pub fn required(&self, name: &str) -> impl Iterator<Item = &str> {
        let entries = self.0.iter().filter(move |entry| {
            let mut named = entry.named_repositories();
            named.any(|repository| repository == name)
        });
        entries.flat_map(move |entry| {
            let codes = entry.languages.literal();
            codes.filter(move |code| self.entry(code) == Some(entry))
        })
    }
}

#[cfg(test)]
pub(crate) mod tests;
