//! The JSON of `once`; its schema is in the documentation of [`super`].

use super::summary::{self, Row, Translation};
use crate::{
    model::{Completion, Failure},
    snapshot::{PollOutcome, Shown, Snapshot},
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
    target: Target,
    ready: Option<bool>,
}

#[derive(Serialize)]
struct Target {
    ratio: f64,
    due: Option<String>,
}

/// What is known, as one JSON object and a line break.
///
/// # Panics
/// Never: it writes only text, numbers and lists.
pub fn json(snapshot: &Snapshot, poll: &PollOutcome) -> String {
    let rows = summary::rows(snapshot, None, snapshot.taken_at);
    let document = Document {
        version: 1,
        taken_at: snapshot.taken_at.to_string(),
        complete: poll.is_success(),
        completion_scale: snapshot.completion_scale,
        listing: json!({ "complete": poll.listing.is_none(), "error": poll.listing.as_ref().map(error) }),
        poll: json!({
            "duration_seconds": (poll.duration.as_secs_f64() * 1e3).round() / 1e3,
            "read": poll.read,
            "failed": poll.failed,
            "unreached": poll.unreached,
            "postponed": poll.postponed,
            "error": poll.stop.as_ref().map(|stop| error(&stop.failure)),
        }),
        filtered: snapshot.filtered,
        repositories: rows.iter().map(entry).collect(),
    };
    let text = serde_json::to_string_pretty(&document)
        .expect("text, numbers and lists alone always become JSON");
    text + "\n"
}

fn entry<'a>(row: &Row<'a>) -> Entry<'a> {
    let Shown {
        repository,
        condition,
    } = row.shown;
    Entry {
        id: repository.id.to_string(),
        name: &repository.name,
        private: repository.private,
        created_at: repository.created_at.map(|time| time.to_string()),
        state: condition.label(),
        error: condition.failure().map(error),
        languages: row
            .is_read()
            .then(|| row.translations().map(language).collect()),
    }
}

fn language(translation: Translation<'_>) -> Language<'_> {
    let Translation {
        reading,
        ratio,
        target,
        ..
    } = translation;
    Language {
        code: &reading.language.code,
        name: &reading.language.name,
        completion: reading.completion().map(Completion::get),
        ratio,
        target: Target {
            ratio: target.ratio,
            due: target.due.map(|due| due.to_string()),
        },
        ready: translation.is_met(),
    }
}

fn error(Failure { what, hint, .. }: &Failure) -> Value {
    json!({ "what": **what, "hint": **hint })
}
