//! The filters of repositories.
//!
//! Every repository that passes the filters is polled. If two repositories have the same name, the
//! one with the higher id wins.

use crate::{
    domain::{Repository, RepositoryId},
    support::{glob::Globs, keys::section, parsed::Parsed},
};
use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

section! {
    /// The section `filter`.
    filter: Filter {
        /// globs on owner/repo, each with a slash or `**`; `*` stays within a segment; empty means
        /// all
        include: Parsed<Globs<true>> = "";
        /// globs on owner/repo; wins over `filter.include`
        exclude: Parsed<Globs<true>> = "";
        /// globs on language codes, for example of a pseudo-locale or the source language; an
        /// excluded language appears nowhere, and its progress clock is kept for 30 days
        exclude_languages: Parsed<Globs<false>> = "";
        /// `false` leaves out private repositories, and repositories of unknown visibility
        private: Parsed<bool> = "true";
    }
}

/// A listed repository that is not polled.
#[derive(Debug, Clone)]
pub struct LeftOut {
    pub repository: Arc<Repository>,
    /// The key of the filter that leaves it out; `None` if a higher id has its name.
    pub by: Option<&'static str>,
}

impl Filter {
    /// Returns the key of the filter that leaves out a repository, if one does.
    fn left_out_by(&self, repository: &Repository) -> Option<&'static str> {
        if !self.include.chooses(&repository.name) {
            Some("filter.include")
        } else if self.exclude.is_match(&repository.name) {
            Some("filter.exclude")
        } else {
            let is_public = *self.private || repository.private == Some(false);
            (!is_public).then_some("filter.private")
        }
    }

    /// Returns whether a language appears nowhere.
    pub fn excludes_language(&self, code: &str) -> bool {
        self.exclude_languages.is_match(code)
    }

    /// Applies the filters, then resolves duplicate names in favour of the higher id. Returns the
    /// repositories to poll, and the others.
    pub fn apply(
        &self,
        listed: &BTreeMap<RepositoryId, Arc<Repository>>,
    ) -> (BTreeMap<RepositoryId, Arc<Repository>>, Vec<LeftOut>) {
        let mut polled = BTreeMap::new();
        let mut left_out = Vec::new();
        let mut by_name = HashMap::new();
        for (id, repository) in listed {
            let by = self.left_out_by(repository);
            let loser = if by.is_some() {
                Some(Arc::clone(repository))
            } else {
                polled.insert(*id, Arc::clone(repository));
                // Ids are in ascending order: an earlier one with this name is the lower one.
                let lower = by_name.insert(&repository.name, *id);
                lower.and_then(|lower| polled.remove(&lower))
            };
            left_out.extend(loser.map(|repository| LeftOut { repository, by }));
        }
        (polled, left_out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::targets::tests::globs;

    fn selected(filter: &Filter) -> (Vec<u64>, Vec<u64>) {
        let listed = [
            (1, "acme/app", Some(false)),
            (2, "acme/site", Some(true)),
            (3, "acme/app", None),
            (4, "beta/app", Some(false)),
        ];
        let listed = listed.map(|(id, name, private)| {
            let id = RepositoryId::new(id).unwrap();
            (
                id,
                Arc::new(Repository {
                    id,
                    name: name.into(),
                    private,
                    created_at: None,
                }),
            )
        });
        let (polled, left_out) = filter.apply(&listed.into());
        let duplicates = left_out.iter().filter(|left_out| left_out.by.is_none());
        let duplicates = duplicates.map(|left_out| left_out.repository.id.get());
        (
            polled.keys().map(|id| id.get()).collect(),
            duplicates.collect(),
        )
    }

    #[test]
    fn the_higher_id_wins_if_two_repositories_share_a_name() {
        assert_eq!(selected(&Filter::default()), (vec![2, 3, 4], vec![1]));
    }

    #[test]
    fn filters_precede_duplicates_and_unknown_visibility_is_private() {
        let public = Filter {
            private: Parsed(false),
            ..Filter::default()
        };
        assert_eq!(selected(&public), (vec![1, 4], vec![]));
    }

    #[test]
    fn exclude_wins_over_include() {
        let filter = Filter {
            include: globs(&["acme/*"]),
            exclude: globs(&["*/app"]),
            ..Filter::default()
        };
        assert_eq!(selected(&filter), (vec![2], vec![]));
    }
}
