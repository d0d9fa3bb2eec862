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
/// earlier data, the last columns are the change of the ratio and the state that the language
/// entered, and languages that are no longer listed follow.
///
/// # Errors
/// Fails if `out` cannot be written.
pub fn csv(report: &Report<'_>, out: impl io::Write) -> io::Result<()> {
    let (view, since) = (&report.view, report.since.as_deref());
    let mut writer = WriterBuilder::new()
        .terminator(Terminator::CRLF)
        .from_writer(out);
    let changes = since.map_or(&[][..], |_| &["change", "became"]);
    writer.write_record(COLUMNS.iter().chain(changes))?;
    for (row, translation) in view.translations() {
        let mut record = record(view.document, row, translation);
        if let Some(since) = since {
            record.push(or_empty(since.change(row, translation)));
            record.push(or_empty(since.became(row, translation)));
        }
        writer.write_record(record)?;
    }
    for (id, name, code) in since.iter().flat_map(|since| since.unlisted(view)) {
        let mut record = vec![text(name), id.to_owned(), text(code)];
        record.resize(COLUMNS.len() + 1, String::new());
        record.push("unlisted".to_owned());
        writer.write_record(record)?;
    }
    writer.flush()
}

fn record(document: &Document, row: &Row, translation: &Translation) -> Vec<String> {
    let mut problems = translation.kinds();
    problems.extend(translation.not_judged.map(|_| "not_judged"));
    vec![
        text(row.name()),
        row.repository.id.to_string(),
        text(translation.code()),
        text(&translation.language.name),
        or_empty(translation.completion.map(Completion::get)),
        or_empty(translation.ratio),
        translation.target().ratio.to_string(),
        or_empty(translation.target().due),
        or_empty(translation.meets_target()),
        or_empty(translation.known_progress()),
        or_empty(document.language_url(row, translation.code())),
        problems.join(" "),
        or_empty(translation.estimated_ready),
    ]
}

fn or_empty(value: Option<impl ToString>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

/// Makes text from the API safe for a cell: an apostrophe turns a formula into text.
fn text(text: &str) -> String {
    let text = cell(text);
    let is_formula = text.trim_start().starts_with(['=', '+', '-', '@']);
    format!("{}{text}", if is_formula { "'" } else { "" })
}
