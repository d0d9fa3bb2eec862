//! Which repositories are polled: those that the filters let through, and of two with one name that of the higher id.

use crate::{
    config::FilterConfig,
    domain::{Repository, RepositoryId},
};
use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

/// What happens to the repositories of a listing.
#[derive(Debug)]
pub struct Selection {
    /// Those that are polled, each name once.
    pub polled: BTreeMap<RepositoryId, Arc<Repository>>,
    /// Those that pass the filters, but have the same name as a repository with a higher id.
    pub duplicates: Vec<Arc<Repository>>,
}

/// Applies the filters, then takes the higher id if two have the same name.
pub fn select(
    listed: &BTreeMap<RepositoryId, Arc<Repository>>,
    filter: &FilterConfig,
) -> Selection {
    let mut polled = BTreeMap::new();
    let mut duplicates = Vec::new();
    let mut by_name = HashMap::new();
    for (id, repository) in listed {
        if !passes(filter, repository) {
            continue;
        }
        // Ids rise, so the earlier one with that name has the lower id.
        if let Some(lower) = by_name.insert(&repository.name, *id) {
            duplicates.extend(polled.remove(&lower));
        }
        polled.insert(*id, Arc::clone(repository));
    }
    Selection { polled, duplicates }
}

fn passes(filter: &FilterConfig, repository: &Repository) -> bool {
    let name = &*repository.name;
    (filter.private || repository.private == Some(false))
        && (filter.include.is_empty() || filter.include.is_match(name))
        && !filter.exclude.is_match(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::targets::tests::globs;
    use globset::GlobSet;

    fn selected(filter: &FilterConfig) -> (Vec<u64>, Vec<u64>) {
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
        let selection = select(&listed.into(), filter);
        let duplicates = selection
            .duplicates
            .iter()
            .map(|repository| repository.id.get())
            .collect();
        (
            selection.polled.keys().map(|id| id.get()).collect(),
            duplicates,
        )
    }

    #[test]
    fn of_one_name_the_higher_id_is_shown() {
        let all = FilterConfig {
            include: GlobSet::empty(),
            exclude: GlobSet::empty(),
            exclude_languages: GlobSet::empty(),
            private: true,
        };
        assert_eq!(selected(&all), (vec![2, 3, 4], vec![1]));
    }

    #[test]
    fn the_filters_come_first_and_a_repository_that_does_not_say_counts_as_private() {
        let public = FilterConfig {
            include: GlobSet::empty(),
            exclude: GlobSet::empty(),
            exclude_languages: GlobSet::empty(),
            private: false,
        };
        assert_eq!(selected(&public), (vec![1, 4], vec![]));
    }

    #[test]
    fn exclude_wins_over_include() {
        let filter = FilterConfig {
            include: globs(&["acme/*"]),
            exclude: globs(&["*/app"]),
            exclude_languages: GlobSet::empty(),
            private: true,
        };
        assert_eq!(selected(&filter), (vec![2], vec![]));
        let none = FilterConfig {
            include: globs(&["*"]),
            exclude: GlobSet::empty(),
            exclude_languages: GlobSet::empty(),
            private: true,
        };
        assert_eq!(
            selected(&none),
            (vec![], vec![]),
            "* stays within a segment"
        );
    }
}
