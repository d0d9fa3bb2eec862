//! GitHub Flavored Markdown for a job summary, a pull request or a README.

use super::{
    Report, cell,
    words::{fraction, percent, problems},
};
use crate::{
    domain::document::{Row, Totals, Translation},
    support::humanize::more,
};

/// Returns the answer with its time, what to act on first, and a table of the
/// repositories, the most urgent first. Counts what does not fit into [`Report::max_size`].
pub fn markdown(report: &Report) -> String {
    let answer: Vec<_> = report.answer().iter().map(|text| escaped(text)).collect();
    let actions = report.actions(Translation::has_problem, |row, problem| {
        let (problems, language) = (problems(problem), language(report, row, problem));
        format!("**{problems}**: {language} of {}", name(report, row))
    });
    let items = actions.iter().map(|action| format!("- {action}\n"));
    let rows = report
        .document
        .by_urgency(|row| !row.translations().is_empty());
    let lines = rows.iter().map(|(row, totals)| line(report, row, totals));
    let columns = "| Repository | Completion | Ready | Due | Not ready |\n|:--|--:|--:|:--|:--|";
    let mut text = format!("**{}**\n\n{}\n", answer[0], answer[1..].join("\n\n"));
    for (heading, lines) in [
        ("### Act first\n", items.collect()),
        (columns, lines.collect::<Vec<_>>()),
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

fn line(report: &Report, row: &Row, totals: &Totals) -> String {
    let unready = row.unready().into_iter().map(|translation| {
        let problems = match problems(translation) {
            problems if problems.is_empty() => problems,
            problems => format!(" ({problems})"),
        };
        let name = language(report, row, translation);
        format!("{name} {}", report.figures(translation, &problems))
    });
    format!(
        "| {} | {} | {} | {} | {} |\n",
        name(report, row),
        percent(totals.mean()),
        fraction(totals),
        report.due("", totals.due),
        unready.collect::<Vec<_>>().join(", ")
    )
}

/// Returns the name of a repository, which leads to the work.
fn name(report: &Report, row: &Row) -> String {
    linked(row.name(), report.document.repository_url(row))
}

/// Returns the name of a language, which leads to the work.
fn language(report: &Report, row: &Row, translation: &Translation) -> String {
    let document = &report.document;
    linked(
        translation.name(),
        document.language_url(row, translation.code()),
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
