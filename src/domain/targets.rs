//! When a language is ready: the first entry of `targets` that matches it says at which ratio, and by when.
//!
//! A pure function of that list. What no entry matches is ready at 1, without a date.

use crate::support::clock::Timestamp;
use globset::GlobSet;

/// When a language is ready.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// The completion ratio that is enough: 0 to 1.
    pub ratio: f64,
    pub due: Option<Timestamp>,
}

impl Default for Target {
    fn default() -> Self {
        Self {
            ratio: 1.0,
            due: None,
        }
    }
}

impl Target {
    /// Whether a language with this completion ratio is ready; `None` if it reports none. A target of 0 is always met: such
    /// a language rests.
    pub fn is_met(self, ratio: Option<f64>) -> Option<bool> {
        if self.rests() {
            return Some(true);
        }
        Some(ratio? >= self.ratio)
    }

    /// The ratio in percent, to four decimals.
    pub fn percent(self) -> f64 {
        (self.ratio * 1e6).round() / 1e4
    }

    /// Whether nothing is expected of the language.
    pub fn rests(self) -> bool {
        self.ratio <= 0.0
    }
}

/// The end of a day in UTC, such as `2026-12-24`, or an RFC 3339 time; `None` if `text` is neither.
pub fn parse_due(text: &str) -> Option<Timestamp> {
    if text.len() == "2026-12-24".len() {
        let day: jiff::civil::Date = text.parse().ok()?;
        return Some(Timestamp::at_civil(day.at(23, 59, 59, 0)));
    }
    let time: jiff::Timestamp = text.parse().ok()?;
    Some(Timestamp::from_millis(time.as_millisecond()))
}

/// One entry of `targets`.
#[derive(Debug)]
pub struct Entry {
    /// Where it stands, for people: file and line.
    pub source: String,
    /// On owner/repo; empty matches all.
    pub repositories: GlobSet,
    /// On codes; empty matches all.
    pub languages: GlobSet,
    pub target: Target,
}

/// The entries of `targets`, in their order.
#[derive(Debug, Default)]
pub struct Targets(pub Vec<Entry>);

impl Targets {
    /// One target for every language of every repository, without a date.
    pub fn everything_at(ratio: f64) -> Self {
        Self(vec![Entry {
            source: String::new(),
            repositories: GlobSet::empty(),
            languages: GlobSet::empty(),
            target: Target { ratio, due: None },
        }])
    }

    /// The entries that are about a repository.
    pub fn of_repository(&self, name: &str) -> RepositoryTargets<'_> {
        RepositoryTargets(
            self.0
                .iter()
                .filter(|entry| matches(&entry.repositories, name))
                .collect(),
        )
    }
}

/// The entries of `targets` that are about one repository, in their order.
#[derive(Debug)]
pub struct RepositoryTargets<'a>(pub Vec<&'a Entry>);

impl<'a> RepositoryTargets<'a> {
    /// The entry that applies to a language of the repository: the first that matches.
    pub fn entry(&self, code: &str) -> Option<&'a Entry> {
        self.0
            .iter()
            .copied()
            .find(|entry| matches(&entry.languages, code))
    }

    pub fn have_dates(&self) -> bool {
        self.0.iter().any(|entry| entry.target.due.is_some())
    }

    /// The target of a language of the repository, if an entry applies to it.
    pub fn of(&self, code: &str) -> Option<Target> {
        self.entry(code).map(|entry| entry.target)
    }
}

fn matches(globs: &GlobSet, text: &str) -> bool {
    globs.is_empty() || globs.is_match(text)
}

#[cfg(test)]
pub(crate) mod tests;
