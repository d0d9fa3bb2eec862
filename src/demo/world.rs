//! What the demo API shows: repositories, how far each language is at any time, and when it is to be ready.

use crate::support::clock::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::{sync::LazyLock, time::Duration};

/// The common languages come first. The last ids are larger than a double can hold, which reveals clients that read them
/// as such.
pub static WORLD: LazyLock<World> = LazyLock::new(|| {
    serde_json::from_str(include_str!("world.json")).expect("the tests of the demo read it")
});

#[derive(Debug, Deserialize)]
pub struct World {
    /// In the order of their ids.
    pub repositories: Vec<Repository>,
    /// Code and name of each.
    languages: Vec<(String, String)>,
}

#[derive(Debug, Deserialize, Serialize)]
pub struct Repository {
    pub id: u64,
    name: String,
    created_at: String,
    private: bool,
    /// How many of the languages it has.
    #[serde(skip_serializing)]
    pub languages: usize,
}

impl Repository {
    /// The repository as the API spells it: some ids are texts.
    pub fn json(&self) -> Value {
        let mut repository = json!(self);
        if !self.id.is_multiple_of(2) {
            repository["id"] = self.id.to_string().into();
        }
        repository
    }

    /// Its languages as the API spells them, so long after the start. One of them is not measured.
    pub fn languages_json(&self, elapsed: Duration) -> Value {
        let mut languages = Vec::new();
        for (place, (code, name)) in (0..).zip(&WORLD.languages).take(self.languages) {
            let mut language = json!({ "code": code, "name": name });
            if (self.id, &**code) != (3001, "nl") {
                language["completion"] = self.completion(place, elapsed).into();
            }
            languages.push(language);
        }
        languages.into()
    }

    /// How far a language is, in percent: some are complete, some stalled. To the others new text comes from time to time,
    /// which takes two thirds of the time to translate.
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

    /// Whether it cannot be read: one repository cannot for 12 seconds of every five minutes.
    pub fn is_out(&self, elapsed: Duration) -> bool {
        self.id == 9_002 && (100..112).contains(&(elapsed.as_secs() % 300))
    }
}

/// When the demo's languages are to be ready, as a file says it: one date is missed, one near, one far; one language rests.
pub fn targets(now: Timestamp) -> String {
    let [missed, near, far] = [-3, 9, 40].map(|days| {
        let due = Timestamp::from_millis(now.as_millis() + days * 86_400_000);
        due.to_string()
    });
    // The first ten characters of a time are its day.
    format!(
        "targets:
  - {{languages: [eo], ratio: 0}}
  - {{repositories: [harborlight/*], ratio: 0.9, due: {missed:.10}}}
  - {{repositories: [opal-notes/*], languages: [de, fr, es, ja], ratio: 0.95, due: {near:.10}}}
  - {{repositories: [tinplate/*], ratio: 0.8, due: {far:.10}}}
"
    )
}
