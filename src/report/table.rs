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
use comfy_table::{Cell, ColumnConstraint, ContentArrangement, Table, presets::NOTHING};

/// The parameters of styles in ECMA-48 (SGR).
const STRONG: &str = "1";
const RED: &str = "31";
const GREEN: &str = "32";
const YELLOW: &str = "33";

/// The maximum number of translations named for a date.
const MOST_NAMED: usize = 3;

/// The character that keeps a code and its percentage on one line; [`table`] replaces it by a
/// space.
const NO_BREAK: &str = "\u{a0}";

/// Lays out the changes, the repositories, the totals, the dates and the failures.
pub fn table(report: &Report, terminal: Terminal) -> String {
    let document = &*report.document;
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
    let lines = text.lines().map(|line| line.trim_end().to_owned() + "\n");
    lines.collect()
}

/// Lays out the repositories in columns that fit the terminal. Wraps long names and lists of
/// languages instead of cutting them.
fn repository_lines(report: &Report, rows: &[&Row], terminal: Terminal) -> String {
    let mut table = Table::new();
    table
        .load_style(NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(terminal.width);
    let heading = |text| Cell::new(terminal.paint(STRONG, text));
    table.set_header(["REPOSITORY", "COMPLETION", "READY", "NOT READY"].map(heading));
    for row in rows {
        let totals = row.totals();
        table.add_row([
            cell(row.name()),
            completion(&totals, terminal),
            fraction(&totals),
            not_ready(report, row),
        ]);
    }
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 2));
        if let 1 | 2 = index {
            column.set_constraint(ColumnConstraint::ContentWidth);
        }
    }
    table.to_string().replace(NO_BREAK, " ")
}

/// Returns a bar of ten columns and the mean completion of a repository. Both are rounded down, so
/// that a full bar means complete.
fn completion(totals: &Totals, terminal: Terminal) -> String {
    let Some(mean) = totals.mean.get() else {
        let has_languages = totals.with_resting() > 0;
        return if has_languages {
            "unknown"
        } else {
            "no languages"
        }
        .to_owned();
    };
    let full = (1..=10_u8).filter(|tenth| mean * 10.0 >= f64::from(*tenth));
    let full = full.count();
    let bar = "█".repeat(full) + &"·".repeat(10 - full);
    let style = if totals.behind() > 0 { YELLOW } else { GREEN };
    format!("{} {:>3}%", terminal.paint(style, &bar), percent(mean))
}

/// Returns the unready languages, the furthest behind first, with their changes.
fn not_ready(report: &Report, row: &Row) -> String {
    let behind = row.behind();
    let items = behind.iter().map(|one| {
        let (code, change) = (cell(one.code()), report.points(row, one));
        format!("{code} {}{change}", figure(one.ratio)).replace(' ', NO_BREAK)
    });
    items.collect::<Vec<_>>().join("  ")
}

/// Lists the dates, each with the translations furthest from their targets.
fn due(report: &Report, terminal: Terminal) -> Vec<String> {
    let mut lines = Vec::new();
    for (at, due) in report.document.dates(MOST_NAMED) {
        let is_overdue = due.totals.count(TranslationProblem::Overdue) > 0;
        let style = if is_overdue { RED } else { "" };
        let date = terminal.paint(style, &report.date(at, &due.totals));
        lines.push(format!("  {date}"));
        lines.extend(named(&due.furthest, due.totals.behind(), false));
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
