//! The JSON of `once`; its schema is in the documentation of [`super`].

use super::summary::ratio;
use crate::{
    model::{Failure, Repository, Visibility},
    snapshot::{Condition, PollOutcome, Reading, Snapshot},
};
use serde::Serialize;

#[derive(Serialize)]
struct Document<'a> {
    version: u8,
    taken_at: String,
    complete: bool,
    completion_scale: f64,
    listing: Listing<'a>,
    poll: Poll<'a>,
    filtered: usize,
    repositories: Vec<Entry<'a>>,
}

#[derive(Serialize)]
struct Listing<'a> {
    complete: bool,
    error: Option<Error<'a>>,
}

#[derive(Serialize)]
struct Poll<'a> {
    duration_seconds: f64,
    read: usize,
    failed: usize,
    unreached: usize,
    error: Option<Error<'a>>,
}

#[derive(Serialize)]
struct Error<'a> {
    what: &'a str,
    hint: &'a str,
}

#[derive(Serialize)]
struct Entry<'a> {
    id: String,
    name: &'a str,
    private: Option<bool>,
    created_at: Option<String>,
    state: &'static str,
    error: Option<Error<'a>>,
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
        listing: Listing { complete: poll.listing.is_none(), error: poll.listing.as_ref().map(error) },
        poll: Poll {
            duration_seconds: poll.duration.as_secs_f64(),
            read: poll.read,
            failed: poll.failed,
            unreached: poll.unreached,
            error: poll.ended_early.as_ref().map(error),
        },
        filtered: snapshot.filtered,
        repositories: snapshot
            .repositories
            .iter()
            .map(|shown| entry(&shown.repository, &shown.condition, scale))
            .collect(),
    };
    let text = serde_json::to_string_pretty(&document).expect("text, numbers and lists alone always become JSON");
    text + "\n"
}

fn entry<'a>(repository: &'a Repository, condition: &'a Condition, scale: f64) -> Entry<'a> {
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
        languages: condition
            .languages()
            .map(|languages| languages.readings.iter().map(|reading| language(reading, scale)).collect()),
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

fn error(failure: &Failure) -> Error<'_> {
    Error { what: &failure.what, hint: &failure.hint }
}
