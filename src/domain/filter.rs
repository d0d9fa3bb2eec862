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

impl Filter {
    fn accepts(&self, repository: &Repository) -> bool {
        let name = &*repository.name;
        (self.private || repository.private == Some(false))
            && chooses(&self.include, name)
            && !self.exclude.is_match(name)
    }

    /// Applies the filters, then resolves duplicate names in favour of the higher id. Returns the
    /// repositories to poll, and those that lost their name to a higher id.
    pub fn apply(
        &self,
        listed: &BTreeMap<RepositoryId, Arc<Repository>>,
    ) -> (
        BTreeMap<RepositoryId, Arc<Repository>>,
        Vec<Arc<Repository>>,
    ) {
        let mut polled = BTreeMap::new();
        let mut duplicates = Vec::new();
        let mut by_name = HashMap::new();
        for (id, repository) in listed {
            if !self.accepts(repository) {
                continue;
            }
            // Ids are in ascending order, so an earlier repository with this name has the lower id.
            if let Some(lower) = by_name.insert(&repository.name, *id) {
                duplicates.extend(polled.remove(&lower));
            }
            polled.insert(*id, Arc::clone(repository));
        }
        (polled, duplicates)
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
        let (polled, duplicates) = filter.apply(&listed.into());
        let duplicates = duplicates.iter().map(|repository| repository.id.get());
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
