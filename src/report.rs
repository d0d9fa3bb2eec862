//! The outputs for people and programs: a table, Markdown, CSV, JSON, and the page as HTML.
//!
//! Each output is a rendering of the published document. Text from the API reaches a
//! terminal or a document only through the escape function of that format.

mod badge;
mod csv;
pub mod html;
mod json;
mod languages;
mod markdown;
mod since;
pub(crate) mod table;
mod verdict;
mod words;

pub use badge::badge;
pub use csv::csv;
pub use json::json;
pub use languages::languages;
pub use markdown::markdown;
pub use since::Since;
pub use table::table;
pub use verdict::{Gate, NotReady};

use crate::{
    diagnosis::{self, Finding},
    domain::document::{self, Document, Row, Totals, Translation},
    support::{
        escape::is_unprintable,
        humanize::{counted, grouped},
    },
};
use rustix::termios::tcgetwinsize;
use std::{
    io::{IsTerminal as _, stdout},
    sync::Arc,
};
use words::{day, percent, ready_count};

/// The document of a poll, with the choices of the command line.
#[derive(Debug, Clone)]
pub struct Report {
    /// The chosen repositories and languages.
    pub document: Arc<Document>,
    /// The findings of the poll, worst first.
    pub findings: Vec<Finding>,
    /// The host of the API.
    pub api: Arc<str>,
    /// A clause that names the globs of the command line without a match.
    pub unmatched: Option<String>,
    /// The earlier data to compare with.
    pub since: Option<Arc<Since>>,
    /// The maximum size of the Markdown in bytes.
    pub max_size: usize,
}

impl Report {
    /// Returns the change of a translation in points; nothing without earlier data.
    fn points(&self, row: &Row, translation: &Translation) -> String {
        let since = self.since.as_ref();
        since::points(since.and_then(|since| since.change(row, translation)))
    }

    /// Returns a heading and the changes since the earlier data, if there are such data.
    fn changes(&self) -> Option<(String, Vec<String>)> {
        let since = self.since.as_ref()?;
        let changes = since.changes(&self.document);
        let none = if changes.is_empty() { " none seen" } else { "" };
        let heading = format!("Changes since {}:{none}", day(since.taken_at));
        Some((heading, changes))
    }
}

/// The part of the data that table and Markdown say in words.
struct Digest<'a> {
    /// The repositories with data, the furthest behind first.
    rows: Vec<&'a Row>,
    totals: &'a Totals,
    /// The reason why no ratio can be trusted.
    doubt: Option<String>,
}

impl<'a> Digest<'a> {
    fn of(report: &'a Report) -> Self {
        let document = &*report.document;
        let rows = document.rows.iter().filter(|row| row.is_read());
        let rows = document::worst_first(rows);
        let scale = || diagnosis::scale(document.completion_scale, true, document.completions());
        let doubt = document.is_scale_suspect.then(scale).flatten();
        Self {
            rows,
            totals: &document.totals,
            doubt: doubt.map(|finding| finding.line()),
        }
    }

    /// Counts the translations, those that are ready and those with problems.
    fn counts(&self) -> (String, String) {
        let totals = self.totals;
        let mean = totals
            .mean
            .get()
            .map(|mean| format!(", {} % on average", percent(mean)));
        let problems = totals.problems();
        let problems =
            problems.map(|(kind, count)| format!(", {} {}", grouped(count), kind.words()));
        let rest = mean.into_iter().chain(problems).collect();
        (ready(totals, "translation"), rest)
    }

    /// Explains the mark of a translation without a completion, if there is one.
    fn legend(&self) -> Option<&'static str> {
        let is_unreported = |one: &Translation| one.completion.is_none() && one.is_behind();
        let mut translations = document::translations(self.rows.iter().copied());
        translations
            .any(|(_, one)| is_unreported(one))
            .then_some("? no completion reported")
    }
}

/// Counts the translations with unknown problems, by each reason.
fn not_judged(totals: &Totals) -> impl Iterator<Item = String> {
    let counts = totals.not_judged();
    counts.map(|(why, count)| format!("{} not judged: {}", grouped(count), why.words()))
}

/// Counts the ready translations, and the resting ones apart, such as `2 of 2 ready, 10 resting`.
fn ready(totals: &Totals, noun: &str) -> String {
    let (ready, resting) = (ready_count(totals), grouped(totals.resting));
    let all = match noun {
        "" => grouped(totals.all),
        noun => counted(totals.all, noun, &format!("{noun}s")),
    };
    match totals {
        Totals { resting: 0, .. } => format!("{ready} of {all} ready"),
        Totals { all: 0, .. } => format!("{resting} resting"),
        _ => format!("{ready} of {all} ready, {resting} resting"),
    }
}

/// Makes `text` safe for one line of a terminal or a document: replaces every character that a
/// terminal would interpret or hide.
fn cell(text: &str) -> String {
    text.replace(is_unprintable, "\u{fffd}")
}

/// The terminal for which the table is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terminal {
    /// The number of columns.
    pub width: usize,
    pub color: bool,
}

impl Terminal {
    /// Describes stdout. The width comes from the terminal, else from `COLUMNS`, else it is 80.
    /// Colour needs a terminal other than `dumb`, and no `NO_COLOR`.
    pub fn of_stdout() -> Self {
        let width = match tcgetwinsize(stdout()) {
            Ok(size) if size.ws_col > 0 => size.ws_col.into(),
            _ => std::env::var("COLUMNS")
                .ok()
                .and_then(|columns| columns.parse().ok())
                .unwrap_or(80),
        };
        let can_color =
            stdout().is_terminal() && std::env::var("TERM").is_ok_and(|term| term != "dumb");
        // An empty NO_COLOR counts as not set: see <https://no-color.org>.
        let must_not = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Self {
            width,
            color: can_color && !must_not,
        }
    }
}

#[cfg(test)]
mod tests;
