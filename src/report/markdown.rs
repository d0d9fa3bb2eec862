//! GitHub Flavored Markdown for a job summary, a pull request or a README.

use super::{
    Report, cell,
    words::{self, fraction, more},
};
use crate::domain::document::{Due, Row, Translation};

/// The maximum number of languages named for a repository, and of translations for a date.
const MOST_NAMED: usize = 12;

/// Returns the totals, the changes, the failures, a table of the repositories, the furthest behind
/// first, and the dates. Counts what does not fit into [`Report::max_size`].
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
    let mut text = format!("**{}.**\n", report.counts().join("; "));
    if let Some((heading, changes)) = report.changes() {
        text += &list(&heading, &escaped(&changes));
    }
    text += &list("**Could not be read:**", &escaped(&report.failures()));
    let due = list("### Due", &due(report));
    let rows = report.rows();
    let rows = rows.iter().filter(|row| !row.translations().is_empty());
    let rows: Vec<_> = rows.map(|row| line(report, row)).collect();
    let heading = "| Repository | Completion | Ready | Not ready |\n|:--|--:|--:|:--|";
    let left = report.max_size.saturating_sub(text.len() + due.len());
    text + &section(heading, &rows, left) + &due
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
    let (mean, ready) = (words::figure(totals.mean.get()), fraction(totals));
    let behind = row.unready();
    let named = behind.iter().take(MOST_NAMED);
    let named = named.map(|translation| figure(report, row, translation));
    let others = more(behind.len().saturating_sub(MOST_NAMED));
    let named: Vec<_> = named.chain(others).collect();
    format!("| {name} | {mean} | {ready} | {} |\n", named.join(", "))
}

/// Returns a code, which leads to the work, with its ratio, its change and a target below 100 %.
fn figure(report: &Report<'_>, row: &Row, translation: &Translation) -> String {
    let url = report.view.document.language_url(row, translation.code());
    let ratio = words::figure(translation.ratio);
    let change = escaped(&report.points(row, translation));
    let figure = format!("{} {ratio}{change}", linked(translation.code(), url));
    match translation.target() {
        target if target.ratio < 1.0 => format!("{figure} (needs {}%)", target.percent()),
        _ => figure,
    }
}

/// Describes the dates that are ahead or missed, the earliest first.
fn due(report: &Report<'_>) -> Vec<String> {
    let dates = report.view.dates(MOST_NAMED).into_iter();
    let line = |(at, due): (_, Due<'_>)| {
        let named = due.furthest.iter().map(|(row, translation)| {
            let url = report.view.document.repository_url(row);
            let figure = figure(report, row, translation);
            format!("; {figure} of {}", linked(row.name(), url))
        });
        report.date(at, &due.totals) + &named.collect::<String>()
    };
    dates.map(line).collect()
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
