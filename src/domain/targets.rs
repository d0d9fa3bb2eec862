//! Targets: the ratio at which each language is ready, and the date by which it should be.
//!
//! The first entry of `targets` that matches a language counts. A language without a matching entry
//! is ready at a ratio of 1 and has no date.

use crate::support::{clock::Timestamp, glob::chooses};
use globset::GlobSet;
use std::{ptr, sync::Arc, time::Duration};

/// The ratio and the date at which a language is ready.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// The lowest completion ratio that is ready: 0 to 1.
    pub(crate) ratio: f64,
    pub(crate) due: Option<Timestamp>,
    /// The time without progress after which a language has stalled; `None` if the general
    /// threshold applies.
    pub(crate) stalled_after: Option<Duration>,
}

impl Default for Target {
    fn default() -> Self {
        Self {
            ratio: 1.0,
            due: None,
            stalled_after: None,
        }
    }
}

impl Target {
    /// Returns the ratio in percent, rounded to four decimals.
    pub fn percent(self) -> f64 {
        (self.ratio * 1e6).round() / 1e4
    }

    /// Returns whether the language rests: a target of 0 expects no progress.
    pub fn rests(self) -> bool {
        self.ratio <= 0.0
    }
}

/// Parses a day such as `2026-12-24`, which means its end in UTC, or an RFC 3339 time. Returns
/// `None` if `text` is neither.
pub fn parse_due(text: &str) -> Option<Timestamp> {
    let is_day = text.len() == "2026-12-24".len();
    let end = if is_day { "T23:59:59Z" } else { "" };
    Timestamp::parse(&format!("{text}{end}"))
}

/// One entry of `targets`.
#[derive(Debug, Default)]
pub struct TargetEntry {
    /// The globs of the entry, for people.
    pub globs: String,
    /// Globs on `owner/repo`; an empty set matches every repository.
    pub(crate) repositories: GlobSet,
    /// Globs on codes; an empty set matches every language.
    pub(crate) languages: GlobSet,
    /// The repositories that the entry names without wildcards. Each pair of one of them and one of
    /// the codes below is required to exist.
    pub(crate) named_repositories: Vec<String>,
    /// The codes that the entry names without wildcards.
    pub(crate) named_languages: Vec<String>,
    pub target: Target,
}

/// Two entries are equal if they are the same entry of the same file.
impl PartialEq for TargetEntry {
    fn eq(&self, other: &Self) -> bool {
        ptr::eq(self, other)
    }
}

/// Keeps the globs without wildcards, which match their own text alone.
pub fn literal(globs: &[String]) -> impl Iterator<Item = String> {
    let literal = globs
        .iter()
        .filter(|glob| !glob.contains(['*', '?', '[', ']', '{', '}', '\\']));
    literal.cloned()
}

/// The entries of `targets` in the order of the file.
#[derive(Debug, Clone, Default)]
pub struct Targets(pub Vec<Arc<TargetEntry>>);

impl Targets {
    /// Returns one target for every language of every repository, without a date.
    pub fn everything_at(ratio: f64) -> Self {
        let target = Target {
            ratio,
            ..Target::default()
        };
        Self(vec![Arc::new(TargetEntry {
            globs: globs_in_words(&[], &[]),
            target,
            ..TargetEntry::default()
        })])
    }

    /// Returns the repositories that entries name, apart from resting ones. Each is required.
    pub fn required_repositories(&self) -> impl Iterator<Item = &str> {
        let entries = self.0.iter().filter(|entry| !entry.target.rests());
        let names = entries.flat_map(|entry| &entry.named_repositories);
        names.map(String::as_str)
    }

    /// Returns the entries that match a repository.
    pub fn of_repository(&self, name: &str) -> Self {
        let entries = self.0.iter();
        let entries = entries.filter(|entry| chooses(&entry.repositories, name));
        Self(entries.cloned().collect())
    }

    /// Returns the entry that applies to a language of a repository, whose entries these are: the
    /// first one that matches.
    pub fn entry(&self, code: &str) -> Option<&Arc<TargetEntry>> {
        let mut entries = self.0.iter();
        entries.find(|entry| chooses(&entry.languages, code))
    }

    /// Returns the codes that the repository `name`, whose entries these are, must have: each is
    /// named, together with the repository, by the entry that applies to it.
    pub fn required(&self, name: &str) -> impl Iterator<Item = &str> {
        let entries = self.0.iter().filter(move |entry| {
            !entry.target.rests() && entry.named_repositories.iter().any(|one| one == name)
        });
        entries.flat_map(move |entry| {
            let codes = entry.named_languages.iter().map(String::as_str);
            codes.filter(move |code| self.entry(code) == Some(entry))
        })
    }
}

/// Names the languages that the globs of an entry match, such as "de, fr of acme/webshop".
pub fn globs_in_words(repositories: &[String], languages: &[String]) -> String {
    let languages = match languages {
        [] => "all languages".to_owned(),
        languages => languages.join(", "),
    };
    match repositories {
        [] => languages,
        repositories => format!("{languages} of {}", repositories.join(", ")),
    }
}

#[cfg(test)]
pub(crate) mod tests;
