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
mod words;

pub use badge::badge;
pub use csv::csv;
pub use json::json;
pub use languages::languages;
pub use markdown::markdown;
pub use since::{a_week_ago, parse_since};
pub use table::table;

use crate::{
    diagnosis::Finding,
    domain::{
        TranslationProblem,
        document::{Row, Translation, View},
    },
    support::{
        clock::{DAY, Timestamp},
        escape::is_unprintable,
        humanize::{more, rough},
    },
};
use answer::{answer, scope};
use order::Order;
use since::{changed, gain};
use words::{due, expected, marks, moment, of_target, percent};

/// The maximum number of translations to act on that are named.
const MOST_ACTIONS: usize = 20;

/// The chosen part of a document, with the choices of the command line.
#[derive(Debug)]
pub struct Report<'a> {
    pub view: View<'a>,
    /// The findings of the poll, sorted by kind.
    pub findings: &'a [Finding],
    /// The host of the API.
    pub api: &'a str,
    /// The beginning of the day to compare with.
    pub since: Timestamp,
    /// The maximum size of the Markdown in bytes.
    pub max_size: usize,
}

/// The sentences that the outputs share.
impl Report<'_> {
    /// Says whether everything is ready, below the translations that are not.
    pub fn gate(&self) -> String {
        let sentence = answer(&self.view);
        let below = self.actions(&[], whose).into_iter();
        let below = below.map(|line| format!("    {line}\n"));
        format!("{}{sentence}", below.collect::<String>())
    }

    /// Returns the answer to "may we ship?", the figures with their time, and the changes.
    fn answer(&self) -> Vec<String> {
        let view = &self.view;
        let sentence = answer(view);
        let taken_at = moment(view.document.taken_at);
        let mean = percent(view.totals.mean());
        let scope = scope(view);
        let figures = format!("As of {taken_at}. {mean} translated on average. {scope}");
        let changed = changed(view, self.since);
        [sentence + ".", figures]
            .into_iter()
            .chain(changed)
            .collect()
    }

    /// Returns the repositories with data, the furthest behind first.
    fn rows(&self) -> Vec<&Row> {
        let rows = self.view.listed().filter(|row| row.is_read());
        let mut rows: Vec<_> = rows.map(|row| (row, row.totals())).collect();
        Order::Gap.sort(&mut rows, |(_, totals)| totals);
        rows.into_iter().map(|(row, _)| row).collect()
    }

    /// Returns the date of a repository that is not ready.
    fn due(&self, row: &Row) -> Option<String> {
        let (at, now) = (row.totals().due?, self.view.document.taken_at);
        Some(format!("due {}", due(at, now)))
    }

    /// Describes the translations of a repository that are not ready. `whose` names them.
    fn unready(&self, row: &Row, whose: impl Fn(&Translation) -> String) -> Vec<String> {
        let document = self.view.document;
        let line = |one: &Translation| {
            let (ratio, marks) = (percent(one.ratio), marks(one));
            let gain = gain(document, one, self.since);
            format!("{} {ratio}{marks}{gain}", whose(one))
        };
        row.unready().into_iter().map(line).collect()
    }

    /// Describes what to act on first: the translations with problems of these kinds, or all that
    /// are not ready. `whose` names them.
    fn actions(
        &self,
        kinds: &[TranslationProblem],
        whose: impl Fn(&Row, &Translation) -> String,
    ) -> Vec<String> {
        let now = self.view.document.taken_at;
        let actions = self.view.actions(kinds).into_iter();
        let mut actions: Vec<_> = actions.filter(|(row, _)| row.is_read()).collect();
        let others = actions.len().saturating_sub(MOST_ACTIONS);
        actions.truncate(MOST_ACTIONS);
        let lines = actions.into_iter().map(|(row, one)| {
            let due = one.target().due;
            let due = due.map(|at| format!(", due {}", words::due(at, now)));
            let fell = words::fell(one, now).map(|fell| format!(", {fell}"));
            let idle = one.idle_since().map(|at| now.since(at));
            let idle = idle.filter(|idle| *idle >= DAY);
            let idle = idle.map(|idle| format!(", no progress for {}", rough(idle)));
            let [due, fell, idle] = [due, fell, idle].map(Option::unwrap_or_default);
            let (marks, whose, figure) = (marks(one), whose(row, one), of_target(one));
            let line = format!(
                "{marks} {whose}: {figure}{due}{fell}{idle}, expected: {}",
                expected(one, now)
            );
            line.trim_start().to_owned()
        });
        lines.chain(more(others)).collect()
    }
}

/// Names a translation.
fn whose(row: &Row, one: &Translation) -> String {
    format!("{} of {}", one.code(), row.name())
}

/// Makes `text` safe for one line of a terminal or a document: replaces every character that a
/// terminal would interpret or hide.
fn cell(text: &str) -> String {
    text.replace(is_unprintable, "\u{fffd}")
}

#[cfg(test)]
mod tests;
