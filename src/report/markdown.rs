//! GitHub Flavored Markdown for a job summary, a pull request or a README.

use super::{Digest, Report, Since, cell};
use crate::domain::{
    Repository, TranslationProblem,
    polling::PollOutcome,
    readiness::{self, Due, Row, Translation, day, days, percent},
};
use crate::support::{
    clock::Timestamp,
    humanize::{counted, grouped, repositories},
};
use std::fmt::Write as _;

/// The maximum number of languages named for a repository, and of translations for a date.
const MOST_NAMED: usize = 12;

/// Returns the totals, a table of the repositories, the furthest behind first, and the dates.
/// Counts the repositories that do not fit into [`Report::max_size`].
pub fn markdown(report: &Report<'_>) -> String {
    let Report {
        snapshot,
        poll,
        unmatched,
        since,
        max_size,
    } = *report;
    let digest = Digest::of(snapshot);
    let rows = &digest.rows;
    let due = due(report, rows);
    let mut text = String::new();
    if let Some(unmatched) = unmatched {
        let _ = writeln!(text, "**Beware: {}.**\n", escaped(unmatched));
    }
    text += &heading(&digest);
    if let Some(since) = since {
        text += &became_ready(report, since, rows);
    }
    if !poll.is_success() {
        let _ = writeln!(
            text,
            "\n**Not everything could be read.** {}",
            failure(poll, digest.unread)
        );
    }
    if digest.totals.all > 0 {
        text += "\n| Repository | Completion | Ready | Not ready |\n|:--|--:|--:|:--|\n";
    }
    let mut left_out = 0;
    for row in rows.iter().filter(|row| row.totals.all > 0) {
        let line = line(report, row);
        // 200 bytes leave room for the legend and the sentence about the rows left out.
        if text.len() + line.len() + due.len() + 200 > max_size {
            left_out += 1;
        } else {
            text += &line;
        }
    }
    if left_out > 0 {
        let _ = writeln!(
            text,
            "\n{} left out: the table ends here.",
            repositories(left_out)
        );
    }
    if let Some(legend) = digest.legend() {
        let _ = writeln!(text, "\n{legend}");
    }
    text + &due
}

fn heading(digest: &Digest<'_>) -> String {
    if digest.totals.all == 0 {
        return "**There is no translation to show.**\n".to_owned();
    }
    let (ready, rest) = digest.counts();
    format!("**{ready}**{rest}.\n")
}

fn failure(poll: &PollOutcome, unread: usize) -> String {
    if let Some(failure) = poll.cut_short() {
        return escaped(&format!("{}; {}", failure.what, failure.hint));
    }
    let left = poll.failed + poll.unreached + poll.postponed;
    format!("{} could not be read.", repositories(unread.max(left)))
}

/// Names the translations that became ready since the earlier data, in at most a quarter of
/// [`Report::max_size`].
fn became_ready(report: &Report<'_>, since: &Since, rows: &[Row<'_>]) -> String {
    let ready = since.became_ready(rows, report.snapshot.completion_scale);
    let mut text = format!("\n{}\n\n", since.heading(ready.len()));
    let mut named = 0;
    for (translation, change) in ready.iter().take(MOST_NAMED) {
        let (code, change) = (escaped(translation.code()), escaped(&change.points()));
        let name = escaped(&translation.repository.name);
        let line = format!("- {code}{change} of {name}\n");
        if text.len() + line.len() > report.max_size / 4 {
            break;
        }
        text += &line;
        named += 1;
    }
    if named < ready.len() {
        let _ = writeln!(text, "- and {} more", grouped(ready.len() - named));
    }
    text
}

fn line(report: &Report<'_>, row: &Row<'_>) -> String {
    let snapshot = report.snapshot;
    let repository = &row.shown.repository;
    let totals = &row.totals;
    let name = linked(&repository.name, snapshot.links.repository_url(repository));
    let mean = totals
        .mean
        .get()
        .map_or("?".to_owned(), |mean| format!("{}%", percent(mean)));
    let (ready, all) = (grouped(totals.ready), grouped(totals.all));
    let behind = row.behind();
    let mut named: Vec<_> = behind
        .iter()
        .take(MOST_NAMED)
        .map(|translation| figure(report, repository, translation))
        .collect();
    if behind.len() > MOST_NAMED {
        named.push(format!("and {} more", grouped(behind.len() - MOST_NAMED)));
    }
    format!(
        "| {name} | {mean} | {ready}/{all} | {} |\n",
        named.join(", ")
    )
}

/// Returns a code, which leads to the work, with its ratio, its change and a target below 100 %.
fn figure(report: &Report<'_>, repository: &Repository, translation: &Translation<'_>) -> String {
    let links = &report.snapshot.links;
    let url = links.language_url(repository, translation.code());
    let ratio = translation
        .ratio
        .map_or("?".to_owned(), |ratio| format!("{}%", percent(ratio)));
    let change = escaped(&report.points(translation));
    let figure = format!("{} {ratio}{change}", linked(translation.code(), url));
    match translation.target {
        target if target.ratio < 1.0 => format!("{figure} (needs {}%)", target.percent()),
        _ => figure,
    }
}

/// Lists the dates that are ahead or missed, the earliest first. Counts the dates after
/// half of [`Report::max_size`].
fn due(report: &Report<'_>, rows: &[Row<'_>]) -> String {
    let Report {
        snapshot, max_size, ..
    } = *report;
    let now = snapshot.taken_at;
    let dates = readiness::dates(rows, MOST_NAMED, now);
    if dates.is_empty() {
        return String::new();
    }
    let mut text = "\n### Due\n\n".to_owned();
    for (listed, (at, due)) in dates.iter().enumerate() {
        let line = date(report, *at, due);
        if text.len() + line.len() > max_size / 2 {
            let left_out = counted(dates.len() - listed, "date", "dates");
            let _ = writeln!(text, "\n{left_out} left out: the list ends here.");
            break;
        }
        text += &line;
    }
    text
}

/// Returns the line of the date `at`.
fn date(report: &Report<'_>, at: Timestamp, due: &Due<'_>) -> String {
    let snapshot = report.snapshot;
    let (now, totals) = (snapshot.taken_at, &due.totals);
    let state = match totals.count(TranslationProblem::AtRisk) {
        _ if totals.is_ready() => ", ready".to_owned(),
        0 => String::new(),
        count => format!(", {} at risk", grouped(count)),
    };
    let (ready, all) = (grouped(totals.ready), grouped(totals.all));
    let (day, days) = (day(at), days(at, now));
    let mut line = format!("- **{day}** ({days}{state}): {ready} of {all} ready");
    let named: Vec<_> = due
        .furthest
        .iter()
        .map(|translation| {
            let repository = translation.repository;
            let url = snapshot.links.repository_url(repository);
            let figure = figure(report, repository, translation);
            format!("{figure} of {}", linked(&repository.name, url))
        })
        .collect();
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
