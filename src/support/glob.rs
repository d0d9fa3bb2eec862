//! Globs on names: `*` stays within a segment of `owner/repo`.

use super::parsed::{Parse, items};
use globset::{Glob, GlobBuilder, GlobSet};
use std::collections::BTreeSet;

/// Parses a glob.
///
/// # Errors
/// Returns the mistake, such as an unclosed bracket.
pub fn glob(text: &str) -> Result<Glob, String> {
    GlobBuilder::new(text)
        .literal_separator(true)
        .build()
        .map_err(|error| error.kind().to_string())
}

/// Globs on owner/repo, or on codes of languages; perhaps none.
#[derive(Debug, Clone, Default)]
pub struct Globs<const OF_REPOSITORIES: bool> {
    pub items: Vec<String>,
    set: GlobSet,
}

impl<const OF_REPOSITORIES: bool> Globs<OF_REPOSITORIES> {
    /// Compiles globs.
    ///
    /// # Errors
    /// Fails if the globs are too large together.
    pub fn new(globs: &[Glob]) -> Result<Self, String> {
        let set = GlobSet::new(globs).map_err(|error| error.kind().to_string())?;
        Ok(Self {
            items: globs.iter().map(ToString::to_string).collect(),
            set,
        })
    }

    /// Parses one glob.
    ///
    /// # Errors
    /// Returns the problem with it: a predicate.
    pub fn glob(item: &str) -> Result<Glob, String> {
        if items(item).len() > 1 {
            return Err("has a comma: give one glob, and repeat the option for others".to_owned());
        }
        // One character in brackets is no owner/repo and no code.
        if item.contains(|c: char| c.is_whitespace() || "\"';".contains(c))
            || item.starts_with('[') && item.find(']') == Some(item.len() - 1)
        {
            return Err(
                "contains a blank, a line break, a quote or a semicolon, or has brackets around it"
                    .to_owned(),
            );
        }
        let glob = glob(item).map_err(|error| format!("is no glob: {error}"))?;
        if OF_REPOSITORIES && !item.contains('/') && !item.contains("**") {
            return Err(format!(
                "matches no owner/repo: write \"*/{item}\" or \"acme/{item}\" for a repository, \
                 \"{item}/*\" for all of an owner"
            ));
        }
        Ok(glob)
    }

    pub fn is_match(&self, name: &str) -> bool {
        self.set.is_match(name)
    }

    /// Returns whether one of the globs matches a name, or there are none.
    pub fn chooses(&self, name: &str) -> bool {
        self.items.is_empty() || self.is_match(name)
    }

    /// Returns the globs that match none of the names.
    pub fn unused<'a>(&self, names: impl Iterator<Item = &'a str>) -> impl Iterator<Item = &str> {
        let used: BTreeSet<_> = names.flat_map(|name| self.set.matches(name)).collect();
        let is_unused = move |at| !used.contains(&at);
        (0..)
            .zip(&self.items)
            .filter_map(move |(at, glob)| is_unused(at).then_some(&**glob))
    }

    /// Returns the globs without wildcards, which match their own text alone.
    pub fn literal(&self) -> impl Iterator<Item = &str> {
        self.items
            .iter()
            .map(String::as_str)
            .filter(|glob| !glob.contains(['*', '?', '[', ']', '{', '}', '\\']))
    }
}

impl<const OF_REPOSITORIES: bool> Parse for Globs<OF_REPOSITORIES> {
    const TAKES: &'static str = if OF_REPOSITORIES {
        "globs on owner/repo with commas, such as acme/*,other/app"
    } else {
        "globs on language codes with commas, such as en,pt-*"
    };

    const IS_LIST: bool = true;

    fn parse(text: &str) -> Result<Self, String> {
        let globs = (1..).zip(items(text)).map(|(number, item)| {
            Self::glob(item).map_err(|problem| format!("item {number} ({item:?}) {problem}"))
        });
        Self::new(&globs.collect::<Result<Vec<_>, _>>()?)
    }
}
