//! The filters of repositories.
//!
//! Every repository that passes the filters is polled. If two repositories have the same name, the
//! one with the higher id wins.

use crate::{
    domain::{Repository, RepositoryId},
    support::glob::chooses,
};
use globset::GlobSet;
use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

/// The `filter` section of the configuration, as far as it concerns repositories.
#[derive(Debug, Clone)]
pub struct Filter {
    /// Globs on `owner/repo`; an empty set matches every repository.
    pub(crate) include: GlobSet,
    /// Globs on `owner/repo`; they win over `include`.
    pub(crate) exclude: GlobSet,
    /// Includes private repositories, and repositories of unknown visibility.
    pub(crate) private: bool,
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
        let name = &*repository.name;
        if !chooses(&self.include, name) {
            Some("filter.include")
        } else if self.exclude.is_match(name) {
            Some("filter.exclude")
        } else {
            let is_public = self.private || repository.private == Some(false);
            (!is_public).then_some("filter.private")
        }
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
            private: false,
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
        let none = Filter {
            include: globs(&["*"]),
            ..Filter::default()
        };
        assert_eq!(
            selected(&none),
            (vec![], vec![]),
            "`*` must not match a slash"
        );
    }
}
