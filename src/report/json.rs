//! The JSON of `once` and of `/translations.json`, version 1: one definition for both.
//!
//! Within a version, members may be added, but are never removed or renamed and never change their
//! meaning. `deploy/translations.schema.json` is generated from the types below.
//!
//! The document is encoded piece by piece, one repository on a line: the whole text of a large
//! account would take several times the memory of its snapshot.

use super::Since;
use crate::domain::{
    Completion, Failure, TranslationProblem,
    document::{Document, NotJudged, Row, Selection, Totals, Translation},
    polling::PollOutcome,
    twelve_decimals,
};
use schemars::JsonSchema;
use serde::Serialize;
use std::{fmt, sync::Arc};

/// The size of a piece in bytes, exceeded by at most one repository.
const PIECE: usize = 64 * 1024;

/// The completion of every translation, as the exporter last knew it.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "translation-exporter: translations")]
pub struct JsonDocument {
    /// The version of this schema.
    #[schemars(extend("const" = 1))]
    version: u32,
    /// The time of the data. Times are RFC 3339 in UTC.
    #[schemars(extend("format" = "date-time"))]
    taken_at: String,
    /// True if the last poll read everything.
    complete: bool,
    /// `api.completion_scale`: the completion that means finished.
    completion_scale: f64,
    /// True if `completion_scale` seems wrong, so that `ready` and `problems` are unknown.
    scale_suspect: bool,
    listing: JsonListing,
    /// The last poll; null until a first poll has ended.
    poll: Option<JsonPoll>,
    /// The number of repositories left out by the filters, or for a duplicate name.
    filtered: usize,
    /// The number of repositories of this document without data, which `summary` leaves out: their
    /// `languages` are null.
    unread: usize,
    /// The totals of all repositories of this document.
    summary: Summary,
    /// The repositories, sorted by name.
    repositories: Vec<JsonRepository>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Listing")]
struct JsonListing {
    /// True if the last poll could list all repositories.
    complete: bool,
    /// The failure of the listing; null if there was none.
    error: Option<Problem>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Poll")]
struct JsonPoll {
    duration_seconds: f64,
    /// The reason why the poll ended early; null if it did not.
    error: Option<Problem>,
    /// The number of repositories that could not be read.
    failed: usize,
    /// The number of repositories that failed earlier and were left to a later poll.
    postponed: usize,
    /// The number of repositories read in full.
    read: usize,
    /// The number of repositories left unread because the poll ended early.
    unreached: usize,
}

/// A failure in words for people.
#[derive(Serialize, JsonSchema)]
struct Problem {
    /// The remedy.
    hint: String,
    /// The attempt and the error.
    what: String,
}

#[derive(Serialize, JsonSchema)]
struct Summary {
    /// The number of translations without the resting ones: the languages of each repository,
    /// summed up.
    languages: usize,
    /// The number of translations at or above their target.
    ready: usize,
    /// The number of translations of which is unknown whether they are ready.
    unknown: usize,
    /// The number of translations with a target of 0.
    resting: usize,
    /// The mean of the ratios, each clamped to 0 to 1; null if no ratio is known.
    ratio: Option<f64>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Repository")]
struct JsonRepository {
    /// The id in decimal; a string, because many JSON parsers round large numbers.
    id: String,
    /// The name, `owner/repo`.
    name: String,
    /// True for a private repository; null if the API does not report the visibility.
    private: Option<bool>,
    #[schemars(extend("format" = "date-time"))]
    created_at: Option<String>,
    /// The URL made from `links.repository`; null if that key is not set.
    url: Option<String>,
    /// `fresh`: the last read succeeded. `failing`: the last read failed; the data are of an
    /// earlier one. `stale`: the data were too old to show. `pending`: this process has not read it
    /// yet.
    #[schemars(extend("enum" = ["pending", "fresh", "failing", "stale"]))]
    state: &'static str,
    /// The failure of the last read; null if there was none.
    error: Option<Problem>,
    summary: Summary,
    /// The languages, sorted by code; null if they are unknown.
    languages: Option<Vec<JsonLanguage>>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Language")]
struct JsonLanguage {
    code: String,
    /// The name; empty if the API reports none.
    name: String,
    /// The completion as the API reported it; null if the API reports none.
    completion: Option<f64>,
    /// The completion divided by the scale, rounded to 12 decimals, not clamped.
    ratio: Option<f64>,
    target: JsonTarget,
    /// True if the ratio reaches the target; null without a completion or while the scale is
    /// suspect, unless the target is 0.
    ready: Option<bool>,
    /// The time at which the completion was last seen to rise, or else first seen; null in the week
    /// after that, because nothing earlier is known.
    #[schemars(extend("format" = "date-time"))]
    last_progress: Option<String>,
    /// True if `problems` has `stalled`; false also where that is not known.
    stalled: bool,
    /// The kinds of problems. `stalled`: no progress for `thresholds.stalled_after`, or the time
    /// that its entry of `targets` allows. `regressed`: fallen by `thresholds.regressed_by` within
    /// 7 days. `overdue`: the date is past. `at_risk`: the date is near, and the recent rate misses
    /// it. Empty if the language is ready, or cannot be judged.
    #[schemars(extend("items" = {"type": "string", "enum": labels()}))]
    problems: Vec<&'static str>,
    /// The reason why the language may have other problems. `suspect_scale`; `old_data`: older than
    /// a day and than three intervals; `no_completion`: only its date was judged; `too_early`:
    /// `stalled` or `at_risk` is not known yet. Null if all was judged.
    #[schemars(extend("enum" = [null, "suspect_scale", "old_data", "no_completion", "too_early"]))]
    not_judged: Option<&'static str>,
    /// True if `targets` requires the language and the repository does not list it; otherwise
    /// absent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    missing: bool,
    /// The time at which the language will be ready at its recent rate; null if it is ready, makes
    /// no progress, was seen first less than a day ago or is not judged, or if that time is past.
    #[schemars(extend("format" = "date-time"))]
    estimated_ready: Option<String>,
    /// The ratio minus the ratio of `once --since`; absent without that option, or if one of the
    /// two is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    change: Option<f64>,
    /// The URL made from `links.language`; null if that key is not set.
    url: Option<String>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Target")]
struct JsonTarget {
    /// The ratio at which the language is ready; 1 if no entry of `targets` matches.
    ratio: f64,
    /// The time by which the language must be ready; null if there is none.
    #[schemars(extend("format" = "date-time"))]
    due: Option<String>,
}

fn labels() -> Vec<&'static str> {
    let kinds = TranslationProblem::ALL.iter();
    kinds.map(|kind| kind.label()).collect()
}

/// Returns the JSON Schema of the document, which a test holds against the file in `deploy`.
#[cfg(test)]
pub fn schema() -> serde_json::Value {
    schemars::schema_for!(JsonDocument).to_value()
}

/// Encodes the chosen repositories and languages piece by piece, with the changes since earlier
/// data.
pub fn json(
    document: Arc<Document>,
    selection: Selection,
    since: Option<Arc<Since>>,
) -> impl Iterator<Item = String> + Send + use<> {
    let is_unread = |row: &&Row| !row.is_read() && selection.has_repository(row.name());
    let unread = document.rows.iter().filter(is_unread).count();
    let head = head(&document, &selection.totals(&document), unread);
    let mut next = 0;
    let mut separator = "\n";
    let mut opening = Some(head);
    std::iter::from_fn(move || {
        let mut piece = opening.take().unwrap_or_default();
        while piece.len() < PIECE {
            let Some(row) = document.rows.get(next) else {
                // `next` then exceeds the length, so that the end is written once.
                if next == document.rows.len() {
                    next += 1;
                    piece += "\n  ]\n}\n";
                }
                break;
            };
            next += 1;
            if let Some(row) = selection.of_row(row) {
                piece += separator;
                piece += "    ";
                piece += &text(&repository(&document, &row, since.as_deref()));
                separator = ",\n";
            }
        }
        (!piece.is_empty()).then_some(piece)
    })
}

/// Encodes the document up to its first repository.
fn head(document: &Document, totals: &Totals, unread: usize) -> String {
    let poll = document.status.last.as_ref();
    let head = JsonDocument {
        version: 1,
        taken_at: document.taken_at.to_string(),
        complete: document.is_complete(),
        completion_scale: document.completion_scale,
        scale_suspect: document.is_scale_suspect,
        listing: JsonListing {
            complete: document.is_listed(),
            error: poll
                .and_then(|poll| poll.listing_failure.as_ref())
                .map(problem),
        },
        poll: poll.map(|poll: &PollOutcome| JsonPoll {
            duration_seconds: (poll.duration.as_secs_f64() * 1e3).round() / 1e3,
            error: poll.stop.as_ref().map(|stop| problem(&stop.failure)),
            failed: poll.failed,
            postponed: poll.postponed,
            read: poll.read,
            unreached: poll.unreached,
        }),
        filtered: document.filtered,
        unread,
        summary: summary(totals),
        repositories: Vec::new(),
    };
    let head = serde_json::to_string_pretty(&head).expect(PROOF);
    let end = "]\n}";
    head[..head.len() - end.len()].to_owned()
}

const PROOF: &str = "a document of text, numbers and lists always encodes";

fn text(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect(PROOF)
}

fn summary(totals: &Totals) -> Summary {
    Summary {
        languages: totals.all,
        ready: totals.ready,
        unknown: totals.unknown,
        resting: totals.resting,
        ratio: totals.mean.get().map(twelve_decimals),
    }
}

fn repository(document: &Document, row: &Row, since: Option<&Since>) -> JsonRepository {
    let translations = row.translations().iter();
    let languages = translations.map(|one| language(document, row, one, since));
    JsonRepository {
        id: row.repository.id.to_string(),
        name: row.name().to_owned(),
        private: row.repository.private,
        created_at: time(row.repository.created_at),
        url: document.repository_url(row),
        state: row.condition.label(),
        error: row.condition.failure().map(problem),
        summary: summary(&row.totals()),
        languages: row.is_read().then(|| languages.collect()),
    }
}

fn language(
    document: &Document,
    row: &Row,
    one: &Translation,
    since: Option<&Since>,
) -> JsonLanguage {
    JsonLanguage {
        code: one.code().to_owned(),
        name: one.language.name.to_string(),
        completion: one.completion.map(Completion::get),
        ratio: one.ratio,
        target: JsonTarget {
            ratio: one.target().ratio,
            due: time(one.target().due),
        },
        ready: one.ready(),
        last_progress: time(one.known_progress()),
        stalled: one.has(TranslationProblem::Stalled),
        problems: one.kinds(),
        not_judged: one.problems.not_judged.map(NotJudged::label),
        missing: one.is_missing,
        estimated_ready: time(one.estimated_ready),
        change: since.and_then(|since| since.change(document, row, one)),
        url: document.language_url(row, one.code()),
    }
}

fn time(at: Option<impl fmt::Display>) -> Option<String> {
    at.map(|at| at.to_string())
}

fn problem(Failure { what, hint, .. }: &Failure) -> Problem {
    Problem {
        hint: hint.to_string(),
        what: what.to_string(),
    }
}
