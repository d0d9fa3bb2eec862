//! The outputs for people and programs: a table, Markdown, CSV, JSON, and the page as HTML.
//!
//! Each output is a function of a snapshot and the status of polling. Text from the API reaches a
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

pub use badge::badge;
pub use csv::csv;
pub use json::json;
pub use languages::languages;
pub use markdown::markdown;
pub use since::Since;
pub use table::table;
pub use verdict::{NotReady, verdict};

use crate::{
    domain::{
        polling::PollOutcome,
        readiness::{self, Row, Totals, percent},
        snapshot::Snapshot,
    },
    support::{
        escape::is_unprintable,
        humanize::{counted, grouped},
    },
};
use rustix::termios::tcgetwinsize;
use std::io::{IsTerminal as _, stdout};

/// The result of a poll, for table and Markdown.
#[derive(Debug, Clone, Copy)]
pub struct Report<'a> {
    pub snapshot: &'a Snapshot,
    pub poll: &'a PollOutcome,
    /// A clause that names the globs of the command line without a match.
    pub unmatched: Option<&'a str>,
    /// The earlier data to compare with.
    pub since: Option<&'a Since>,
    /// The maximum size of the Markdown in bytes.
    pub max_size: usize,
}

/// The part of the data that table and Markdown say in words.
struct Digest<'a> {
    /// The repositories with data, the furthest behind first.
    rows: Vec<Row<'a>>,
    /// The number of repositories without data.
    unread: usize,
    totals: Totals,
}

impl<'a> Digest<'a> {
    fn of(snapshot: &'a Snapshot) -> Self {
        let mut rows = readiness::rows(snapshot, None);
        let known = rows.len();
        rows.retain(Row::is_read);
        readiness::furthest_first(&mut rows, |row| row.totals.missing.get());
        // The gaps leave out unknown translations, which keep a repository from being ready.
        rows.sort_by_key(|row| row.totals.behind() == 0);
        Self {
            unread: known - rows.len(),
            totals: Totals::of(&rows),
            rows,
        }
    }

    /// Counts the translations, those that are ready and those with problems.
    fn counts(&self) -> (String, String) {
        let totals = &self.totals;
        let all = counted(totals.all, "translation", "translations");
        let ready = format!("{} of {all} ready", grouped(totals.ready));
        let mean = totals
            .mean
            .get()
            .map(|mean| format!(", {} % on average", percent(mean)));
        let problems = totals.problems();
        let problems =
            problems.map(|(kind, count)| format!(", {} {}", grouped(count), kind.words()));
        (ready, mean.into_iter().chain(problems).collect())
    }

    /// Explains the mark of a translation without a completion, if there is one.
    fn legend(&self) -> Option<&'static str> {
        (self.totals.unknown() > 0).then_some("? no completion reported")
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
