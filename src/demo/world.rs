//! The world of the demo API: repositories, the completion of each language at any time, and
//! targets.

use crate::support::clock::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::{sync::LazyLock, time::Duration};

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
    /// Encodes the repository for a listing. Odd ids are strings.
    pub fn json(&self) -> Value {
        let mut repository = json!(self);
        if !self.id.is_multiple_of(2) {
            repository["id"] = self.id.to_string().into();
        }
        repository
    }

    /// Encodes the languages at `elapsed` after the start. One language has no completion, and one
    /// has 0: without it, the demo API would seem to leave out zeros.
    pub fn languages_json(&self, elapsed: Duration) -> Value {
        let mut languages = Vec::new();
        for (place, (code, name)) in (0..).zip(&WORLD.languages).take(self.languages) {
            let mut language = json!({ "code": code, "name": name });
            match (self.id, &**code) {
                (3001, "nl") => {}
                (3405, "nl") => language["completion"] = 0.into(),
                _ => language["completion"] = self.completion(place, elapsed).into(),
            }
            languages.push(language);
        }
        languages.into()
    }

    /// Returns the completion of a language in percent. Three of eleven languages are complete and
    /// one is stalled. The others receive new text once per cycle, and translating it takes two
    /// thirds of the cycle.
    fn completion(&self, place: u64, elapsed: Duration) -> u64 {
        let mix = self.id % 1009 * 31 + place * 17;
        let lowest = 40 + mix % 56;
        let cycle = 120 + mix % 13 * 40;
        let second = (elapsed.as_secs() + mix * 7) % cycle;
        let share = match mix % 11 {
            0..3 => 100,
            3 => 25,
            _ => (second * 150 / cycle).min(100),
        };
        lowest + (100 - lowest) * share / 100
    }

    /// Returns whether the repository cannot be read: one fails for 12 seconds of every five
    /// minutes.
    pub fn is_out(&self, elapsed: Duration) -> bool {
        self.id == 9_002 && (100..112).contains(&(elapsed.as_secs() % 300))
    }
}

/// Returns the demo's `targets` as YAML: one date is missed, one is near, one is far, and one
/// language rests.
pub fn targets(now: Timestamp) -> String {
    let [missed, near, far] = [-3, 9, 40].map(|days| {
        let due = Timestamp::from_millis(now.as_millis() + days * 86_400_000);
        due.to_string()
    });
    // The precision `.10` keeps the day of a timestamp.
    format!(
        "targets:
  - {{languages: [eo], ratio: 0}}
  - {{repositories: [harborlight/*], ratio: 0.9, due: {missed:.10}}}
  - {{repositories: [opal-notes/*], languages: [de, fr, es, ja], ratio: 0.95, due: {near:.10}}}
  - {{repositories: [tinplate/*], ratio: 0.8, due: {far:.10}}}
"
    )
}
