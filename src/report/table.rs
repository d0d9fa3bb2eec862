//! The table. It has two layouts: one line per repository if all languages fit side by side, and otherwise the languages
//! of each repository wrapped below its line.

use super::{
    Terminal,
    cells::{FAINT, GREEN, RED, STRONG, YELLOW, name, padded},
    summary::{self, Cause, Deadline, Due, Percent, Row, Totals, Translation, day, days},
};
use crate::{
    health,
    model::Failure,
    snapshot::{PollOutcome, Snapshot},
    words::{counted, grouped, repositories},
};
use std::{cmp::Ordering, fmt::Write as _};
use unicode_width::UnicodeWidthStr as _;

/// The heading is repeated after this many rows.
const ROWS_BETWEEN_HEADINGS: usize = 40;
/// Longer codes are cut, in columns.
const LONGEST_CODE: usize = 10;
/// Columns of a bar, a blank, the percentage and its sign.
const ALL: usize = 15;
/// Columns of how many languages are ready, and of the blanks before it.
const READY: usize = 9;
/// How many translations are named for each date.
const MOST_NAMED: usize = 3;

/// Repositories by languages, the furthest behind of both first, and below that what is due, and what could not be read
/// and why.
pub fn table(snapshot: &Snapshot, poll: &PollOutcome, terminal: Terminal) -> String {
    let mut rows = summary::rows(snapshot, None, snapshot.taken_at);
    rows.retain(Row::is_read);
    furthest_first(&mut rows, |row| row.totals.missing.get());
    let mut languages = summary::languages(&rows, snapshot.taken_at);
    furthest_first(&mut languages, |(_, totals)| totals.missing.get());
    let aligned = side_by_side(&rows, &languages, terminal);
    let legend = legend(&rows, aligned.as_ref().map(|_| languages.len()));
    let mut text = aligned.unwrap_or_else(|| wrapped(&rows, &languages, terminal));
    if !text.is_empty() {
        text += "\n";
    }
    text += &legend;
    text += &totals(snapshot, &rows, &languages, poll);
    text += &due(snapshot, &rows, terminal);
    text + &failures(snapshot, poll, terminal)
}

/// Sorts by what is missing until all is ready. What reports no completion comes last.
fn furthest_first<T>(items: &mut [T], missing: impl Fn(&T) -> Option<f64>) {
    items.sort_by(|one, other| {
        let order = missing(other).partial_cmp(&missing(one));
        order.unwrap_or(Ordering::Equal)
    });
}

fn shown_name(row: &Row<'_>, width: usize) -> String {
    name(&row.shown.repository.name, width)
}

