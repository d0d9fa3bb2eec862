//! GitHub Flavored Markdown for a job summary, a pull request or a README.

use super::{
    Report, cell,
    words::{fraction, marks, more, percent},
};
use crate::domain::document::{Row, Translation};

/// The maximum number of languages named for a repository.
const MOST_NAMED: usize = 12;

/// Returns the answer with its time, the changes, the failures, what to act on first, and a table of
/// the repositories, the most urgent first. Counts what does not fit into [`Report::max_size`].
pub fn markdown(report: &Report<'_>) -> String {
    let list = |heading: &str, lines: &[String]| {
        let lines = lines.iter().map(|line| format!("- {line}\n"));
        section(
            &format!("{heading}\n"),
            &lines.collect::<Vec<_>>(),
            report.max_size / 5,
        )
    };
    let escaped = |lines: &[String]| lines.iter().map(|line| escaped(line)).collect::<Vec<_>>();
    let answer = escaped(&report.answer());
    let mut text = format!("**{}**\n\n{}\n", answer[0], answer[1..].join("\n\n"));
    if let Some((heading, changes)) = report.changes() {
        text += &list(&format!("**{heading}:**"), &escaped(&changes));
    }
    text += &list("**Could not be read:**", &escaped(&report.failures()));
    let actions = report.actions(|row, one| {
        let name = linked(row.name(), report.view.document.repository_url(row));
        format!("{} of {name}", code(report, row, one))
    });
    text += &list("### Act first", &actions);
    let rows = report.rows();
    let rows = rows.iter().filter(|row| !row.translations().is_empty());
    let rows: Vec<_> = rows.map(|row| line(report, row)).collect();
    let heading = "| Repository | Completion | Ready | Due | Not ready |\n|:--|--:|--:|:--|:--|";
    let left = report.max_size.saturating_sub(text.len());
    text + &section(heading, &rows, left)
}

/// Returns a heading and the lines that fit into `size` bytes; nothing without lines.
fn section(heading: &str, lines: &[String], size: usize) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let mut text = format!("\n{heading}\n");
    for (listed, line) in lines.iter().enumerate() {
        // 30 bytes leave room for the count.
        if text.len() + line.len() + 30 > size {
            text.extend(more(lines.len() - listed).map(|more| format!("\n{more}\n")));
            break;
        }
        text += line;
    }
    text
}

fn line(report: &Report<'_>, row: &Row) -> String {
    let totals = &row.totals;
    let name = linked(row.name(), report.view.document.repository_url(row));
    let (mean, ready) = (percent(totals.mean.get()), fraction(totals));
    let unready = row.unready();
    let named = unready.iter().take(MOST_NAMED).map(|one| {
        let change = escaped(&report.points(row, one));
        let figure = format!(
            "{} {}{}{change}",
            code(report, row, one),
            percent(one.ratio),
            marks(one)
        );
        match one.target() {
            target if target.ratio < 1.0 => format!("{figure} (needs {}%)", target.percent()),
            _ => figure,
        }
    });
    let others = more(unready.len().saturating_sub(MOST_NAMED));
    let named: Vec<_> = named.chain(others).collect();
    let due = report.due(row).unwrap_or_default();
    let due = due.trim_start_matches("due ");
    format!(
        "| {name} | {mean} | {ready} | {due} | {} |\n",
        named.join(", ")
    )
}

/// Returns a code, which leads to the work.
fn code(report: &Report<'_>, row: &Row, one: &Translation) -> String {
    linked(
        one.code(),
        report.view.document.language_url(row, one.code()),
    )
}
fn linked(text: &str, url: Option<String>) -> String {
    let text = escaped(text);
    match url {
        // Percent-encoding leaves parentheses alone; angle brackets keep them inside the link.
        Some(url) => format!("[{text}](<{url}>)"),
        None => text,
    }
}

/// Escapes the characters that begin Markdown syntax, HTML tags or entities. Mentions, references
/// to issues and bare URLs get an invisible character instead: forges look for them in the
/// rendered text, which no longer has escapes.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for c in cell(text).chars() {
        match c {
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '!' => escaped.extend(['\\', c]),
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '&' => escaped += "&amp;",
            '@' => escaped += "@&#8203;",
            '#' => escaped += "#&#8203;",
            _ => escaped.push(c),
        }
    }
    escaped
        .replace("://", ":&#8203;//")
        .replace("www.", "www.&#8203;")
}
