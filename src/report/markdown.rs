//! GitHub Flavored Markdown for a job summary, a pull request or a README.

use super::{
    Report, cell,
    words::{fraction, percent, problems},
};
use crate::{
    domain::document::{Row, Translation},
    support::humanize::more,
};

/// Returns the answer with its time, what to act on first, and a table of the
/// repositories, the most urgent first. Counts what does not fit into [`Report::max_size`].
pub fn markdown(report: &Report<'_>) -> String {
    let item = |text: String| format!("- {text}\n");
    let answer: Vec<_> = report.answer().iter().map(|text| escaped(text)).collect();
    let actions = report.actions(Translation::has_problem, |row, one| {
        let (problems, language) = (problems(one), language(report, row, one));
        format!("**{problems}**: {language} of {}", name(report, row))
    });
    let rows = report.rows();
    let rows = rows.iter().filter(|row| !row.translations().is_empty());
    let rows = rows.map(|row| line(report, row));
    let columns = "| Repository | Completion | Ready | Due | Not ready |\n|:--|--:|--:|:--|:--|";
    let mut text = format!("**{}**\n\n{}\n", answer[0], answer[1..].join("\n\n"));
    for (heading, lines) in [
        ("### Act first\n", actions.into_iter().map(item).collect()),
        (columns, rows.collect::<Vec<_>>()),
    ] {
        let left = report.max_size.saturating_sub(text.len());
        text += &section(heading, &lines, left);
    }
    text
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
    let (name, totals) = (name(report, row), &row.totals());
    let (mean, ready) = (percent(totals.mean()), fraction(totals));
    let due = report.due(row).unwrap_or_default();
    let in_brackets = |one: &Translation| match problems(one) {
        problems if problems.is_empty() => problems,
        problems => format!(" ({problems})"),
    };
    let unready = report.unready(row, |one| language(report, row, one), in_brackets);
    let unready = unready.join(", ");
    format!("| {name} | {mean} | {ready} | {due} | {unready} |\n")
}

/// Returns the name of a repository, which leads to the work.
fn name(report: &Report<'_>, row: &Row) -> String {
    linked(row.name(), report.view.document.repository_url(row))
}

/// Returns the name of a language, which leads to the work.
fn language(report: &Report<'_>, row: &Row, one: &Translation) -> String {
    let url = report.view.document.language_url(row, one.code());
    linked(one.name(), url)
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
