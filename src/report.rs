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
    domain::document::{Row, Translation, View},
    support::{clock::Timestamp, escape::is_unprintable, humanize::more},
};
use answer::{answer, dates, scope};
use since::{changed, gain};
use words::{due, marks, moment, of_target, percent, way};

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
        let below = self.actions(Translation::is_unready, marked).into_iter();
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
        let dates = dates(view).into_iter().map(|date| date + ".");
        let first = [sentence + "."].into_iter().chain(dates);
        first.chain([figures]).chain(changed).collect()
    }

    /// Returns the repositories with data, the most urgent first.
    fn rows(&self) -> Vec<&Row> {
        let rows = self.view.listed().filter(|row| row.is_read());
        let mut rows: Vec<_> = rows.map(|row| (row, row.totals())).collect();
        rows.sort_by(|(_, one), (_, other)| one.urgency(other));
        rows.into_iter().map(|(row, _)| row).collect()
    }

    /// Returns the date of a repository that is not ready.
    fn due(&self, row: &Row) -> Option<String> {
        let (at, now) = (row.totals().due?, self.view.document.taken_at);
        Some(format!("due {}", due(at, now)))
    }

    /// Describes the translations of a repository that are not ready: `name`, figures, `problems`.
    fn unready(
        &self,
        row: &Row,
        name: impl Fn(&Translation) -> String,
        problems: impl Fn(&Translation) -> String,
    ) -> Vec<String> {
        let line = |one: &Translation| {
            let ratio = percent(one.ratio);
            let gain = gain(self.view.document, one, self.since);
            format!("{} {ratio}{}{gain}", name(one), problems(one))
        };
        row.unready().into_iter().map(line).collect()
    }

    /// Describes the first translations to act on among those that pass `accepts`. `whose` names
    /// them.
    fn actions(
        &self,
        accepts: impl Fn(&Translation) -> bool,
        whose: impl Fn(&Row, &Translation) -> String,
    ) -> Vec<String> {
        let now = self.view.document.taken_at;
        let actions = self.view.actions(accepts).into_iter();
        let mut actions: Vec<_> = actions.filter(|(row, _)| row.is_read()).collect();
        let others = actions.len().saturating_sub(MOST_ACTIONS);
        actions.truncate(MOST_ACTIONS);
        let lines = actions.into_iter().map(|(row, one)| {
            let due = one.target().due;
            let due = due.map_or_else(String::new, |at| format!(", due {}", words::due(at, now)));
            format!(
                "{}: {}{due}, {}",
                whose(row, one),
                of_target(one),
                way(one, now)
            )
        });
        lines.chain(more(others)).collect()
    }
}

/// Names a translation.
fn whose(row: &Row, one: &Translation) -> String {
    format!("{} of {}", one.code(), row.name())
}

/// Names a translation after the marks of its problems.
fn marked(row: &Row, one: &Translation) -> String {
    let name = format!("{} {}", marks(one), whose(row, one));
    name.trim_start().to_owned()
}

/// Makes `text` safe for one line of a terminal or a document: replaces every character that a
/// terminal would interpret or hide.
fn cell(text: &str) -> String {
    text.replace(is_unprintable, "\u{fffd}")
}

#[cfg(test)]
mod tests;
