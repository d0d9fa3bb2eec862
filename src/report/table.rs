//! The table for a terminal: a line for each repository, the most urgent first, then the
//! answer, and what to act on first.

use super::{
    Report, cell, marked,
    words::{fraction, marks, percent},
};
use crate::{
    domain::document::{Row, Tone, Totals, Translation},
    support::escape::inert,
};
use console::{Color, measure_text_width, style};

/// The column of the repositories' names, below which their languages begin on a wide terminal.
const INDENT: usize = 26;

/// Lays out the repositories, the answer, and what to act on, in lines of at most `width` columns.
pub fn table(report: &Report, width: usize, has_color: bool) -> String {
    let sentence = |text: &str, indent| wrapped(cell(text).split(' '), " ", indent, width) + "\n";
    let rows = report.document.by_urgency(Row::is_read);
    let mut text = String::new();
    if !rows.is_empty() {
        text += "COMPLETION       READY    REPOSITORY\n";
        for (row, totals) in &rows {
            text += &line(report, row, totals, width, has_color);
        }
        text += "\n";
    }
    text.extend(report.answer().iter().map(|text| sentence(text, 2)));
    let actions = report.actions(Translation::has_problem, marked);
    if !actions.is_empty() {
        text += "\nAct first:\n";
        text.extend(
            actions
                .iter()
                .map(|item| format!("  {}", sentence(item, 4))),
        );
    }
    let lines = text.lines().map(|line| inert(line.trim_end()) + "\n");
    lines.collect()
}

/// Lays out a repository with its unready languages and their marks.
fn line(report: &Report, row: &Row, totals: &Totals, width: usize, has_color: bool) -> String {
    let (completion, ready) = (completion(totals, has_color), fraction(totals));
    let (name, due) = (cell(row.name()), report.due("  due ", totals.due));
    let mut line = format!("{completion}  {ready:7}  {name}{due}\n");
    let unready = row.unready();
    if !unready.is_empty() {
        let unready = unready.into_iter().map(|translation| {
            let figures = report.figures(translation, &marks(translation));
            format!("{} {figures}", cell(translation.code()))
        });
        let indent = if width < 60 { 2 } else { INDENT };
        line += &" ".repeat(indent);
        line += &wrapped(unready, "  ", indent, width);
        line += "\n";
    }
    line
}

/// Joins items in lines that fit the width. The second and later ones are indented, and so is what
/// stands before the first; an item that is wider has a line to itself.
fn wrapped(
    items: impl IntoIterator<Item = impl AsRef<str>>,
    gap: &str,
    indent: usize,
    width: usize,
) -> String {
    let (mut text, mut at) = (String::new(), indent);
    for item in items {
        let item = item.as_ref();
        let needed = measure_text_width(item);
        if at > indent && at + gap.len() + needed > width {
            text += "\n";
            text += &" ".repeat(indent);
            at = indent;
        } else if at > indent {
            text += gap;
            at += gap.len();
        }
        text += item;
        at += needed;
    }
    text
}

/// Returns a bar of ten columns and the mean completion of a repository. Both are rounded down, so
/// that a full bar means complete.
fn completion(totals: &Totals, has_color: bool) -> String {
    let mean = totals.mean();
    let is_full = |tenth: &u8| mean.is_some_and(|mean| mean * 10.0 >= f64::from(*tenth));
    let full = (1..=10).filter(is_full).count();
    let bar = "█".repeat(full) + &"·".repeat(10 - full);
    let color = match totals.tone() {
        Tone::Overdue => Color::Red,
        Tone::Ready => Color::Green,
        _ => Color::Yellow,
    };
    let bar = style(bar).fg(color).force_styling(has_color);
    format!("{bar} {:>4}", percent(mean))
}
