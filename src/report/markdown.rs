//! GitHub Flavored Markdown for a job summary, a pull request or a README.

use super::{
    Digest, Report, cell, not_judged, ready,
    words::{self, day, days, fraction, more},
};
use crate::domain::document::{Document, Due, Row, Translation};
use crate::support::{
    clock::Timestamp,
    humanize::{counted, repositories},
};
use std::fmt::Write as _;

/// The maximum number of languages named for a repository, and of translations for a date.
const MOST_NAMED: usize = 12;

/// Returns the totals, a table of the repositories, the furthest behind first, and the dates.
/// Counts the repositories that do not fit into [`Report::max_size`].
pub fn markdown(report: &Report) -> String {
    let document = &*report.document;
    let digest = Digest::of(report);
    let due = due(report);
    let mut text = String::new();
    for doubt in report.unmatched.iter().chain(&digest.doubt) {
        let _ = writeln!(text, "**Beware: {}.**\n", escaped(doubt));
    }
    text += &heading(&digest);
    text += &changes(report);
    if !document.is_complete() {
        let failure = failure(&report.document);
        let _ = writeln!(text, "\n**Not everything could be read.** {failure}");
    }
    let rows = digest.rows.iter();
    let rows: Vec<_> = rows.filter(|row| !row.translations().is_empty()).collect();
    if !rows.is_empty() {
        text += "\n| Repository | Completion | Ready | Not ready |\n|:--|--:|--:|:--|\n";
    }
    for (listed, row) in rows.iter().enumerate() {
        let line = line(report, row);
        // 200 bytes leave room for the legend and the sentence about the rows left out.
        if text.len() + line.len() + due.len() + 200 > report.max_size {
            let left_out = repositories(rows.len() - listed);
            let _ = writeln!(text, "\n{left_out} left out: the table ends here.");
            break;
        }
        text += &line;
    }
    if let Some(legend) = digest.legend() {
        let _ = writeln!(text, "\n{legend}");
    }
    text + &due
}

fn heading(digest: &Digest<'_>) -> String {
    if digest.totals.with_resting() == 0 {
        return "**There is no translation to show.**\n".to_owned();
    }
    let (ready, rest) = digest.counts();
    let not_judged = not_judged(digest.totals).map(|count| format!("; {count}"));
    let not_judged: String = not_judged.collect();
    format!("**{ready}**{rest}{not_judged}.\n")
}

fn failure(document: &Document) -> String {
    let poll = document.status.last.as_ref();
    if let Some(failure) = poll.and_then(|poll| poll.cut_short()) {
        return escaped(&format!("{}; {}", failure.what, failure.hint));
    }
    let left = poll.map_or(0, |poll| poll.unread());
    format!(
        "{} could not be read.",
        repositories(document.unread().max(left))
    )
}

/// Lists the changes since the earlier data in about a quarter of [`Report::max_size`].
fn changes(report: &Report) -> String {
    let mut text = String::new();
    if let Some((heading, items)) = report.changes() {
        let _ = write!(text, "\n{heading}\n\n");
        for (named, item) in items.iter().enumerate() {
            let line = format!("- {}\n", escaped(item));
            if named == MOST_NAMED || text.len() + line.len() > report.max_size / 4 {
                text.extend(more(items.len() - named).map(|line| format!("- {line}\n")));
                break;
            }
            text += &line;
        }
    }
    text
}

fn line(report: &Report, row: &Row) -> String {
    let totals = row.totals();
    let name = linked(row.name(), report.document.repository_url(row));
    let (mean, ready) = (words::figure(totals.mean.get()), fraction(&totals));
    let behind = row.behind();
    let mut named: Vec<_> = behind
        .iter()
        .take(MOST_NAMED)
        .map(|translation| figure(report, row, translation))
        .collect();
    named.extend(more(behind.len().saturating_sub(MOST_NAMED)));
    format!("| {name} | {mean} | {ready} | {} |\n", named.join(", "))
}

/// Returns a code, which leads to the work, with its ratio, its change and a target below 100 %.
fn figure(report: &Report, row: &Row, translation: &Translation) -> String {
    let url = report.document.language_url(row, translation.code());
    let ratio = words::figure(translation.ratio);
    let change = escaped(&report.points(row, translation));
    let figure = format!("{} {ratio}{change}", linked(translation.code(), url));
    match translation.target() {
        target if target.ratio < 1.0 => format!("{figure} (needs {}%)", target.percent()),
        _ => figure,
    }
}

/// Lists the dates that are ahead or missed, the earliest first. Counts the dates after
/// half of [`Report::max_size`].
fn due(report: &Report) -> String {
    let dates = report.document.dates(MOST_NAMED);
    if dates.is_empty() {
        return String::new();
    }
    let mut text = "\n### Due\n\n".to_owned();
    for (listed, (at, due)) in dates.iter().enumerate() {
        let line = date(report, *at, due);
        if text.len() + line.len() > report.max_size / 2 {
            let left_out = counted(dates.len() - listed, "date", "dates");
            let _ = writeln!(text, "\n{left_out} left out: the list ends here.");
            break;
        }
        text += &line;
    }
    text
}

/// Returns the line of the date `at`.
fn date(report: &Report, at: Timestamp, due: &Due<'_>) -> String {
    let (day, days) = (day(at), days(at, report.document.taken_at, &due.totals));
    let ready = ready(&due.totals, "");
    let mut line = format!("- **{day}** ({days}): {ready}");
    let named = due.furthest.iter().map(|(row, translation)| {
        let url = report.document.repository_url(row);
        let figure = figure(report, row, translation);
        format!("{figure} of {}", linked(row.name(), url))
    });
    let named: Vec<_> = named.collect();
    if !named.is_empty() {
        let _ = write!(line, "; {}", named.join(", "));
    }
    line + "\n"
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
