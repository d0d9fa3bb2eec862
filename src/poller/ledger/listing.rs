//! The changes that a listing makes: it adds, renames and removes repositories.

use super::{Ledger, MOST_REPOSITORIES};
use crate::{
    domain::{
        Defect, Defects, Listing, Repository, RepositoryId, filter::Filter, history::DAYS,
        record::KeptRepository,
    },
    support::clock::{DAY, Timestamp},
};
use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    mem::take,
    sync::Arc,
};

/// The maximum number of names in a line of the log.
const MOST_NAMES: usize = 50;

/// Repositories by their ids, which no two entries share.
type Repositories = BTreeMap<RepositoryId, Arc<Repository>>;

impl Ledger {
    /// Applies a listing, and returns its defects.
    ///
    /// A complete listing removes the repositories that it lacks. If it lacks more than half of
    /// them, it removes only those that the previous complete listing lacked too. An incomplete one
    /// adds repositories and changes no known one.
    ///
    /// In a complete listing, a listed repository takes its name at once from one that the listing
    /// lacks. In an incomplete one, a new repository with the name of a known one waits: the known
    /// one may have been renamed or removed.
    pub fn apply(
        &mut self,
        listing: Listing,
        is_complete: bool,
        filter: &Filter,
        now: Timestamp,
    ) -> Defects {
        let (mut listed, mut bad) = (listing.repositories, listing.bad);
        let known = self.saved.repositories.iter();
        let known = known.map(|(id, kept)| (*id, Arc::clone(&kept.repository)));
        let mut stay: Repositories = known.collect();
        if is_complete {
            stay.retain(|id, _| !listed.contains_key(id));
            self.confirm(&mut stay, &listed, &listing.nameless);
            self.filtered.clear();
        } else {
            let names: BTreeSet<_> = stay.values().map(|known| &known.name).collect();
            listed.retain(|id, new| !stay.contains_key(id) && !names.contains(&new.name));
        }
        // Incomplete listings could show other repositories each time.
        let room = MOST_REPOSITORIES.saturating_sub(stay.len());
        let listed = listed.into_iter().take(room).chain(stay).collect();
        self.select(&listed, filter, &mut bad, now);
        self.translations = self.saved.all().map(|kept| kept.records.len()).sum();
        // Nobody else has the languages that are left with two references.
        self.languages.retain(|_, same| Arc::strong_count(same) > 2);
        if is_complete {
            let is_kept = |kept: &KeptRepository| kept.records.iter().any(|it| it.is_kept(now));
            self.saved.gone.retain(|_, kept| is_kept(kept));
            self.defects = bad.clone();
        }
        bad
    }

    /// Drops the repositories that a complete listing removes. Of those that it lacks, a repository
    /// stays if an entry without a name has its id, or if its removal waits for confirmation.
    fn confirm(
        &mut self,
        missing: &mut Repositories,
        listed: &Repositories,
        nameless: &HashSet<RepositoryId>,
    ) {
        let missed_before = take(&mut self.saved.missed);
        let names: BTreeSet<_> = listed.values().map(|listed| &listed.name).collect();
        let unlisted = missing.iter().filter(|(id, _)| !nameless.contains(id));
        if unlisted.clone().count() * 2 > self.saved.repositories.len() {
            let waiting = unlisted
                .filter(|(id, known)| !missed_before.contains(id) && !names.contains(&known.name));
            self.saved.missed = waiting.map(|(id, _)| *id).collect();
        }
        missing.retain(|id, _| nameless.contains(id) || self.saved.missed.contains(id));
    }

    /// Polls the repositories that pass the filters, and keeps the records of those that leave.
    fn select(
        &mut self,
        listed: &Repositories,
        filter: &Filter,
        bad: &mut Defects,
        now: Timestamp,
    ) {
        let (polled, left_out) = filter.apply(listed);
        for left_out in left_out {
            if left_out.by.is_none() {
                bad.add_duplicate(Defect::DuplicateName, &left_out.repository);
            }
            self.filtered.insert(left_out.repository.id, left_out);
        }
        let mut before = take(&mut self.saved.repositories);
        let (mut added, mut removed) = (Vec::new(), Vec::new());
        for (id, repository) in polled {
            let mut kept = before.remove(&id).unwrap_or_else(|| {
                added.push(Arc::clone(&repository.name));
                let gone = self.saved.gone.remove(&id);
                gone.unwrap_or_else(|| KeptRepository::new(Arc::clone(&repository)))
            });
            kept.repository = repository;
            self.saved.repositories.insert(id, kept);
        }
        for (id, kept) in before {
            removed.push(Arc::clone(&kept.repository.name));
            // The filters leave out what the API still lists: it has not left lately.
            let left_ago = if listed.contains_key(&id) {
                DAYS + 1
            } else {
                0
            };
            let gone = KeptRepository {
                records: kept.departed(now.saturating_sub(DAY * left_ago)),
                ..KeptRepository::new(kept.repository)
            };
            self.saved.gone.insert(id, gone);
        }
        if let Some(first) = added.first() {
            tracing::info!(count = added.len(), first = &**first, "repositories added");
        }
        for names in removed.chunks(MOST_NAMES) {
            let names = names.join(", ");
            tracing::warn!(names, "repositories removed");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn incomplete_listings_add_no_repository_beyond_the_bound() {
        let (mut ledger, filter) = (Ledger::default(), testing::settings().filter);
        for part in 0..3 {
            let ids = part * 90_000 + 1..=part * 90_000 + 90_000;
            let mut listing = Listing::default();
            for id in ids {
                listing.add(testing::repository(id, &format!("o/{id}")));
            }
            ledger.apply(listing, false, &filter, testing::NOW);
        }
        assert_eq!(ledger.saved.repositories.len(), MOST_REPOSITORIES);
    }

    #[test]
    fn an_entry_without_a_name_hides_no_name_of_the_same_id() {
        let (mut ledger, filter) = (Ledger::default(), testing::settings().filter);
        for (name, is_doubled) in [("o/old", false), ("o/new", true)] {
            let mut listing = Listing::default();
            let repository = testing::repository(1, name);
            if is_doubled {
                listing.nameless.insert(repository.id);
            }
            listing.add(repository);
            ledger.apply(listing, true, &filter, testing::NOW);
        }
        let kept = ledger.saved.repositories.values();
        let names = kept.map(|kept| &*kept.repository.name);
        assert_eq!(names.collect::<Vec<_>>(), ["o/new"]);
    }
}
