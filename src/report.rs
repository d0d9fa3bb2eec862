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
mod query;
mod since;
pub(crate) mod table;
mod words;

pub use badge::badge;
pub use csv::csv;
pub use json::json;
pub use languages::languages;
pub use markdown::markdown;
pub use query::{Query, SELECTING};
pub use since::{a_week_ago, parse_since};
pub use table::table;

use crate::{
    diagnosis::Finding,
    domain::document::{Document, Row, Translation},
    support::{clock::Timestamp, escape::is_unprintable, humanize::more},
};
use answer::{answer, dates, scope};
use since::{changed, gain};
use std::sync::Arc;
use words::{due, marks, moment, of_target, percent, way};

/// The number of translations to act on that are named. The dates share it, so that a slipped one
/// hides no later one.
const MOST_ACTIONS: usize = 20;

/// The chosen part of a document, with the choices of the command line.
#[derive(Debug)]
pub struct Report {
    pub document: Arc<Document>,
    /// The findings of the poll, sorted by kind.
    pub findings: Vec<Finding>,
    /// The host of the API.
    pub api: Arc<str>,
    /// The beginning of the day to compare with.
    pub since: Timestamp,
    /// The maximum size of the Markdown in bytes.
    pub max_size: usize,
}

/// The sentences that the outputs share.
impl Report {
    /// Says whether everything is ready, below the translations that are not.
    pub fn gate(&self) -> String {
        let below = self.actions(Translation::is_unready, marked);
        let lines = below.iter().map(|line| format!("    {line}\n"));
        lines.collect::<String>() + &answer(&self.document)
    }

    /// Returns the answer to "may we ship?", the figures with their time, and the changes.
    fn answer(&self) -> Vec<String> {
        let document = &self.document;
        let figures = format!(
            "As of {}. {} translated on average. {}",
            moment(document.taken_at),
            percent(document.totals.mean()),
            scope(document)
        );
        let mut sentences = vec![answer(document) + "."];
        sentences.extend(dates(document).into_iter().map(|date| date + "."));
        sentences.push(figures);
        sentences.extend(changed(document, self.since));
        sentences
    }

    /// Returns a date after these words; nothing without one.
    fn due(&self, words: &str, at: Option<Timestamp>) -> String {
        at.map_or_else(String::new, |at| {
            format!("{words}{}", due(at, self.document.taken_at))
        })
    }

    /// Returns the ratio of a translation, its `problems`, and its change.
    fn figures(&self, translation: &Translation, problems: &str) -> String {
        let gain = gain(&self.document, translation, self.since);
        format!("{}{problems}{gain}", percent(translation.ratio))
    }

    /// Describes the first translations to act on among those that pass `accepts`, by date. `whose`
    /// names them.
    fn actions(
        &self,
        accepts: impl Fn(&Translation) -> bool,
        whose: impl Fn(&Row, &Translation) -> String,
    ) -> Vec<String> {
        let now = self.document.taken_at;
        let mut lines = Vec::new();
        let accepts = |row: &Row, known: &Translation| row.is_read() && accepts(known);
        for group in self.document.actions(accepts, MOST_ACTIONS) {
            let due = self.due(", due ", group.day);
            lines.extend(group.actions.into_iter().map(|(row, translation)| {
                let (ratio, way) = (of_target(translation), way(translation, now));
                format!("{}: {ratio}{due}, {way}", whose(row, translation))
            }));
            lines.extend(more(group.left).map(|more| more + &due));
        }
        lines
    }
}

/// Names a translation.
fn whose(row: &Row, translation: &Translation) -> String {
    format!("{} of {}", translation.code(), row.name())
}

/// Names a translation after the marks of its problems.
fn marked(row: &Row, translation: &Translation) -> String {
    let name = format!("{} {}", marks(translation), whose(row, translation));
    name.trim_start().to_owned()
}

/// Makes `text` safe for one line of a terminal or a document: replaces every character that a
/// terminal would interpret or hide.
fn cell(text: &str) -> String {
    text.replace(is_unprintable, "\u{fffd}")
}

#[cfg(test)]
mod tests;
