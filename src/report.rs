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
pub use verdict::{NotReady, departures, verdict};

use crate::{
    diagnosis::Finding,
    domain::{
        Failure,
        document::{Row, Totals, Translation, View, worst_first},
        polling::PollOutcome,
    },
    support::{
        clock::Timestamp,
        escape::is_unprintable,
        humanize::{grouped, repositories},
    },
};
use rustix::termios::tcgetwinsize;
use std::{
    env,
    io::{IsTerminal as _, stdout},
    sync::Arc,
};
use words::{day, days, more, percent, ready_count};

/// The maximum number of repositories named for a cause of failed reads.
const MOST_NAMED: usize = 10;

/// What was chosen of a document, with the choices of the command line.
#[derive(Debug)]
pub struct Report<'a> {
    pub view: View<'a>,
    /// The findings of the poll, sorted by kind.
    pub findings: &'a [Finding],
    /// The host of the API.
    pub api: &'a str,
    /// The earlier data to compare with.
    pub since: Option<Arc<Since>>,
    /// The maximum size of the Markdown in bytes.
    pub max_size: usize,
}

/// The sentences that table and Markdown share.
impl Report<'_> {
    /// Returns the change of a translation in points; nothing without earlier data.
    fn points(&self, row: &Row, translation: &Translation) -> String {
        let since = self.since.as_ref();
        since::points(since.and_then(|since| since.change(row, translation)))
    }

    /// Returns a heading and the changes since the earlier data, if there are such data.
    fn changes(&self) -> Option<(String, Vec<String>)> {
        let since = self.since.as_ref()?;
        let mut changes = since.changes(&self.view);
        if changes.is_empty() {
            changes.push("none seen".to_owned());
        }
        Some((format!("Changes since {}:", day(since.taken_at)), changes))
    }

    /// Returns the repositories with data, the furthest behind first.
    fn rows(&self) -> Vec<&Row> {
        let rows = self.view.rows.iter().filter(|row| row.is_read());
        worst_first(rows)
    }

    /// Counts the translations that are ready, those with problems, and those that are not judged.
    fn counts(&self) -> Vec<String> {
        let totals = &self.view.totals;
        let mean = totals.mean.get();
        let mean = mean.map(|mean| format!("{}% on average", percent(mean)));
        let problems = totals.problems.iter();
        let problems =
            problems.map(|(kind, count)| format!("{} {}", grouped(*count), kind.words()));
        let counts: Vec<_> = [ready(totals)]
            .into_iter()
            .chain(mean)
            .chain(problems)
            .collect();
        let counts = [counts.join(", ")].into_iter();
        counts.chain(not_judged(totals)).collect()
    }

    /// Returns the state of the translations with one date.
    fn date(&self, at: Timestamp, totals: &Totals) -> String {
        let days = days(at, self.view.document.taken_at, totals);
        format!("{}, {days}: {}", day(at), ready(totals))
    }

    /// Names each cause of failed reads once, with the affected repositories. An outage has one
    /// cause for all repositories.
    fn failures(&self) -> Vec<String> {
        let view = &self.view;
        let last = view.document.status.last.as_ref();
        let cut_short = last.and_then(PollOutcome::cut_short);
        let line = |Failure { what, hint, .. }: &Failure| format!("{what}; {hint}");
        let mut failures: Vec<_> = cut_short.map(line).into_iter().collect();
        let ended_early = last.is_some_and(PollOutcome::is_outage);
        for cause in view.causes(|_| !ended_early) {
            let named = cause.repositories.iter().take(MOST_NAMED);
            let named: Vec<_> = named.map(ToString::to_string).collect();
            let others = more(cause.repositories.len() - named.len());
            let named: Vec<_> = named.into_iter().chain(others).collect();
            failures.push(format!("{}: {}", named.join(", "), line(cause.failure)));
        }
        let not_read = view.count(|row| !row.is_read() && (ended_early || row.failure.is_none()));
        if not_read > 0 {
            failures.push(format!("{} not read", repositories(not_read)));
        }
        failures
    }
}

/// Counts the translations with unknown problems, by each reason.
fn not_judged(totals: &Totals) -> impl Iterator<Item = String> {
    let counts = totals.not_judged.iter();
    counts.map(|(why, count)| format!("{} not judged: {}", grouped(*count), why.words()))
}

/// Counts the ready translations, and the resting ones apart, such as `2 of 2 ready, 10 resting`.
/// After an outage, none may be known.
fn ready(totals: &Totals) -> String {
    let (ready, all, resting) = (
        ready_count(totals),
        grouped(totals.counted),
        grouped(totals.resting),
    );
    match totals {
        Totals {
            counted: 0,
            resting: 0,
            ..
        } => "no translation known".to_owned(),
        Totals { resting: 0, .. } => format!("{ready} of {all} ready"),
        Totals { counted: 0, .. } => format!("{resting} resting"),
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
    pub width: u16,
    pub color: bool,
}

impl Terminal {
    /// The layout in a file or a pipe.
    pub const NONE: Self = Self {
        width: 80,
        color: false,
    };

    /// Describes stdout. Colour needs a terminal and no `NO_COLOR`.
    pub fn of_stdout() -> Self {
        let size = tcgetwinsize(stdout()).ok();
        let width = size.map(|size| size.ws_col).filter(|width| *width > 0);
        // An empty NO_COLOR counts as not set: see <https://no-color.org>.
        let must_not = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Self {
            width: width.unwrap_or(Self::NONE.width),
            color: stdout().is_terminal() && !must_not,
        }
    }
}

#[cfg(test)]
mod tests;
