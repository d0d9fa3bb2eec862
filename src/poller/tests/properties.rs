//! What holds for any listing and any languages: the way of a datum from the wire to the snapshot, and the way of a cursor
//! through a listing that changes under it.

use super::START;
use crate::{
    api::{Api, ApiError, Attempts, Session, wire},
    domain::{
        Interner, LanguageList, Page, RepositoryId,
        filter::{Filter, LanguageFilter},
        snapshot::{PollOutcome, Snapshot},
    },
    metrics::instruments::Instruments,
    poller::{Poller, Settings},
    support::clock::Clock,
};
use proptest::{collection, option, prelude::*};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::{sync::watch, time::Instant};

#[derive(Debug, Clone)]
struct Repository {
    name: String,
    languages: Vec<(String, String, Option<f64>)>,
    id_as_string: bool,
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        "[\\\\\"\n\r\t{}#, =n]{0,8}",
        "[a-z]{1,3}/[a-z]{1,3}",
        "\\PC{1,12}"
    ]
}

fn repository() -> impl Strategy<Value = Repository> {
    let completion = option::of(prop_oneof![
        0.0..=100.0,
        any::<f64>().prop_filter("JSON", |value| value.is_finite())
    ]);
    let language = (
        text().prop_filter("not empty", |code| !code.is_empty()),
        text(),
        completion,
    );
    let name = text().prop_filter("not empty", |name| !name.is_empty());
    (name, collection::vec(language, 0..6), any::<bool>()).prop_map(
        |(name, languages, id_as_string)| Repository {
            name,
            languages,
            id_as_string,
        },
    )
}

fn id() -> impl Strategy<Value = u64> {
    prop_oneof![
        1..20_u64,
        1..=RepositoryId::MAX,
        RepositoryId::MAX - 3..=RepositoryId::MAX
    ]
}

/// What happens to the listing before a page of it is read.
#[derive(Debug, Clone)]
enum Change {
    Insert(u64),
    Remove(usize),
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        (1..200_u64).prop_map(Change::Insert),
        any::<usize>().prop_map(Change::Remove)
    ]
}

/// An API in memory that speaks in bytes.
#[derive(Clone)]
struct Account(Arc<Mutex<World>>);

struct World {
    repositories: BTreeMap<u64, Repository>,
    page: usize,
    /// What is done before each page.
    changes: Vec<Vec<Change>>,
    /// These are never removed.
    lasting: BTreeSet<u64>,
}

impl Api for Account {
    type Session = Self;

    async fn begin(&self) -> Result<Self, super::PollEnd> {
        Ok(self.clone())
    }

    fn held_until(&self) -> Option<Instant> {
        None
    }

    fn pace(&self) -> Option<super::Pace> {
        None
    }

    fn forget_pace(&self) {}
}

impl Session for Account {
    async fn list_repositories(&self, after: Option<RepositoryId>) -> Result<Page, ApiError> {
        let mut world = self.0.lock().unwrap();
        for change in world.changes.pop().unwrap_or_default() {
            world.change(&change);
        }
        let after = after.map_or(0, RepositoryId::get);
        let page = world
            .repositories
            .iter()
            .filter(|(id, _)| **id > after)
            .take(world.page);
        let entry = |(id, repository): (&u64, &Repository)| {
            let id = if repository.id_as_string {
                json!(id.to_string())
            } else {
                json!(id)
            };
            json!({"id": id, "name": repository.name, "created_at": "2024-05-06T07:08:09Z"})
        };
        Ok(wire::decode_page(
            page.map(entry).collect::<Value>().to_string().as_bytes(),
            wire::Absent::Unknown,
        )
        .unwrap())
    }

    async fn list_languages(
        &self,
        id: RepositoryId,
        _: Attempts,
    ) -> Result<LanguageList, ApiError> {
        let world = self.0.lock().unwrap();
        let languages = world
            .repositories
            .get(&id.get())
            .map(|repository| &*repository.languages)
            .unwrap_or_default();
        let entry = |(code, name, completion): &(String, String, Option<f64>)| json!({"code": code, "name": name, "completion": completion});
        let body = languages.iter().map(entry).collect::<Value>().to_string();
        Ok(
            wire::decode_languages(body.as_bytes(), &Interner::default(), wire::Absent::Unknown)
                .unwrap(),
        )
    }
}

