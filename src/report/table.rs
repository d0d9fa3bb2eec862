//! The table for a terminal: a line for each repository, the most urgent first, then the answer,
//! what to act on first, and the failures. Every line fits the terminal.

use super::{
    Report, Terminal, cell,
    words::{fraction, marks, percent},
};
use crate::domain::{
    TranslationProblem,
    document::{Row, Totals},
};
use std::iter::repeat_n;

/// The parameters of styles in ECMA-48 (SGR).
const STRONG: &str = "1";
const RED: &str = "31";
const GREEN: &str = "32";
const YELLOW: &str = "33";

/// The column of the repositories' names, below which their languages begin in a terminal of at
/// least [`WIDE`] columns.
const INDENT: usize = 26;
const WIDE: usize = 60;

/// Lays out the changes, the repositories, the answer, what to act on and the failures.
pub fn table(report: &Report<'_>, terminal: Terminal) -> String {
    let width = usize::from(terminal.width);
    let paragraph = |text: &str, indent: usize, style: &str| {
        let text = cell(text);
        let blanks = " ".repeat(indent);
        let lines = blanks + &wrapped(text.split(' '), " ", indent, indent + 2, width);
        let lines = lines.lines().map(|line| terminal.paint(style, line) + "\n");
        lines.collect::<String>()
    };
    let list = |heading: &str, items: &[String], style: &str| {
        let items: String = items.iter().map(|item| paragraph(item, 2, style)).collect();
        format!("{heading}:\n{items}\n")
    };
    let mut text = String::new();
    if let Some((heading, changes)) = report.changes() {
        text += &list(&heading, &changes, "");
    }
    let rows = report.rows();
    if !rows.is_empty() {
        text += &terminal.paint(STRONG, "COMPLETION       READY    REPOSITORY");
        text.extend(rows.iter().map(|row| line(report, row, terminal)));
        text += "\n\n";
    }
    text.extend(report.answer().iter().map(|line| paragraph(line, 0, "")));
    text += "\n";
    for (heading, items, style) in [
        (
            "Act first",
            report.actions(|row, one| format!("{} of {}", one.code(), row.name())),
            "",
        ),
        ("Could not be read", report.failures(), RED),
    ] {
        if !items.is_empty() {
            text += &list(heading, &items, style);
        }
    }
    text.trim_end().lines().map(ended).collect()
}

/// Lays out a repository with its unready languages and their marks.
fn line(report: &Report<'_>, row: &Row, terminal: Terminal) -> String {
    let width = usize::from(terminal.width);
    let indent = if width < WIDE { 2 } else { INDENT };
    let ready = format!("{:7}", fraction(&row.totals));
    let name = [Some(cell(row.name())), report.due(row)];
    let name = wrapped(name.into_iter().flatten(), "  ", INDENT, indent, width);
    let mut line = [
        "\n",
        &completion(&row.totals, terminal),
        "  ",
        &ready,
        "  ",
        &name,
    ]
    .concat();
    let unready = row.unready().into_iter();
    let items = unready.map(|one| {
        let (code, change) = (cell(one.code()), report.points(row, one));
        format!("{code} {}{}{change}", percent(one.ratio), marks(one))
    });
    let items = wrapped(items, "  ", indent, indent, width);
    if !items.is_empty() {
        line += "\n";
        line += &" ".repeat(indent);
        line += &items;
    }
    line
}

/// Joins words that begin at the column `at`. Lines that would be wider than the terminal go on in
/// the next one, at `indent`; a word that is wider than that is cut.
fn wrapped(
    words: impl IntoIterator<Item = impl AsRef<str>>,
    gap: &str,
    mut at: usize,
    indent: usize,
    width: usize,
) -> String {
    let mut text = String::new();
    let break_line = |text: &mut String, at: &mut usize| {
        text.push('\n');
        text.extend(repeat_n(' ', indent));
        *at = indent;
    };
    for (index, word) in words.into_iter().enumerate() {
        let word = word.as_ref();
        let needed = word.chars().map(columns).sum::<usize>();
        if index > 0 && at + gap.len() + needed > width {
            break_line(&mut text, &mut at);
        } else if index > 0 {
            text += gap;
            at += gap.len();
        }
        for c in word.chars() {
            if at + columns(c) > width && at > indent {
                break_line(&mut text, &mut at);
            }
            text.push(c);
            at += columns(c);
        }
    }
    text
}

/// Returns the columns of a character: two for the wide ones of East Asia and for emoji.
fn columns(c: char) -> usize {
    match u32::from(c) {
        0x1100..=0x115f
        | 0x2e80..=0xa4cf
        | 0xac00..=0xd7a3
        | 0xf900..=0xfaff
        | 0xfe30..=0xfe6f
        | 0xff00..=0xff60
        | 0xffe0..=0xffe6
        | 0x1f300..=0x1faff
        | 0x20000..=0x3fffd => 2,
        _ => 1,
    }
}

/// Ends a line. In the log of a CI system, one that begins with `::` would be a command.
fn ended(text: &str) -> String {
    let (blanks, rest) = text.split_at(text.len() - text.trim_start().len());
    match rest.strip_prefix("::") {
        Some(rest) => format!("{blanks}:\u{fffd}{}\n", rest.trim_end()),
        None => text.trim_end().to_owned() + "\n",
    }
}

/// Returns a bar of ten columns and the mean completion of a repository. Both are rounded down, so
/// that a full bar means complete.
fn completion(totals: &Totals, terminal: Terminal) -> String {
    let Some(mean) = totals.mean.get() else {
        let has_languages = totals.with_resting() > 0;
        let why = match totals.counted {
            0 if has_languages => "paused",
            0 => "no languages",
            _ => "unknown",
        };
        return format!("{why:15}");
    };
    let full = (1..=10_u8).filter(|tenth| mean * 10.0 >= f64::from(*tenth));
    let full = full.count();
    let bar = "█".repeat(full) + &"·".repeat(10 - full);
    let style = match totals.unready() {
        0 => GREEN,
        _ if totals.count(TranslationProblem::Overdue) > 0 => RED,
        _ => YELLOW,
    };
    format!("{} {:>4}", terminal.paint(style, &bar), percent(Some(mean)))
}

impl Terminal {
    /// Applies a style to `text`, if there is one and the terminal has colours.
    fn paint(self, style: &str, text: &str) -> String {
        if self.color && !style.is_empty() {
            format!("\x1b[{style}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }
}
