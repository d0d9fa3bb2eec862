//! Targets: the ratio at which each language is ready, and the date by which it should be.
//!
//! The first entry of `targets` that matches a language counts. A language without a matching entry
//! is ready at a ratio of 1 and has no date.

use crate::support::clock::Timestamp;
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
#[derive(Debug)]
pub struct TargetEntry {
    /// The file and line of the entry, for messages.
    pub source: String,
    /// The globs of the entry, for people.
    pub globs: String,
    /// Globs on `owner/repo`; an empty set matches every repository.
    pub(crate) repositories: GlobSet,
    /// Globs on codes; an empty set matches every language.
    pub(crate) languages: GlobSet,
    /// The repositories and codes that the entry names without wildcards.
    pub(crate) named: Named,
    pub target: Target,
}

/// Two entries are equal if they are the same entry of the same file.
impl PartialEq for TargetEntry {
    fn eq(&self, other: &Self) -> bool {
        ptr::eq(self, other)
    }
}

/// Names without wildcards. Each pair of a repository and a code is required to exist.
#[derive(Debug, Default)]
pub struct Named {
    pub(crate) repositories: Vec<String>,
    pub(crate) languages: Vec<String>,
}

impl Named {
    /// Keeps the globs without wildcards.
    pub fn of(repositories: &[String], languages: &[String]) -> Self {
        let literal = |globs: &[String]| {
            let literal = globs.iter().filter(|glob| is_literal(glob));
            literal.cloned().collect()
        };
        Self {
            repositories: literal(repositories),
            languages: literal(languages),
        }
    }
}

/// Returns whether a glob matches its own text alone.
fn is_literal(glob: &str) -> bool {
    !glob.contains(['*', '?', '[', ']', '{', '}', '\\'])
}

/// The entries of `targets` in the order of the file.
#[derive(Debug, Clone, Default)]
pub struct Targets(pub Vec<Arc<TargetEntry>>);

impl Targets {
    /// Returns one target for every language of every repository, without a date.
    pub fn everything_at(ratio: f64) -> Self {
        Self(vec![Arc::new(TargetEntry {
            source: String::new(),
            globs: globs_in_words(&[], &[]),
            repositories: GlobSet::empty(),
            languages: GlobSet::empty(),
            named: Named::default(),
            target: Target {
                ratio,
                ..Target::default()
            },
        })])
    }

    /// Returns the repositories that entries name, apart from resting ones. Each is required.
    pub fn required_repositories(&self) -> impl Iterator<Item = &str> {
        let entries = self.0.iter().filter(|entry| !entry.target.rests());
        let names = entries.flat_map(|entry| &entry.named.repositories);
        names.map(String::as_str)
    }

    /// Returns the entries that match a repository.
    pub fn of_repository(&self, name: &str) -> RepositoryTargets<'_> {
        RepositoryTargets(
            self.0
                .iter()
                .filter(|entry| matches(&entry.repositories, name))
                .collect(),
        )
    }
}

/// The entries of `targets` that match one repository, in the order of the file.
#[derive(Debug)]
pub struct RepositoryTargets<'a>(pub Vec<&'a Arc<TargetEntry>>);

impl<'a> RepositoryTargets<'a> {
    /// Returns the entry that applies to a language: the first one that matches.
    pub fn entry(&self, code: &str) -> Option<&'a Arc<TargetEntry>> {
        self.0
            .iter()
            .copied()
            .find(|entry| matches(&entry.languages, code))
    }

    /// Returns the codes that the repository `name` must have: each is named, together with the
    /// repository, by the entry that applies to it.
    pub fn required<'b>(&'b self, name: &'b str) -> impl Iterator<Item = &'a str> + 'b {
        let entries = self.0.iter().copied().filter(move |entry| {
            !entry.target.rests() && entry.named.repositories.iter().any(|one| one == name)
        });
        let codes = entries.flat_map(|entry| {
            entry
                .named
                .languages
                .iter()
                .map(move |code| (entry, &**code))
        });
        codes
            .filter(|(entry, code)| self.entry(code) == Some(entry))
            .map(|(_, code)| code)
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

fn matches(globs: &GlobSet, text: &str) -> bool {
    globs.is_empty() || globs.is_match(text)
}

#[cfg(test)]
pub(crate) mod tests;
