//! The Markdown for a job summary, a pull request or a README (GitHub Flavored Markdown).

use super::cell;
use crate::domain::{
    Lasting,
    readiness::{self, Deadline, Row, Translation, day, days, percent},
    snapshot::{PollOutcome, Snapshot},
};
use crate::support::humanize::{counted, grouped, repositories};
use std::fmt::Write as _;

/// The bytes of the document at most: a job summary of GitHub ends at 1 MiB, and another step may
/// write into it as well.
const MOST_BYTES: usize = 1_000_000;

/// The number of languages named for a repository, and of translations for a date.
const MOST_NAMED: usize = 12;

/// Returns a sentence about all translations, a table of the repositories, the furthest behind
/// first, and what is due. Repositories beyond [`MOST_BYTES`] are counted.
pub fn markdown(snapshot: &Snapshot, poll: &PollOutcome) -> String {
    let mut rows = readiness::rows(snapshot, None, snapshot.taken_at);
    let unread = rows.iter().filter(|row| !row.is_read()).count();
    rows.retain(Row::is_read);
    readiness::furthest_first(&mut rows, |row| row.totals.missing.get());
    let due = due(snapshot, &rows);
    let mut text = heading(&rows);
    if !poll.is_success() {
        let _ = writeln!(
            text,
            "\n**Not everything could be read.** {}",
            failure(poll, unread)
        );
    }
    if rows.iter().any(|row| row.totals.all > 0) {
        text += "\n| Repository | Completion | Ready | Not ready |\n|:--|--:|--:|:--|\n";
    }
    let mut left_out = 0;
    for row in rows.iter().filter(|row| row.totals.all > 0) {
        let line = line(snapshot, row);
        // Room for the dates and the sentence about the rows left out.
        if text.len() + line.len() + due.len() + 200 > MOST_BYTES {
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
    text + &due
}

fn heading(rows: &[Row<'_>]) -> String {
    let totals = readiness::Totals::of(rows);
    let all = counted(totals.all, "translation", "translations");
    let mut text = format!("**{} of {all} ready**", grouped(totals.ready));
    if let Some(mean) = totals.mean.get() {
        let _ = write!(text, ", {} % on average", percent(mean));
    }
    if totals.stalled > 0 {
        let _ = write!(text, ", {} stalled", grouped(totals.stalled));
    }
    text + ".\n"
}

fn failure(poll: &PollOutcome, unread: usize) -> String {
    if let Some(Lasting { failure, .. }) = poll.cut_short() {
        return escaped(&format!("{}; {}", failure.what, failure.hint));
    }
    let left = poll.failed + poll.unreached + poll.postponed;
    format!("{} could not be read.", repositories(unread.max(left)))
}

fn line(snapshot: &Snapshot, row: &Row<'_>) -> String {
    let repository = &row.shown.repository;
    let totals = &row.totals;
    let name = linked(&repository.name, snapshot.links.repository_url(repository));
    let mean = totals
        .mean
        .get()
        .map_or("?".to_owned(), |mean| format!("{} %", percent(mean)));
    let (ready, all) = (grouped(totals.ready), grouped(totals.all));
    let mut behind: Vec<_> = row.translations().filter(|one| !one.is_ready()).collect();
    readiness::furthest_first(&mut behind, Translation::missing);
    let mut named: Vec<_> = behind
        .iter()
        .take(MOST_NAMED)
        .map(|translation| {
            let url = snapshot.links.language_url(repository, translation.code());
            figure(translation, url)
        })
        .collect();
    if behind.len() > MOST_NAMED {
        named.push(format!("and {} more", grouped(behind.len() - MOST_NAMED)));
    }
    format!(
        "| {name} | {mean} | {ready}/{all} | {} |\n",
        named.join(", ")
    )
}

fn figure(translation: &Translation<'_>, url: Option<String>) -> String {
    let ratio = translation
        .ratio
        .map_or("?".to_owned(), |ratio| format!("{} %", percent(ratio)));
    format!("{} {ratio}", linked(translation.code(), url))
}

/// Lists the dates that were not met, the earliest first.
fn due(snapshot: &Snapshot, rows: &[Row<'_>]) -> String {
    let now = snapshot.taken_at;
    let mut text = String::new();
    for (at, due) in readiness::dates(rows, MOST_NAMED, now) {
        let totals = &due.totals;
        let state = match Deadline::of(at, totals.is_ready(), now) {
            Deadline::Missed => "overdue",
            Deadline::AtRisk => "due soon",
            Deadline::Ahead => "due",
            Deadline::Met => "ready",
        };
        let (ready, all) = (grouped(totals.ready), grouped(totals.all));
        let named: Vec<_> = due
            .furthest
            .iter()
            .map(|translation| {
                format!(
                    "{} of {}",
                    figure(translation, None),
                    escaped(translation.repository)
                )
            })
            .collect();
        let _ = write!(
            text,
            "- **{}** ({}, {state}): {ready} of {all} ready",
            day(at),
            days(at, now)
        );
        if !named.is_empty() {
            let _ = write!(text, "; {}", named.join(", "));
        }
        text.push('\n');
    }
    if text.is_empty() {
        text
    } else {
        format!("\n### Due\n\n{text}")
    }
}

fn linked(text: &str, url: Option<String>) -> String {
    let text = escaped(text);
    match url {
        // Percent-encoding leaves parentheses alone; angle brackets keep them inside the link.
        Some(url) => format!("[{text}](<{url}>)"),
        None => text,
    }
}

/// Escapes the characters with which Markdown, an HTML tag or an entity begins. An invisible
/// character separates those of mentions, references to issues and bare URLs, which forges look for
/// in the rendered text, after any escape is gone.
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
