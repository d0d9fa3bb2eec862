//! What the demo API shows: repositories, how far each language is at any time, and when it is to be ready.

use crate::model::Timestamp;
use serde_json::{Value, json};
use std::time::Duration;

/// A repository of the demo.
#[derive(Debug, Clone, Copy)]
pub struct Repository {
    pub id: u64,
    name: &'static str,
    created_at: &'static str,
    /// How many target languages it has.
    pub languages: usize,
}

const fn repository(
    id: u64,
    name: &'static str,
    created_at: &'static str,
    languages: usize,
) -> Repository {
    Repository {
        id,
        name,
        created_at,
        languages,
    }
}

/// In the order of their ids. The last of these are larger than a double can hold, which reveals clients that read them as
/// such.
#[rustfmt::skip]
pub const REPOSITORIES: [Repository; 24] = [
    repository(3_001, "fernwood/field-guide", "2018-03-12T08:15:00Z", 14),
    repository(3_405, "fernwood/field-guide-ios", "2018-06-30T11:42:19Z", 12),
    repository(3_406, "fernwood/field-guide-android", "2018-07-02T09:03:54Z", 12),
    repository(5_120, "harborlight/tide-tables", "2019-01-21T16:20:00+01:00", 9),
    repository(5_377, "harborlight/harbor-map", "2019-02-11T10:31:47.250Z", 8),
    repository(6_210, "harborlight/crew-portal", "2019-05-06T07:00:12Z", 4),
    repository(8_844, "opal-notes/opal", "2019-11-18T19:27:33Z", 22),
    repository(9_001, "opal-notes/opal-desktop", "2020-02-03T13:08:25Z", 20),
    repository(9_002, "opal-notes/opal-mobile", "2020-02-03T13:11:02Z", 20),
    repository(9_730, "opal-notes/handbook", "2020-04-27T15:55:41Z", 7),
    repository(11_004, "opal-notes/billing", "2020-09-14T06:44:08Z", 6),
    repository(14_210, "tinplate/checkout", "2021-01-05T12:00:00Z", 11),
    repository(14_211, "tinplate/storefront", "2021-01-05T12:00:01Z", 13),
    repository(15_902, "tinplate/merchant-console", "2021-03-23T17:38:29.500Z", 9),
    repository(17_640, "tinplate/mail-templates", "2021-08-10T09:49:56Z", 10),
    repository(20_222, "wayfinder-maps/router", "2022-02-22T22:22:22Z", 5),
    repository(9_007_199_254_740_993, "wayfinder-maps/web", "2022-02-28T08:12:37-05:00", 16),
    repository(9_007_199_254_741_207, "wayfinder-maps/docs", "2022-10-17T14:05:03Z", 3),
    repository(9_007_199_254_742_011, "quiet-garden/planner", "2023-04-04T04:44:00Z", 8),
    repository(9_007_199_254_742_305, "quiet-garden/almanac", "2023-06-19T18:29:11Z", 6),
    repository(9_007_199_254_743_117, "lanternfish/reader", "2024-01-09T20:16:48Z", 17),
    repository(9_007_199_254_743_901, "lanternfish/catalog-admin", "2024-05-31T10:57:05Z", 3),
    repository(9_007_199_254_744_003, "lanternfish/reader-plugins", "2025-03-07T09:33:20Z", 1),
    repository(9_007_199_254_745_559, "lanternfish/audiobooks", "2026-09-29T11:02:14Z", 0),
];

/// The target languages: code and name, the common ones first.
const LANGUAGES: [(&str, &str); 22] = [
    ("de", "German"),
    ("fr", "French"),
    ("es", "Spanish"),
    ("ja", "Japanese"),
    ("pt-BR", "Portuguese (Brazil)"),
    ("zh-Hans", "Chinese (Simplified)"),
    ("it", "Italian"),
    ("ko", "Korean"),
    ("nl", "Dutch"),
    ("pl", "Polish"),
    ("tr", "Turkish"),
    ("uk", "Ukrainian"),
    ("sv", "Swedish"),
    ("cs", "Czech"),
    ("ar", "Arabic"),
    ("da", "Danish"),
    ("fi", "Finnish"),
    ("he", "Hebrew"),
    ("nb", "Norwegian Bokmål"),
    ("el", "Greek"),
    ("hi", "Hindi"),
    ("eo", "Esperanto"),
];

impl Repository {
    /// The repository as the API spells it, which some do with a text for the id. Those of few languages are private.
    pub fn json(&self) -> Value {
        let id = if self.id.is_multiple_of(2) {
            json!(self.id)
        } else {
            json!(self.id.to_string())
        };
        let private = self.languages < 7;
        json!({ "id": id, "name": self.name, "created_at": self.created_at, "private": private })
    }

    /// Its languages as the API spells them, so long after the start. One of them is not measured.
    pub fn languages_json(&self, elapsed: Duration) -> Value {
        let mut languages = Vec::new();
        for (place, (code, name)) in (0..).zip(LANGUAGES).take(self.languages) {
            let mut language = json!({ "code": code, "name": name });
            if (self.id, code) != (REPOSITORIES[0].id, "nl") {
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
