//! The JSON of `once` and of `/translations.json`, version 1: one definition for both.
//!
//! Within a version, members may be added, but are never removed or renamed and never change their
//! meaning. `docs/translations.schema.json` describes them.
//!
//! The document is encoded repository by repository, each on a line: the whole text of a large
//! account would take several times the memory of its snapshot.

use crate::{
    domain::{
        Change, Standing, TranslationProblem,
        document::{Document, NotJudged, Row, Selection, Totals, Translation},
        twelve_decimals,
    },
    support::clock::Timestamp,
};
use serde_json::{Value, json};
use std::{iter::once, mem::replace, sync::Arc};

/// Encodes the chosen repositories and languages piece by piece, with the changes since a
/// day.
pub fn json(
    document: Arc<Document>,
    selection: Selection,
    since: Timestamp,
) -> impl Iterator<Item = String> + Send + use<> {
    let head = head(&document.select(&selection));
    let mut separator = "";
    let rows = by_row(document, selection, move |document, row| {
        let row = repository(document, row, since);
        format!("{}\n    {row}", replace(&mut separator, ","))
    });
    once(head).chain(rows).chain(once("\n  ]\n}\n".to_owned()))
}

/// Returns the text of each chosen repository. It is made when it is asked for.
pub fn by_row(
    document: Arc<Document>,
    selection: Selection,
    mut text: impl FnMut(&Document, &Row) -> String + Send,
) -> impl Iterator<Item = String> + Send {
    (0..document.rows.len()).filter_map(move |index| {
        let row = selection.of_row(&document.rows[index])?;
        Some(text(&document, &row))
    })
}

/// Encodes the document up to its first repository.
fn head(document: &Document) -> String {
    let poll = document.last_poll();
    let mut failures = document.rows.iter().flat_map(|row| &row.failure);
    let left = document.departed().map(
        |left| json!({"code": left.language, "repository": left.repository, "ready": left.was_met}),
    );
    let head = json!({
        "version": 1,
        "taken_at": document.taken_at.to_string(),
        "complete": document.is_complete(),
        "completion_scale": document.settings.scale.finished,
        "scale_suspect": document.is_scale_suspect,
        "listing": {
            "complete": document.is_listed(),
            "error": poll.filter(|poll| !poll.is_listed).and_then(|poll| poll.cut_short()),
        },
        "poll": poll.map(|poll| json!({
            "duration_seconds": (poll.duration.as_secs_f64() * 1e3).round() / 1e3,
            "error": poll.cut_short().or_else(|| failures.next()),
            "failed": poll.failed,
            "postponed": poll.left(),
            "read": poll.read,
        })),
        "filtered": document.filtered.len(),
        "unread": document.unread(),
        "readiness": document.readiness(),
        "summary": summary(&document.totals),
        "dates": document.dates().map(|(day, totals)| date(day, &totals)).collect::<Value>(),
        "left": left.collect::<Value>(),
        "repositories": [],
    });
    format!("{head:#}").trim_end_matches("]\n}").to_owned()
}

fn summary(totals: &Totals) -> Value {
    json!({
        "languages": totals.counted(),
        "ready": totals.ready(),
        "unknown": totals.unknown(),
        "resting": totals.resting(),
        "ratio": totals.mean().map(twelve_decimals),
    })
}

fn date(day: Option<Timestamp>, totals: &Totals) -> Value {
    let mut date = json!({
        "due": day.map(|day| day.strftime("%F")),
        "last_expected": time(totals.last_expected),
    });
    for standing in Standing::ALL {
        date[standing.label()] = totals.standing(*standing).into();
    }
    date
}

fn repository(document: &Document, row: &Row, since: Timestamp) -> Value {
    let known = row.translations().iter();
    let languages = known.map(|known| language(document, row, known, since));
    json!({
        "id": row.repository.id.to_string(),
        "name": row.name(),
        "private": row.repository.private,
        "created_at": time(row.repository.created_at),
        "url": document.repository_url(row),
        "state": row.state.label(),
        "error": row.failure,
        "read_at": time(row.read_at),
        "summary": summary(&Totals::of(row.translations())),
        "languages": row.is_read().then(|| languages.collect::<Value>()),
    })
}

/// Encodes a translation. Its members are also columns of CSV.
pub fn language(
    document: &Document,
    row: &Row,
    translation: &Translation,
    since: Timestamp,
) -> Value {
    let (target, fall) = (translation.target(), translation.fall.as_deref());
    json!({
        "code": translation.code(),
        "name": translation.language.name,
        "completion": translation.completion,
        "ratio": translation.ratio,
        "target": {"ratio": target.ratio(), "due": time(*target.due)},
        "ready": translation.readiness.is_met(),
        "last_progress": time(translation.known_progress(document.taken_at)),
        "stalled": translation.has(TranslationProblem::Stalled),
        "problems": translation.kinds().map(TranslationProblem::label).collect::<Value>(),
        "not_judged": translation.not_judged.map(NotJudged::label),
        "estimated_ready": time(translation.estimated_ready),
        "fell_from": fall.map(|fall| fall.ratio),
        "fell_at": time(fall.map(|fall| fall.at)),
        "change": document.change(translation, since),
        "became": document.changes(translation, since).map(Change::label).collect::<Value>(),
        "url": document.language_url(row, translation.code()),
        "missing": translation.is_missing,
    })
}

pub fn time(at: Option<Timestamp>) -> Option<String> {
    at.map(|at| at.to_string())
}
