//! The outputs for people and programs: a table, Markdown, CSV, JSON, and the page as HTML.
//!
//! Each output is a rendering of the published document. Text from the API reaches a
//! terminal or a document only through the escape function of that format.

pub(crate) mod answer;
mod badge;
mod csv;
pub mod html;
mod json;
mod languages;
mod markdown;
mod order;
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
        Failure, TranslationProblem,
        document::{Row, Totals, Translation, View},
        polling::PollOutcome,
    },
    support::{
        clock::{DAY, Timestamp},
        escape::is_unprintable,
        humanize::{grouped, repositories},
    },
};
use answer::{answer, changed, scope};
use order::Order;
use rustix::termios::tcgetwinsize;
use std::{
    env,
    io::{IsTerminal as _, stdout},
    sync::Arc,
};
use words::{days, expected, marks, moment, more, of_target, percent, ready_count, span};

/// The maximum number of repositories named for a cause of failed reads.
const MOST_NAMED: usize = 10;

/// The maximum number of translations to act on that table and Markdown name.
const MOST_ACTIONS: usize = 20;

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
        Some((format!("Changes since {}", moment(since.taken_at)), changes))
    }

    /// Returns the repositories with data, the furthest behind first.
    fn rows(&self) -> Vec<&Row> {
        let rows = self.view.rows.iter().filter(|row| row.is_read());
        let mut rows: Vec<_> = rows.collect();
        Order::Gap.sort(&mut rows, |row| &row.totals);
        rows
    }

    /// Returns the answer to "may we ship?", the figures with their time, and the changes since
    /// last week.
    fn answer(&self) -> Vec<String> {
        let view = &self.view;
        let (sentence, _) = answer(view, self.findings);
        let mean = view.totals.mean.get();
        let mean = mean.map_or_else(String::new, |mean| {
            format!("{} translated on average. ", percent(Some(mean)))
        });
        let figures = format!(
            "As of {}. {mean}{}",
            moment(view.document.taken_at),
            scope(view)
        );
        [sentence + ".", figures]
            .into_iter()
            .chain(changed(view))
            .collect()
    }

    /// Returns the date of a repository that is not ready.
    fn due(&self, row: &Row) -> Option<String> {
        Some(due(row.totals.due?, self.view.document.taken_at))
    }

    /// Describes what to act on first. `whose` names the translation.
    fn actions(&self, whose: impl Fn(&Row, &Translation) -> String) -> Vec<String> {
        let now = self.view.document.taken_at;
        let actions = self.view.actions(TranslationProblem::ALL).into_iter();
        let actions: Vec<_> = actions.filter(|(row, _)| row.is_read()).collect();
        let (first, others) = actions.split_at(actions.len().min(MOST_ACTIONS));
        let lines = first.iter().map(|(row, one)| {
            let mut line = vec![format!(
                "{} {}: {}",
                marks(one),
                whose(row, one),
                of_target(one)
            )];
            line.extend(one.target().due.map(|at| due(at, now)));
            if let Some(at) = one.known_progress().filter(|at| now.since(*at) >= DAY) {
                line.push(format!("no progress for {}", span(now.since(at))));
            }
            line.push(match expected(one, now) {
                at if one.estimated_ready.is_some() => format!("expected on {at}"),
                why => why,
            });
            line.join(", ")
        });
        lines.chain(more(others.len())).collect()
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

fn due(at: Timestamp, now: Timestamp) -> String {
    format!("due {}, {}", words::due(at, now), days(at, now))
}

/// Counts the ready translations, and the resting ones apart, such as `2 of 2 ready, 10 paused`.
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
        Totals { counted: 0, .. } => format!("{resting} paused"),
        _ => format!("{ready} of {all} ready, {resting} paused"),
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
