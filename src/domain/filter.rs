//! Which repositories are polled: those that the filters let through, and of two with one name that of the higher id.

use crate::domain::{Repository, RepositoryId};
use globset::GlobSet;
use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

/// The repositories that are polled, as `filter` says.
#[derive(Debug, Clone)]
pub struct Filter {
    /// On owner/repo; empty matches all.
    pub include: GlobSet,
    /// On owner/repo; wins over `include`.
    pub exclude: GlobSet,
    /// Whether private repositories, and those of unknown visibility, are polled too.
    pub private: bool,
}

impl Default for Filter {
    fn default() -> Self {
        Self {
            include: GlobSet::empty(),
            exclude: GlobSet::empty(),
            private: true,
        }
    }
}

impl Filter {
    fn lets_through(&self, repository: &Repository) -> bool {
        let name = &*repository.name;
        (self.private || repository.private == Some(false))
            && (self.include.is_empty() || self.include.is_match(name))
            && !self.exclude.is_match(name)
    }
}

/// The languages that appear nowhere: globs on their codes.
#[derive(Debug, Clone, Default)]
pub struct LanguageFilter(pub GlobSet);

impl LanguageFilter {
    /// Tells whether a language with this code is left out.
    pub fn matches(&self, code: &str) -> bool {
        self.0.is_match(code)
    }
}

/// What happens to the repositories of a listing.
#[derive(Debug)]
pub struct Selection {
    /// Those that are polled, each name once.
    pub polled: BTreeMap<RepositoryId, Arc<Repository>>,
    /// Those that pass the filters, but have the same name as a repository with a higher id.
    pub duplicates: Vec<Arc<Repository>>,
}

/// Applies the filters, then takes the higher id if two have the same name.
pub fn select(listed: &BTreeMap<RepositoryId, Arc<Repository>>, filter: &Filter) -> Selection {
    let mut polled = BTreeMap::new();
    let mut duplicates = Vec::new();
    let mut by_name = HashMap::new();
    for (id, repository) in listed {
        if !filter.lets_through(repository) {
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
        assert_eq!(selected(&Filter::default()), (vec![2, 3, 4], vec![1]));
    }

    #[test]
    fn the_filters_come_first_and_a_repository_that_does_not_say_counts_as_private() {
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
            "* stays within a segment"
        );
    }
}
