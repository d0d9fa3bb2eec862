//! Excerpts: parts of a snapshot, chosen by globs on repositories and languages.

use super::{
    record::Languages,
    snapshot::{Shown, Snapshot},
};
use crate::support::glob::glob_set;
use globset::{Glob, GlobSet};
use std::sync::Arc;

/// Globs that choose repositories and languages; an empty set chooses all.
#[derive(Debug, Clone, Default)]
pub struct Excerpt {
    /// Globs on `owner/repo`.
    pub repositories: GlobSet,
    /// Globs on codes.
    pub languages: GlobSet,
}

impl Excerpt {
    /// Compiles the globs.
    ///
    /// # Errors
    /// Fails if the globs together are too large.
    pub fn new(repositories: &[Glob], languages: &[Glob]) -> Result<Self, String> {
        Ok(Self {
            repositories: glob_set(repositories)?,
            languages: glob_set(languages)?,
        })
    }

    /// Returns the repository with its chosen languages, or `None` if it is not chosen.
    ///
    /// Globs on languages also exclude a repository that is known to have no matching language.
    pub fn of_repository(&self, shown: &Shown) -> Option<Shown> {
        if !self.repositories.is_empty() && !self.repositories.is_match(&*shown.repository.name) {
            return None;
        }
        let mut shown = shown.clone();
        if self.languages.is_empty() {
            return Some(shown);
        }
        let is_shown = shown.condition.languages().is_some();
        let Some(languages) = shown.condition.known_mut() else {
            return Some(shown);
        };
        let records: Arc<[_]> = languages
            .records
            .iter()
            .filter(|record| self.languages.is_match(&*record.language.code))
            .cloned()
            .collect();
        if is_shown && records.is_empty() {
            return None;
        }
        *languages = Arc::new(Languages {
            records,
            ..**languages
        });
        Some(shown)
    }

    /// Returns the snapshot reduced to the chosen repositories and languages.
    pub fn of_snapshot(&self, snapshot: &Snapshot) -> Snapshot {
        let repositories = &snapshot.repositories;
        Snapshot {
            repositories: repositories
                .iter()
                .filter_map(|shown| self.of_repository(shown))
                .collect(),
            ..snapshot.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::targets::tests::globs;
    use crate::testing;

    fn chosen(repositories: &[&str], languages: &[&str]) -> Vec<String> {
        let excerpt = Excerpt {
            repositories: globs(repositories),
            languages: globs(languages),
        };
        let snapshot = testing::snapshot(vec![
            testing::read(1, "acme/app", &[("de", Some(1.0)), ("pt-BR", None)]),
            testing::read(2, "beta/app", &[("fr", Some(1.0))]),
            testing::failed(3, "beta/gone", "status 404", "wait"),
        ]);
        let chosen = excerpt.of_snapshot(&snapshot);
        let named = chosen.repositories.iter().map(|shown| {
            let codes = shown.records().iter().map(|one| &*one.language.code);
            let codes = codes.collect::<Vec<_>>().join(" ");
            format!("{}: {codes}", shown.repository.name)
        });
        named.collect()
    }

    #[test]
    fn globs_choose_repositories_and_languages() {
        assert_eq!(
            chosen(&[], &[]),
            ["acme/app: de pt-BR", "beta/app: fr", "beta/gone: "]
        );
        assert_eq!(chosen(&["*/app"], &["pt-*"]), ["acme/app: pt-BR"]);
        assert_eq!(
            chosen(&["beta/*"], &["fr"]),
            ["beta/app: fr", "beta/gone: "],
            "the languages of an unread repository are unknown"
        );
    }
}
