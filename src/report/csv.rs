//! The CSV of RFC 4180: one line per repository and language, made from the JSON of each.

use super::{cell, json};
use crate::{
    domain::document::{Document, Selection},
    support::clock::Timestamp,
};
use csv::{Terminator, WriterBuilder};
use serde_json::Value;
use std::{iter::once, sync::Arc};

/// The columns, each with its place in the JSON of a repository or a language.
const COLUMNS: [(&str, &str); 19] = [
    ("repository", "/name"),
    ("id", "/id"),
    ("language", "/code"),
    ("name", "/name"),
    ("completion", "/completion"),
    ("ratio", "/ratio"),
    ("target", "/target/ratio"),
    ("due", "/target/due"),
    ("ready", "/ready"),
    ("last_progress", "/last_progress"),
    ("url", "/url"),
    ("problems", "/problems"),
    ("estimated_ready", "/estimated_ready"),
    ("read_at", "/read_at"),
    ("not_judged", "/not_judged"),
    ("change", "/change"),
    ("became", "/became"),
    ("fell_from", "/fell_from"),
    ("fell_at", "/fell_at"),
];

/// Encodes a header and a line for each chosen language of each chosen repository, piece by piece.
/// An unknown value is empty. By the byte order mark spreadsheets know UTF-8. `change` and
/// `became` compare with a day: the change of the ratio, and the kinds of changes.
pub fn csv(
    document: Arc<Document>,
    selection: Selection,
    since: Timestamp,
) -> impl Iterator<Item = String> + Send + use<> {
    let names = COLUMNS.map(|(name, _)| name.to_owned());
    let head = "\u{feff}".to_owned() + &lines([names]);
    let rows = (0..document.rows.len()).filter_map(move |index| {
        let row = selection.of_row(&document.rows[index])?;
        let repository = json::repository(&document, &row, since);
        let languages = repository["languages"].as_array().into_iter().flatten();
        Some(lines(languages.map(|language| {
            COLUMNS.map(|(name, place)| {
                let is_of_all = matches!(name, "repository" | "id" | "read_at");
                let whose = if is_of_all { &repository } else { language };
                value(whose.pointer(place).unwrap_or(&Value::Null))
            })
        })))
    });
    once(head).chain(rows)
}

fn lines(lines: impl IntoIterator<Item = [String; COLUMNS.len()]>) -> String {
    let mut writer = WriterBuilder::new()
        .terminator(Terminator::CRLF)
        .from_writer(Vec::new());
    for line in lines {
        // A vector takes everything.
        let _ = writer.write_record(line);
    }
    String::from_utf8(writer.into_inner().unwrap_or_default()).unwrap_or_default()
}

fn value(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(value) => text(value),
        Value::Number(number) => number.as_f64().unwrap_or_default().to_string(),
        Value::Array(values) => values.iter().map(self::value).collect::<Vec<_>>().join(" "),
        value => value.to_string(),
    }
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
