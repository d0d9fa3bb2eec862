//! The JSON of `once`; its schema is in the documentation of [`super`].

use super::summary::ratio;
use crate::{
    model::{Failure, Visibility},
    snapshot::{PollOutcome, Reading, Shown, Snapshot},
};
use serde::Serialize;
use serde_json::{Value, json};

#[derive(Serialize)]
struct Document<'a> {
    version: u8,
    taken_at: String,
    complete: bool,
    completion_scale: f64,
    listing: Value,
    poll: Value,
    filtered: usize,
    repositories: Vec<Entry<'a>>,
}

#[derive(Serialize)]
struct Entry<'a> {
    id: String,
    name: &'a str,
    private: Option<bool>,
    created_at: Option<String>,
    state: &'static str,
    error: Option<Value>,
    languages: Option<Vec<Language<'a>>>,
}

#[derive(Serialize)]
struct Language<'a> {
    code: &'a str,
    name: &'a str,
    completion: Option<f64>,
    ratio: Option<f64>,
}

/// What is known, as one JSON object and a line break.
///
/// # Panics
/// Never: it writes only text, numbers and lists.
#[must_use]
pub fn json(snapshot: &Snapshot, poll: &PollOutcome) -> String {
    let scale = snapshot.completion_scale;
    let document = Document {
        version: 1,
        taken_at: snapshot.taken_at.to_string(),
        complete: poll.is_success(),
        completion_scale: scale,
        listing: json!({ "complete": poll.listing.is_none(), "error": poll.listing.as_ref().map(error) }),
        poll: json!({
            "duration_seconds": poll.duration.as_secs_f64(),
            "read": poll.read,
            "failed": poll.failed,
            "unreached": poll.unreached,
            "error": poll.ended_early.as_ref().map(error),
        }),
        filtered: snapshot.filtered,
        repositories: snapshot
            .repositories
            .iter()
            .map(|shown| entry(shown, scale))
            .collect(),
    };
    let text = serde_json::to_string_pretty(&document)
        .expect("text, numbers and lists alone always become JSON");
    text + "\n"
}

fn entry(
    Shown {
        repository,
        condition,
    }: &Shown,
    scale: f64,
) -> Entry<'_> {
    let readings = condition
        .languages()
        .map(|languages| languages.readings.iter());
    Entry {
        id: repository.id.to_string(),
        name: &repository.name,
        private: match repository.visibility {
            Visibility::Public => Some(false),
            Visibility::Private => Some(true),
            Visibility::Unknown => None,
        },
        created_at: repository.created_at.map(|time| time.to_string()),
        state: condition.label(),
        error: condition.failure().map(error),
        languages: readings
            .map(|readings| readings.map(|reading| language(reading, scale)).collect()),
    }
}

fn language(reading: &Reading, scale: f64) -> Language<'_> {
    Language {
        code: &reading.language.code,
        name: &reading.language.name,
        completion: reading.completion().map(crate::model::Completion::get),
        ratio: ratio(reading, scale),
    }
}

fn error(Failure { what, hint, .. }: &Failure) -> Value {
    json!({ "what": **what, "hint": **hint })
}
