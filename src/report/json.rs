//! The JSON of `once`; its schema is in the documentation of [`super`].

use crate::domain::readiness::{self, Row, Translation};
use crate::domain::{
    Completion, Failure, Lasting,
    snapshot::{PollOutcome, Shown, Snapshot},
};
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

#[derive(Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    head: Value,
    #[serde(serialize_with = "entries")]
    repositories: Vec<Row<'a>>,
}

/// What is known, as one JSON object and a line break.
///
/// # Panics
/// Never: it writes only text, numbers and lists.
pub fn json(snapshot: &Snapshot, poll: &PollOutcome) -> String {
    let document = Document {
        head: json!({
            "version": 1,
            "taken_at": snapshot.taken_at.to_string(),
            "complete": poll.is_success(),
            "completion_scale": snapshot.completion_scale,
            "listing": {
                "complete": poll.listing.is_none(),
                "error": poll.listing.as_ref().map(error),
            },
            "poll": {
                "duration_seconds": (poll.duration.as_secs_f64() * 1e3).round() / 1e3,
                "error": poll.stop.as_ref().map(|stop| error(&stop.lasting)),
                "failed": poll.failed,
                "postponed": poll.postponed,
                "read": poll.read,
                "unreached": poll.unreached,
            },
            "filtered": snapshot.filtered,
        }),
        repositories: readiness::rows(snapshot, None, snapshot.taken_at),
    };
    let text = serde_json::to_string_pretty(&document)
        .expect("text, numbers and lists alone always become JSON");
    text + "\n"
}

/// One after the other, since a [`Value`] takes several times the memory of its text.
fn entries<S: Serializer>(rows: &[Row<'_>], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(rows.iter().map(entry))
}

fn entry(row: &Row<'_>) -> Value {
    let Shown {
        repository,
        condition,
    } = row.shown;
    let languages: Vec<_> = row.translations().map(language).collect();
    json!({
        "id": repository.id.to_string(),
        "name": *repository.name,
        "private": repository.private,
        "created_at": repository.created_at.map(|time| time.to_string()),
        "state": condition.label(),
        "error": condition.failure().map(|failure| error(&failure.lasting)),
        "languages": row.is_read().then_some(languages),
    })
}

fn language(translation: Translation<'_>) -> Value {
    let Translation {
        reading,
        ratio,
        target,
        ..
    } = translation;
    json!({
        "code": *reading.language.code,
        "name": *reading.language.name,
        "completion": reading.completion().map(Completion::get),
        "ratio": ratio,
        "target": { "ratio": target.ratio, "due": target.due.map(|due| due.to_string()) },
        "ready": translation.is_met(),
    })
}

fn error(Lasting { failure, .. }: &Lasting) -> Value {
    let Failure { what, hint } = failure;
    json!({ "hint": **hint, "what": **what })
}
