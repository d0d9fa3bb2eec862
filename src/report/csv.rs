//! The CSV of RFC 4180: one line per repository and language.

use super::{
    cell,
    json::{by_row, language, time},
};
use crate::{
    domain::document::{Document, Row, Selection, Translation},
    support::clock::Timestamp,
};
use csv::{Terminator, WriterBuilder};
use serde_json::Value;
use std::{iter::once, sync::Arc};

const COLUMNS: [&str; 19] = [
    "repository",
    "id",
    "language",
    "name",
    "completion",
    "ratio",
    "target",
    "due",
    "ready",
    "last_progress",
    "url",
    "problems",
    "estimated_ready",
    "read_at",
    "not_judged",
    "change",
    "became",
    "fell_from",
    "fell_at",
];

/// Encodes a header and a line for each chosen language of each chosen repository, piece by piece.
/// By the byte order mark spreadsheets know UTF-8.
pub fn csv(
    document: Arc<Document>,
    selection: Selection,
    since: Timestamp,
) -> impl Iterator<Item = String> + Send + use<> {
    let head = "\u{feff}".to_owned() + &encoded([COLUMNS.map(str::to_owned)]);
    let rows = by_row(document, selection, move |document, row| {
        let known = row.translations().iter();
        encoded(known.map(|known| line(document, row, known, since)))
    });
    once(head).chain(rows)
}

/// Returns the members of the JSON of a language, and those of its repository, by column.
fn line(
    document: &Document,
    row: &Row,
    translation: &Translation,
    since: Timestamp,
) -> [String; 19] {
    let mut members = language(document, row, translation, since);
    let mut target = members["target"].take();
    members["due"] = target["due"].take();
    members["target"] = target["ratio"].take();
    members["language"] = members["code"].take();
    members["repository"] = row.name().into();
    members["id"] = row.repository.id.to_string().into();
    members["read_at"] = time(row.read_at).into();
    COLUMNS.map(|column| text(&members[column]))
}

fn encoded(lines: impl IntoIterator<Item = [String; 19]>) -> String {
    let mut writer = WriterBuilder::new()
        .terminator(Terminator::CRLF)
        .from_writer(Vec::new());
    for line in lines {
        // A vector takes everything.
        let _ = writer.write_record(line);
    }
    String::from_utf8(writer.into_inner().unwrap_or_default()).unwrap_or_default()
}

/// Formats a value for a cell: an unknown one is empty, and spreadsheets take a time in UTC for one.
fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Array(values) => values.iter().map(text).collect::<Vec<_>>().join(" "),
        Value::String(text) => match Timestamp::parse(text) {
            Some(at) => at.strftime("%F %T"),
            None => inert(text),
        },
        value => value.to_string(),
    }
}

/// Makes text from the API safe for a cell: an apostrophe turns a formula into text.
fn inert(text: &str) -> String {
    let text = cell(text);
    let formula = [
        '=', '+', '-', '@', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}',
    ];
    let is_formula = text.trim_start().starts_with(formula);
    format!("{}{text}", if is_formula { "'" } else { "" })
}
