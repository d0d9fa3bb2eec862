//! The world of the demo API: repositories, the completion of each language at any time, and
//! targets.

use crate::{
    domain::{
        Completion, Language, Repository, Scale,
        record::{KeptRepository, Record},
        targets::{TargetEntry, Targets},
    },
    support::clock::Timestamp,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use serde_saphyr::from_str;
use std::sync::{Arc, LazyLock};

const DAY: i64 = 24 * 60 * 60;
const WEEK: i64 = 7 * DAY;

/// The content of `world.json`. The last ids are too large for a double, which exposes clients that
/// parse ids as one.
pub static WORLD: LazyLock<World> = LazyLock::new(|| {
    serde_json::from_str(include_str!("world.json")).expect("the tests of the demo read it")
});

#[derive(Debug, Deserialize)]
pub struct World {
    /// Sorted by id.
    pub repositories: Vec<DemoRepository>,
    /// The codes and names, the most common languages first.
    languages: Vec<(String, String)>,
}

#[derive(Debug, Deserialize, Serialize)]
pub struct DemoRepository {
    pub id: u64,
    name: String,
    created_at: String,
    private: bool,
    /// The number of languages; the repository has the first ones of the world.
    #[serde(skip_serializing)]
    pub languages: usize,
}

impl DemoRepository {
    /// Encodes the languages at a second since the start.
    pub fn languages_json(&self, second: i64) -> Value {
        let language = |(code, name, completion): (&str, &str, Option<u32>)| {
            let mut language = json!({ "code": code, "name": name });
            if let Some(completion) = completion {
                language["completion"] = completion.into();
            }
            language
        };
        self.languages_at(second).map(language).collect()
    }

    /// Returns code, name and completion of each language. One has no completion, and one has 0:
    /// without it, the demo API would seem to leave out zeros.
    fn languages_at(
        &self,
        second: i64,
    ) -> impl Iterator<Item = (&'static str, &'static str, Option<u32>)> {
        let languages = (0..).zip(&WORLD.languages).take(self.languages);
        languages.map(move |(place, (code, name))| {
            let completion = match (self.id, &**code) {
                (3001, "nl") => None,
                (3405, "nl") => Some(0),
                _ => Some(self.completion(place, second)),
            };
            (&**code, &**name, completion)
        })
    }

    /// Returns the completion of a language in percent. Three of eleven languages are complete, a
    /// few stopped 12 days before the start, and a few lost a third of their text four days before
    /// it. The others grow by 3 to 21 points a week. They receive new text once a week, last two
    /// days before the start, and translate it within five days; from the start on also a little
    /// once per cycle, so that something moves every few seconds, and nothing falls far.
    fn completion(&self, place: u64, second: i64) -> u32 {
        let mix = i64::try_from(self.id % 1009 * 31 + place * 17).unwrap_or_default();
        let at_start = 62 + mix * 7 % 39;
        let completion = if mix % 11 < 3 {
            100
        } else if mix % 23 == 3 {
            at_start + 20 * (second + 12 * DAY).min(0) / WEEK
        } else if mix % 53 == 7 {
            match second + 4 * DAY {
                ..0 => 85,
                since => (46 + mix % 10 + since / DAY).min(100),
            }
        } else {
            let level = (at_start + (3 + mix % 7 * 3) * second / WEEK).min(100);
            let cycle = 120 + mix % 13 * 40;
            let done = (second + mix * 7).rem_euclid(cycle) * 150 / cycle;
            let untranslated = if second < 0 {
                0
            } else {
                (1 + mix % 4) * (100 - done).max(0)
            };
            let new_text = 2 + mix % 8;
            let days = (second + 2 * DAY).rem_euclid(WEEK) / DAY;
            level - untranslated / 100 - new_text * (5 - days).max(0) / 5
        };
        u32::try_from(completion).unwrap_or_default()
    }

    /// Returns the repository and its languages as an exporter knows them that has read them four
    /// times a day for three weeks until `now`.
    fn history(&self, now: Timestamp, targets: &Targets) -> Option<KeptRepository> {
        let targets = targets.of_repository(&self.name);
        let reads = (-3 * WEEK..=0).step_by(6 * 3600);
        let mut records: Vec<Record> = Vec::new();
        for second in reads {
            let read_at = Timestamp::from_millis(now.as_millis() + second * 1000);
            for (at, (code, name, completion)) in self.languages_at(second).enumerate() {
                if records.len() == at {
                    let (code, name) = (code.into(), name.into());
                    records.push(Record::new(Arc::new(Language { code, name })));
                }
                let completion = completion.and_then(|value| Completion::new(value.into()));
                records[at].observe(completion, Scale::PERCENT, targets.target(code), read_at);
            }
        }
        records.sort_by(|one, other| one.language.code.cmp(&other.language.code));
        let repository = Repository {
            id: self.id.try_into().ok()?,
            name: self.name.as_str().into(),
            private: Some(self.private),
            created_at: None,
        };
        Some(KeptRepository {
            read_at: Some(now),
            records: records.into(),
            ..KeptRepository::new(Arc::new(repository))
        })
    }
}

/// Returns everything that an exporter would know at the start of the world.
pub fn history(now: Timestamp, targets: &Targets) -> impl Iterator<Item = KeptRepository> {
    let repositories = WORLD.repositories.iter();
    repositories.filter_map(move |one| one.history(now, targets))
}

/// Returns the demo's targets: one date is missed, one is near, one is far, and one language rests.
pub fn targets(now: Timestamp) -> Targets {
    let [missed, near, far] = [-3, 9, 40].map(|days| {
        let due = Timestamp::from_millis(now.as_millis() + days * DAY * 1000);
        due.to_string()
    });
    // The precision `.10` keeps the day of a timestamp.
    let entries = format!(
        "
  - {{languages: eo, ratio: '0'}}
  - {{repositories: harborlight/*, ratio: '0.8', due: '{missed:.10}'}}
  - {{repositories: opal-notes/*, languages: 'de,fr,es,ja', ratio: '0.95', due: '{near:.10}'}}
  - {{repositories: tinplate/*, ratio: '0.8', due: '{far:.10}'}}
"
    );
    let entries: Vec<TargetEntry> = from_str(&entries).expect("the tests of the demo read it");
    Targets(entries.into_iter().map(Arc::new).collect())
}
