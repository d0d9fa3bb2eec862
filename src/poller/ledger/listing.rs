//! The changes that a listing makes: it adds, renames and removes repositories.

use super::{super::log::PollLog, Ledger, MOST_REPOSITORIES, Polled};
use crate::{
    domain::{
        Defect, Defects, Listing, Repository, RepositoryId, filter::Filter, history::DAYS,
        record::SavedRepository,
    },
    support::clock::{DAY, Timestamp},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    mem::take,
    sync::Arc,
};

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
        log: &mut PollLog,
    ) -> Defects {
        let Listing {
            mut repositories,
            nameless,
            mut bad,
            ..
        } = listing;
        let known = self.polled.iter();
        let known = known.map(|(id, known)| (*id, Arc::clone(&known.kept.repository)));
        let mut stay: BTreeMap<_, _> = known.collect();
        if is_complete {
            stay.retain(|id, _| !repositories.contains_key(id));
            let names: BTreeSet<_> = repositories.values().map(|listed| &listed.name).collect();
            let missing = stay.iter().filter(|(id, _)| !nameless.contains(id));
            let missed_before = take(&mut self.missed);
            if missing.clone().count() * 2 > self.polled.len() {
                let is_kept = |id, name| !missed_before.contains(id) && !names.contains(name);
                let missed = missing.filter(|(id, known)| is_kept(*id, &known.name));
                self.missed = missed.map(|(id, _)| *id).collect();
            }
            stay.retain(|id, _| nameless.contains(id) || self.missed.contains(id));
            self.gone
                .retain(|_, kept| kept.records().iter().any(|record| record.is_kept(now)));
            self.filtered.clear();
        } else {
            let names: BTreeSet<_> = stay.values().map(|known| &known.name).collect();
            repositories.retain(|id, new| !stay.contains_key(id) && !names.contains(&new.name));
        }
        // Incomplete listings could show other repositories each time.
        let room = MOST_REPOSITORIES.saturating_sub(stay.len());
        let repositories = repositories.into_iter().take(room).chain(stay).collect();
        self.select(&repositories, filter, &mut bad, now, log);
        self.translations = self.kept().map(|kept| kept.records().len()).sum();
        if is_complete {
            log.defects("the listing", &self.defects, &bad);
            self.defects = bad.clone();
        }
        bad
    }

    /// Polls the repositories that pass the filters, and keeps the records of those that leave.
    fn select(
        &mut self,
        repositories: &BTreeMap<RepositoryId, Arc<Repository>>,
        filter: &Filter,
        bad: &mut Defects,
        now: Timestamp,
        log: &mut PollLog,
    ) {
        let (polled, left_out) = filter.apply(repositories);
        for left_out in left_out {
            if left_out.by.is_none() {
                bad.add_duplicate(Defect::DuplicateName, &left_out.repository);
            }
            self.filtered.insert(left_out.repository.id, left_out);
        }
        let mut before = take(&mut self.polled);
        for (id, repository) in polled {
            let mut known = before.remove(&id).unwrap_or_else(|| {
                log.good("repositories added", &repository.name);
                Polled::new(SavedRepository::new(Arc::clone(&repository)))
            });
            known.kept.repository = repository;
            self.polled.insert(id, known);
        }
        for (id, Polled { mut kept, .. }) in before {
            log.removed.push(Arc::clone(&kept.repository.name));
            // The filters leave out what the API still lists: it has not left lately.
            let is_listed = repositories.contains_key(&id);
            let left_ago = if is_listed { DAYS + 1 } else { 0 };
            let left_at = now.saturating_sub(DAY * left_ago);
            if let Some(languages) = &mut kept.languages {
                *languages = languages.departed(left_at);
                self.gone.insert(id, kept);
            }
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
            let log = &mut PollLog::default();
            ledger.apply(listing, false, &filter, testing::NOW, log);
        }
        assert_eq!(ledger.polled.len(), MOST_REPOSITORIES);
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
            let log = &mut PollLog::default();
            ledger.apply(listing, true, &filter, testing::NOW, log);
        }
        let names = ledger
            .polled
            .values()
            .map(|known| &*known.kept.repository.name);
        assert_eq!(names.collect::<Vec<_>>(), ["o/new"]);
    }
}
