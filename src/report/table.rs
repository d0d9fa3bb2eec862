//! The table for a terminal: a line for each repository, the furthest behind first, then the dates
//! and the failures.

use super::{
    Report, Terminal, cell,
    verdict::named,
    words::{figure, fraction, percent},
};
use crate::{
    domain::{
        TranslationProblem,
        document::{self, Row, Totals},
    },
    support::humanize::{counted, repositories},
};

/// The parameters of styles in ECMA-48 (SGR).
const STRONG: &str = "1";
const RED: &str = "31";
const GREEN: &str = "32";
const YELLOW: &str = "33";

/// The column of the repositories' names, below which their languages begin in a terminal of at
/// least [`WIDE`] columns.
const INDENT: usize = 24;
const WIDE: u16 = 60;

/// The maximum number of translations named for a date.
const MOST_NAMED: usize = 3;

/// Lays out the changes, the repositories, the totals, the dates and the failures.
pub fn table(report: &Report<'_>, terminal: Terminal) -> String {
    let document = report.view.document;
    let rows = report.rows();
    let mut lines = Vec::new();
    if let Some((heading, changes)) = report.changes() {
        lines.push(heading);
        lines.extend(changes.iter().map(|change| cell(&format!("  {change}"))));
        lines.push(String::new());
    }
    if !rows.is_empty() {
        lines.extend([repository_lines(report, &rows, terminal), String::new()]);
    }
    lines.extend(report.counts());
    let languages = document::languages(rows.iter().copied()).len();
    let languages = counted(languages, "language", "languages");
    let left_out = match document.filtered {
        0 => String::new(),
        filtered => format!("; {filtered} left out"),
    };
    lines.push(format!(
        "{}, {languages}{left_out}",
        repositories(rows.len())
    ));
    let failures = report.failures().into_iter();
    let failures = failures.map(|line| format!("  {}", terminal.paint(RED, &cell(&line))));
    for (heading, below) in [
        ("Due", due(report, terminal)),
        ("Could not be read", failures.collect()),
    ] {
        if !below.is_empty() {
            lines.push(format!("\n{heading}:\n{}", below.join("\n")));
        }
    }
    let text = lines.join("\n");
    text.lines().map(line).collect()
}

/// Ends a line. In the log of a CI system, one that begins with `::` would be a command.
fn line(text: &str) -> String {
    let (blanks, rest) = text.split_at(text.len() - text.trim_start().len());
    match rest.strip_prefix("::") {
        Some(rest) => format!("{blanks}:\u{fffd}{}\n", rest.trim_end()),
        None => text.trim_end().to_owned() + "\n",
    }
}

/// Lays out the repositories, each with its unready languages on the lines below it, which fit the
/// terminal. Nothing is cut, because terminals wrap long lines.
fn repository_lines(report: &Report<'_>, rows: &[&Row], terminal: Terminal) -> String {
    let indent = if terminal.width < WIDE { 0 } else { INDENT };
    let mut text = terminal.paint(STRONG, "COMPLETION       READY    REPOSITORY");
    for row in rows {
        let totals = &row.totals;
        let ready = format!("{:7}", fraction(totals));
        text += "\n";
        text += &[completion(totals, terminal), ready, cell(row.name())].join("  ");
        let mut room = 0;
        for one in row.unready() {
            let (code, change) = (cell(one.code()), report.points(row, one));
            let item = format!("  {code} {}{change}", figure(one.ratio));
            let width = item.chars().count();
            if width > room {
                text += "\n";
                text += &" ".repeat(indent);
                room = usize::from(terminal.width).saturating_sub(indent);
            }
            room = room.saturating_sub(width);
            text += &item;
        }
    }
    text
}

/// Returns a bar of ten columns and the mean completion of a repository. Both are rounded down, so
/// that a full bar means complete.
fn completion(totals: &Totals, terminal: Terminal) -> String {
    let Some(mean) = totals.mean.get() else {
        let has_languages = totals.with_resting() > 0;
        let why = if has_languages {
            "unknown"
        } else {
            "no languages"
        };
        return format!("{why:15}");
    };
    let full = (1..=10_u8).filter(|tenth| mean * 10.0 >= f64::from(*tenth));
    let full = full.count();
    let bar = "█".repeat(full) + &"·".repeat(10 - full);
    let style = if totals.unready() > 0 { YELLOW } else { GREEN };
    format!("{} {:>3}%", terminal.paint(style, &bar), percent(mean))
}

/// Lists the dates, each with the translations furthest from their targets.
fn due(report: &Report<'_>, terminal: Terminal) -> Vec<String> {
    let mut lines = Vec::new();
    for (at, due) in report.view.dates(MOST_NAMED) {
        let is_overdue = due.totals.count(TranslationProblem::Overdue) > 0;
        let style = if is_overdue { RED } else { "" };
        let date = terminal.paint(style, &report.date(at, &due.totals));
        lines.push(format!("  {date}"));
        lines.extend(named(&due.furthest, due.totals.unready(), false));
    }
    lines
}

impl Terminal {
    /// Applies a style to `text`, if the terminal has colours.
    fn paint(self, style: &str, text: &str) -> String {
        if self.color {
            format!("\x1b[{style}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }
}