impl World {
    fn change(&mut self, change: &Change) {
        match change {
            Change::Insert(id) => {
                let name = format!("inserted/{id}");
                let repository = Repository {
                    name,
                    languages: Vec::new(),
                    id_as_string: false,
                };
                self.repositories.entry(*id).or_insert(repository);
            }
            Change::Remove(place) => {
                let place = place.checked_rem(self.repositories.len());
                let id = place.and_then(|place| self.repositories.keys().nth(place).copied());
                if let Some(id) = id.filter(|id| !self.lasting.contains(id)) {
                    self.repositories.remove(&id);
                }
            }
        }
    }
}

/// What one poll of the account ends with.
fn poll(world: World) -> (Snapshot, PollOutcome) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(async {
        let settings = Settings {
            api: Account(Arc::new(Mutex::new(world))),
            concurrency: 3,
            max_repositories: 1000,
            interval: Duration::from_secs(3600),
            stale_after: Duration::from_secs(7200),
            filter: Filter::default(),
            excluded_languages: LanguageFilter::default(),
            completion_scale: 100.0,
            targets: Arc::default(),
            links: Arc::default(),
            only: globset::GlobSet::empty(),
        };
        let (_keep, settings) = watch::channel(Arc::new(settings));
        let (clock, instruments) = (
            Clock::following_tokio(START),
            Arc::new(Instruments::new("/metrics")),
        );
        let mut poller = Poller::new(
            settings,
            None,
            None,
            clock,
            instruments,
            Box::new(super::discard),
        );
        let outcome = poller.poll().await;
        (poller.snapshot(), outcome)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn any_listing_and_any_languages_are_read_back_equal(
        repositories in collection::btree_map(id(), repository(), 0..12),
        page in 1..5_usize,
    ) {
        // Of one name the highest id is shown; of one code the first entry. No zero has a sign.
        let mut expected = BTreeMap::new();
        for (id, repository) in &repositories {
            let languages = repository.languages.iter().rev();
            let languages: BTreeMap<_, _> = languages
                .map(|(code, name, completion)| (code.clone(), (name.clone(), completion.map(|completion| (completion + 0.0).to_bits()))))
                .collect();
            expected.insert(repository.name.clone(), (*id, languages));
        }
        let world = World { repositories, page, changes: Vec::new(), lasting: BTreeSet::new() };
        let (snapshot, outcome) = poll(world);
        prop_assert!(outcome.is_success());
        let mut found = BTreeMap::new();
        for shown in &snapshot.repositories {
            let readings = shown.condition.languages().unwrap().readings.iter();
            let languages: BTreeMap<_, _> = readings
                .map(|reading| {
                    let completion = reading.completion().map(|completion| completion.get().to_bits());
                    (reading.language.code.to_string(), (reading.language.name.to_string(), completion))
                })
                .collect();
            found.insert(shown.repository.name.to_string(), (shown.repository.id.get(), languages));
        }
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn no_listing_that_changes_between_pages_loses_what_was_there_all_along(
        lasting in collection::btree_set(1..200_u64, 0..20),
        fleeting in collection::btree_set(1..200_u64, 0..20),
        page in 1..6_usize,
        changes in collection::vec(collection::vec(change(), 0..6), 0..20),
    ) {
        let named = |id: &u64| (*id, Repository { name: format!("owner/{id}"), languages: Vec::new(), id_as_string: id.is_multiple_of(2) });
        let repositories = lasting.union(&fleeting).map(named).collect();
        let (snapshot, outcome) = poll(World { repositories, page, changes, lasting: lasting.clone() });
        prop_assert!(outcome.listing.is_none(), "the listing reached its end");
        let shown: BTreeSet<_> = snapshot.repositories.iter().map(|shown| shown.repository.id.get()).collect();
        prop_assert!(lasting.is_subset(&shown), "lost: {:?}", lasting.difference(&shown));
    }
}
