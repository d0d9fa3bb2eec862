//! Properties of any listing and any languages: every value travels unchanged from the wire to the
//! snapshot, and a cursor loses no repository of a listing that changes under it.

use super::api::Setup;
use crate::{
    api::{Api, Pace, RequestFailure, Session, wire},
    domain::{LanguageList, Page, RepositoryId, Stop, polling::PollOutcome, snapshot::Snapshot},
    support::clock::Timestamp,
};
use proptest::{collection, option, prelude::*};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex},
};

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

/// A change of the listing between two of its pages.
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

/// An API in memory whose responses are bytes.
#[derive(Clone)]
struct Account(Arc<Mutex<World>>, Arc<Pace>);

struct World {
    repositories: BTreeMap<u64, Repository>,
    page: usize,
    /// The changes before each page.
    changes: Vec<Vec<Change>>,
    /// The ids that are never removed.
    lasting: BTreeSet<u64>,
}

impl Api for Account {
    type Session = Self;

    async fn begin(&self, _: Timestamp) -> Result<Self, Stop> {
        Ok(self.clone())
    }

    fn pace(&self) -> &Pace {
        &self.1
    }
}

impl Session for Account {
    async fn list_repositories(&self, after: Option<RepositoryId>) -> Result<Page, RequestFailure> {
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
            false,
        )
        .unwrap())
    }

    async fn list_languages(&self, id: RepositoryId) -> Result<LanguageList, RequestFailure> {
        let world = self.0.lock().unwrap();
        let languages = world
            .repositories
            .get(&id.get())
            .map(|repository| &*repository.languages)
            .unwrap_or_default();
        let entry = |language: &(String, String, Option<f64>)| {
            let (code, name, completion) = language;
            json!({"code": code, "name": name, "completion": completion})
        };
        let body = languages.iter().map(entry).collect::<Value>().to_string();
        Ok(wire::decode_languages(body.as_bytes(), false).unwrap())
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

/// Polls the account once.
fn poll(world: World) -> (Snapshot, PollOutcome) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(async {
        let setup = Setup {
            concurrency: 3,
            ..Setup::of(Account(
                Arc::new(Mutex::new(world)),
                Arc::new(Pace::new(None)),
            ))
        };
        let mut poller = setup.build();
        let outcome = poller.poll().await;
        (poller.snapshot(), outcome)
    })
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        cases: 96,
        ..ProptestConfig::default()
    })]

    #[test]
    fn any_listing_and_any_languages_are_read_back_equal(
        repositories in collection::btree_map(id(), repository(), 0..12),
        page in 1..5_usize,
    ) {
        // The highest id of a name and the first entry of a code count. No zero has a sign.
        let mut expected = BTreeMap::new();
        for (id, repository) in &repositories {
            let languages = repository.languages.iter().rev();
            let languages: BTreeMap<_, _> = languages
                .map(|(code, name, completion)| {
                    let bits = completion.map(|completion| (completion + 0.0).to_bits());
                    (code.clone(), (name.clone(), bits))
                })
                .collect();
            expected.insert(repository.name.clone(), (*id, languages));
        }
        let world = World { repositories, page, changes: Vec::new(), lasting: BTreeSet::new() };
        let (snapshot, outcome) = poll(world);
        prop_assert!(outcome.is_success());
        let mut found = BTreeMap::new();
        for shown in &snapshot.repositories {
            let records = shown.condition.languages().unwrap().records.iter();
            let languages: BTreeMap<_, _> = records
                .map(|record| {
                    let bits = record.completion().map(|completion| completion.get().to_bits());
                    let language = &record.language;
                    (language.code.to_string(), (language.name.to_string(), bits))
                })
                .collect();
            found.insert(shown.repository.name.to_string(), (shown.repository.id.get(), languages));
        }
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn a_listing_that_changes_between_pages_loses_no_lasting_repository(
        lasting in collection::btree_set(1..200_u64, 0..20),
        fleeting in collection::btree_set(1..200_u64, 0..20),
        page in 1..6_usize,
        changes in collection::vec(collection::vec(change(), 0..6), 0..20),
    ) {
        let named = |id: &u64| {
            let repository = Repository {
                name: format!("owner/{id}"),
                languages: Vec::new(),
                id_as_string: id.is_multiple_of(2),
            };
            (*id, repository)
        };
        let repositories = lasting.union(&fleeting).map(named).collect();
        let world = World { repositories, page, changes, lasting: lasting.clone() };
        let (snapshot, outcome) = poll(world);
        prop_assert!(outcome.is_listed, "the listing reached its end");
        let shown = snapshot.repositories.iter();
        let shown: BTreeSet<_> = shown.map(|shown| shown.repository.id.get()).collect();
        prop_assert!(lasting.is_subset(&shown), "lost: {:?}", lasting.difference(&shown));
    }
}
