//! The CSV of RFC 4180: one line per repository and language.

use super::{Report, cell};
use crate::domain::{
    Completion,
    document::{Document, Row, Translation},
};
use csv::{Terminator, WriterBuilder};
use std::io;

const COLUMNS: [&str; 13] = [
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
];

/// Writes a header and a line for each language of each repository. An unknown value is empty. With
/// earlier data, the last column is the change of the ratio.
///
/// # Errors
/// Fails if `out` cannot be written.
pub fn csv(report: &Report, out: impl io::Write) -> io::Result<()> {
    let (document, since) = (&*report.document, report.since.as_ref());
    let mut writer = WriterBuilder::new()
        .terminator(Terminator::CRLF)
        .from_writer(out);
    writer.write_record(COLUMNS.into_iter().chain(since.map(|_| "change")))?;
    for (row, translation) in document.translations() {
        let change = since.map(|since| or_empty(since.change(document, row, translation)));
        let record = record(document, row, translation);
        writer.write_record(record.into_iter().chain(change))?;
    }
    writer.flush()
}

fn record(document: &Document, row: &Row, translation: &Translation) -> [String; 13] {
    let mut problems = translation.kinds();
    problems.extend(translation.problems.not_judged.map(|_| "not_judged"));
    [
        text(row.name()),
        row.repository.id.to_string(),
        text(translation.code()),
        text(&translation.language.name),
        or_empty(translation.completion.map(Completion::get)),
        or_empty(translation.ratio),
        translation.target().ratio.to_string(),
        or_empty(translation.target().due),
        or_empty(translation.ready()),
        or_empty(translation.known_progress()),
        or_empty(document.language_url(row, translation.code())),
        problems.join(" "),
        or_empty(translation.estimated_ready),
    ]
}

fn or_empty(value: Option<impl ToString>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

/// The characters that begin a formula in a spreadsheet, four of them in their full-width form.
const FORMULA: [char; 8] = [
    '=', '+', '-', '@', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}',
];

/// Makes text from the API safe for a cell: an apostrophe turns a formula into text. In some
/// countries, spreadsheets separate columns at semicolons, and take the quotes after one away.
fn text(text: &str) -> String {
    let text = cell(text);
    let parts = text.split(';').map(|part| {
        let begin = part.trim_start_matches(|c: char| c.is_whitespace() || c == '"');
        let is_formula = begin.starts_with(FORMULA);
        format!("{}{part}", if is_formula { "'" } else { "" })
    });
    parts.collect::<Vec<_>>().join(";")
}
