//! The CSV of RFC 4180: one line per repository and language.

use super::cell;
use crate::domain::{
    Completion,
    readiness::{self, Row, Translation},
    snapshot::Snapshot,
};
use csv::{Terminator, WriterBuilder};
use std::io;

const COLUMNS: [&str; 11] = [
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
];

/// Writes a header and a line for each language of each repository. An unknown value is empty.
///
/// # Errors
/// Fails if `out` cannot be written.
pub fn csv(snapshot: &Snapshot, out: impl io::Write) -> io::Result<()> {
    let mut writer = WriterBuilder::new()
        .terminator(Terminator::CRLF)
        .from_writer(out);
    writer.write_record(COLUMNS)?;
    for row in readiness::rows(snapshot, None, snapshot.taken_at) {
        for translation in row.translations() {
            writer.write_record(record(snapshot, &row, &translation))?;
        }
    }
    writer.flush()
}

fn record(snapshot: &Snapshot, row: &Row<'_>, translation: &Translation<'_>) -> [String; 11] {
    let repository = &row.shown.repository;
    let Translation {
        reading,
        ratio,
        target,
        ..
    } = translation;
    [
        text(&repository.name),
        repository.id.to_string(),
        text(translation.code()),
        text(&reading.language.name),
        or_empty(reading.completion().map(Completion::get)),
        or_empty(*ratio),
        target.ratio.to_string(),
        or_empty(target.due),
        or_empty(translation.is_met()),
        or_empty(reading.progress().map(|progress| progress.at)),
        or_empty(snapshot.links.language_url(repository, translation.code())),
    ]
}

fn or_empty(value: Option<impl ToString>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

/// The characters that begin a formula in a spreadsheet, some of them also in full width.
const FORMULA: [char; 8] = [
    '=', '+', '-', '@', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}',
];

/// Makes text from the API safe for a cell: an apostrophe turns a formula into text.
fn text(text: &str) -> String {
    let text = cell(text);
    if text.trim_start().starts_with(FORMULA) {
        return format!("'{text}");
    }
    text
}
