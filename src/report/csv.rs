//! The CSV of RFC 4180: one line per repository and language.

use super::cell;
use crate::{
    domain::{
        Change, Completion, NotJudged,
        document::{Document, Row, Selection, Translation},
    },
    support::clock::Timestamp,
};
use csv::{Terminator, WriterBuilder};
use serde::Serialize;
use std::{iter::once, sync::Arc};

/// A line, whose fields are the columns. An unknown value is empty.
#[derive(Debug, Default, Serialize)]
struct Line {
    repository: String,
    id: String,
    language: String,
    name: String,
    completion: Option<Completion>,
    ratio: Option<f64>,
    target: f64,
    due: Option<String>,
    ready: Option<bool>,
    last_progress: Option<String>,
    url: Option<String>,
    problems: String,
    estimated_ready: Option<String>,
    read_at: Option<String>,
    not_judged: Option<&'static str>,
    change: Option<f64>,
    became: String,
    fell_from: Option<f64>,
    fell_at: Option<String>,
}

/// Encodes a header and a line for each chosen language of each chosen repository, piece by piece.
/// By the byte order mark spreadsheets know UTF-8.
pub fn csv(
    document: Arc<Document>,
    selection: Selection,
    since: Timestamp,
) -> impl Iterator<Item = String> + Send + use<> {
    let head = "\u{feff}".to_owned()
        + encoded(true, [Line::default()])
            .lines()
            .next()
            .unwrap_or_default()
        + "\r\n";
    let rows = (0..document.rows.len()).filter_map(move |index| {
        let row = selection.of_row(&document.rows[index])?;
        let translations = row.translations().iter();
        let lines = translations.map(|one| line(&document, &row, one, since));
        Some(encoded(false, lines))
    });
    once(head).chain(rows)
}

fn line(document: &Document, row: &Row, one: &Translation, since: Timestamp) -> Line {
    let words =
        |labels: &mut dyn Iterator<Item = &'static str>| labels.collect::<Vec<_>>().join(" ");
    Line {
        repository: text(row.name()),
        id: row.repository.id.to_string(),
        language: text(one.code()),
        name: text(&one.language.name),
        completion: one.completion,
        ratio: one.ratio,
        target: one.target().ratio,
        due: date(one.target().due),
        ready: one.readiness.is_met(),
        last_progress: date(one.known_progress(document.taken_at)),
        url: document.language_url(row, one.code()),
        problems: words(&mut one.problems.keys().map(|kind| kind.label())),
        estimated_ready: date(one.estimated_ready),
        read_at: date(row.read_at),
        not_judged: one.not_judged.map(NotJudged::label),
        change: document.change(one, since),
        became: words(&mut document.changes(one, since).map(Change::label)),
        fell_from: one.fall.as_ref().map(|fall| fall.ratio),
        fell_at: date(one.fall.as_ref().map(|fall| fall.at)),
    }
}

fn encoded(has_headers: bool, lines: impl IntoIterator<Item = Line>) -> String {
    let mut writer = WriterBuilder::new()
        .has_headers(has_headers)
        .terminator(Terminator::CRLF)
        .from_writer(Vec::new());
    for line in lines {
        // A vector takes everything.
        let _ = writer.serialize(line);
    }
    String::from_utf8(writer.into_inner().unwrap_or_default()).unwrap_or_default()
}

/// Formats a time in UTC such that spreadsheets take it for one.
fn date(at: Option<Timestamp>) -> Option<String> {
    Some(at?.strftime("%F %T"))
}

/// Makes text from the API safe for a cell: an apostrophe turns a formula into text.
fn text(text: &str) -> String {
    let text = cell(text);
    let formula = [
        '=', '+', '-', '@', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}',
    ];
    let is_formula = text.trim_start().starts_with(formula);
    format!("{}{text}", if is_formula { "'" } else { "" })
}