fn longest_name(rows: &[Row<'_>]) -> usize {
    rows.iter()
        .map(|row| shown_name(row, usize::MAX).width())
        .max()
        .unwrap_or(0)
}

/// A line for each repository, with a column for each language; `None` if these leave too little room for names.
fn side_by_side(
    rows: &[Row<'_>],
    languages: &[(&str, Totals)],
    terminal: Terminal,
) -> Option<String> {
    let title = "REPOSITORY";
    let mut codes = String::new();
    let mut widths = Vec::new();
    for (code, _) in languages {
        let code = name(code, LONGEST_CODE);
        // Five columns are four of a percentage, and a blank.
        let width = (code.width() + 1).max(5);
        codes += &(" ".repeat(width - code.width()) + &code);
        widths.push(width);
    }
    let longest_name = longest_name(rows).max(title.len());
    let beside_names = 2 + ALL + READY + codes.width();
    let names = terminal.width.checked_sub(beside_names)?.min(longest_name);
    if names < longest_name.min((terminal.width * 3 / 10).max(20)) {
        return None;
    }
    let heading = format!("{title:names$}  {:ALL$}{:>READY$}{codes}", "ALL", "READY");
    let mut text = String::new();
    for (index, row) in rows.iter().enumerate() {
        if index % ROWS_BETWEEN_HEADINGS == 0 {
            text += &(terminal.paint(STRONG, heading.trim_end()) + "\n");
        }
        text += &(padded(&shown_name(row, names), names) + "  " + &all(row, terminal));
        for ((code, _), &width) in languages.iter().zip(&widths) {
            text += &match row.language(code) {
                Some(translation) => terminal.number(&translation, width),
                None => terminal.paint(FAINT, &format!("{:>width$}", '·')),
            };
        }
        end_line(&mut text);
    }
    Some(text)
}

/// A line for each repository, and its languages below it, in as many lines as necessary.
fn wrapped(rows: &[Row<'_>], languages: &[(&str, Totals)], terminal: Terminal) -> String {
    let names = longest_name(rows)
        .min(terminal.width.saturating_sub(2 + ALL + READY))
        .max(1);
    let codes = languages
        .iter()
        .map(|(code, _)| name(code, LONGEST_CODE).width())
        .max()
        .unwrap_or(0);
    // A code, a blank, four columns of a percentage, and three blanks before the next; the first stands after two.
    let in_a_line = ((terminal.width + 1) / (codes + 8)).max(1);
    let mut text = String::new();
    for row in rows {
        let heading = padded(&shown_name(row, names), names);
        text += &(terminal.paint(STRONG, &heading) + "  " + &all(row, terminal));
        end_line(&mut text);
        let mut translations: Vec<_> = row.translations().collect();
        furthest_first(&mut translations, Translation::missing);
        for line in translations.chunks(in_a_line) {
            for translation in line {
                let code = padded(&name(translation.code(), LONGEST_CODE), codes);
                let number = terminal.number(translation, 5);
                let _ = write!(text, "  {code}{number} ");
            }
            end_line(&mut text);
        }
    }
    text
}

/// Without blanks at its end.
fn end_line(text: &mut String) {
    text.truncate(text.trim_end().len());
    text.push('\n');
}

/// The bar of a repository, its percentage, and how many of its languages are ready.
fn all(row: &Row<'_>, terminal: Terminal) -> String {
    let totals = &row.totals;
    if totals.all == 0 {
        return format!("{:1$}", "no languages", ALL + READY);
    }
    let bar = match totals.mean.get() {
        Some(mean) => terminal.bar(mean, totals.missing.get().unwrap_or_default()),
        None => format!("{:ALL$}", "not reported"),
    };
    let counts = format!("{}/{}", grouped(totals.ready), grouped(totals.all));
    format!("{bar}{counts:>READY$}")
}

/// What the signs mean, if they occur; `columns` is how many languages have a column.
fn legend(rows: &[Row<'_>], columns: Option<usize>) -> String {
    let mut signs = Vec::new();
    if columns.is_some_and(|columns| rows.iter().any(|row| row.totals.all < columns)) {
        signs.push("· not a target language");
    }
    let mut translations = rows.iter().flat_map(Row::translations);
    if translations.any(|translation| translation.ratio.is_none()) {
        signs.push("? no completion reported");
    }
    if signs.is_empty() {
        String::new()
    } else {
        signs.join("   ") + "\n"
    }
}

fn totals(
    snapshot: &Snapshot,
    rows: &[Row<'_>],
    languages: &[(&str, Totals)],
    poll: &PollOutcome,
) -> String {
    let mut text = String::new();
    let Totals {
        ready, all, mean, ..
    } = Totals::of(rows);
    if all > 0 {
        let all = counted(all, "translation", "translations");
        let _ = write!(text, "{} of {all} ready", grouped(ready));
        if let Some(mean) = mean.get() {
            let _ = write!(text, ", {} % on average", Percent(mean));
        }
        text += "\n";
    }
    let read = if rows.len() < snapshot.repositories.len() || poll.listing.is_some() {
        " read"
    } else {
        ""
    };
    let languages = counted(languages.len(), "language", "languages");
    let _ = write!(text, "{}{read}, {languages}", repositories(rows.len()));
    if snapshot.filtered > 0 {
        let _ = write!(text, "; {} left out", snapshot.filtered);
    }
    if let (None, Some(finding)) = (&poll.listing, health::nothing_selected(snapshot)) {
        let _ = write!(text, "\n{}", finding.line());
    }
    text + "\n"
}

/// What must be ready by which date, and what is furthest from it.
fn due(snapshot: &Snapshot, rows: &[Row<'_>], terminal: Terminal) -> String {
    let now = snapshot.taken_at;
    let mut text = String::new();
    for (at, due) in summary::dates(rows, MOST_NAMED, now) {
        let totals = &due.totals;
        let style = match Deadline::of(at, totals.is_ready(), now) {
            Deadline::Missed => RED,
            Deadline::AtRisk => YELLOW,
            Deadline::Ahead => "",
            Deadline::Met => GREEN,
        };
        let date = format!("{}, {}", day(at), days(at, now));
        let counts = format!("{} of {} ready", grouped(totals.ready), grouped(totals.all));
        let _ = write!(text, "\n  {}: {counts}", terminal.paint(style, &date));
        text += &named(&due);
    }
    if text.is_empty() {
        text
    } else {
        format!("\nDue:{text}\n")
    }
}

/// There is no language at all, so that nothing can be ready.
#[derive(Debug, thiserror::Error)]
#[error(
    "no repository has a target language, so that none is ready; check the filters and the account of the key"
)]
pub struct NoLanguages;

/// What is not ready, the furthest behind first, for people; `None` if everything is ready.
///
/// # Errors
/// There is no language.
pub fn not_ready(snapshot: &Snapshot) -> Result<Option<String>, NoLanguages> {
    /// More are counted only.
    const MOST: usize = 20;
    let mut all = Due::default();
    for row in summary::rows(snapshot, None, snapshot.taken_at) {
        for translation in row.translations() {
            all.add(translation, MOST, snapshot.taken_at);
        }
    }
    match all.totals {
        Totals { all: 0, .. } => Err(NoLanguages),
        totals if totals.is_ready() => Ok(None),
        totals => Ok(Some(format!(
            "{} of {} not at their targets:{}",
            grouped(totals.behind()),
            counted(totals.all, "translation", "translations"),
            named(&all)
        ))),
    }
}

/// A line for each of those that are named, and one for how many more are not ready.
fn named(due: &Due<'_>) -> String {
    let mut text = String::new();
    for translation in &due.furthest {
        let whose = format!("{} of {}", translation.code(), translation.repository);
        let ratio = match translation.ratio {
            // Rounded down, so that only what is ready looks so.
            Some(ratio) => ((ratio * 1e4 + 1e-9).floor() / 1e4).to_string(),
            None => "unknown (no completion is reported)".to_owned(),
        };
        let target = translation.target.ratio;
        let _ = write!(
            text,
            "\n    {}: {ratio}, target {target}",
            name(&whose, usize::MAX)
        );
        if let Some(due) = translation.target.due {
            let _ = write!(text, ", due {due}");
        }
    }
    let more = due.totals.behind() - due.furthest.len();
    if more > 0 {
        let _ = write!(text, "\n    and {} more", grouped(more));
    }
    text
}

/// What could not be read, each cause once with the repositories that it affects.
fn failures(snapshot: &Snapshot, poll: &PollOutcome, terminal: Terminal) -> String {
    let mut text = String::new();
    let say = |whose: &str, failure: &Failure| {
        let line = format!("{whose}{}; {}", failure.what, failure.hint);
        let line = terminal.paint(RED, &name(&line, usize::MAX));
        format!("\n  {line}")
    };
    if let Some(failure) = poll.cut_short() {
        text += &say("", failure);
    }
    let width = terminal.width.saturating_sub(4).max(10);
    for Cause {
        repositories,
        failure,
    } in summary::causes(snapshot, |_| true)
    {
        if let [only] = repositories[..] {
            text += &say(&format!("{only}: "), failure);
        } else {
            let many = format!("{} repositories, such as ", repositories.len());
            text += &say(&many, failure);
            for one in repositories {
                let _ = write!(text, "\n    {}", name(one, width));
            }
        }
    }
    let never_asked = snapshot
        .count(|condition| condition.languages().is_none() && condition.failure().is_none());
    if never_asked > 0 {
        let _ = write!(text, "\n  {} not asked for", repositories(never_asked));
    }
    if text.is_empty() {
        text
    } else {
        format!("\nCould not be read:{text}\n")
    }
}
