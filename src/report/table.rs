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
    snapshot::{PollOutcome, Shown, Snapshot},
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
    rows.sort_by(|one, other| furthest_first(&one.totals, &other.totals));
    let mut languages = summary::languages(&rows, snapshot.taken_at);
    languages.sort_by(|(_, one), (_, other)| furthest_first(one, other));
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

/// What reports no completion comes last.
fn furthest_first(one: &Totals, other: &Totals) -> Ordering {
    let missing = |totals: &Totals| totals.missing.get().unwrap_or(f64::MIN);
    missing(other).total_cmp(&missing(one))
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
    let longest_name = longest_name(rows).max(title.len());
    let codes: Vec<_> = languages
        .iter()
        .map(|(code, _)| name(code, LONGEST_CODE))
        .collect();
    // Five columns are four of a percentage, and a blank.
    let widths: Vec<_> = codes.iter().map(|code| (code.width() + 1).max(5)).collect();
    let beside_names = 2 + ALL + READY + widths.iter().sum::<usize>();
    let names = terminal.width.checked_sub(beside_names)?.min(longest_name);
    if names < longest_name.min((terminal.width * 3 / 10).max(20)) {
        return None;
    }
    let mut heading = format!(
        "{}  {:ALL$}{:>READY$}",
        padded(title, names),
        "ALL",
        "READY"
    );
    for (code, width) in codes.iter().zip(&widths) {
        heading += &(" ".repeat(width - code.width()) + code);
    }
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
        text.truncate(text.trim_end().len());
        text += "\n";
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
        text += &(terminal.paint(STRONG, &heading) + "  " + all(row, terminal).trim_end() + "\n");
        let mut translations: Vec<_> = row.translations().collect();
        // What reports no completion comes last.
        translations.sort_by(|one, other| {
            other
                .missing()
                .partial_cmp(&one.missing())
                .unwrap_or(Ordering::Equal)
        });
        for line in translations.chunks(in_a_line) {
            let cell = |translation: &Translation<'_>| {
                padded(&name(translation.code(), LONGEST_CODE), codes)
                    + &terminal.number(translation, 5)
            };
            let cells: Vec<_> = line.iter().map(cell).collect();
            let _ = writeln!(text, "  {}", cells.join("   "));
        }
    }
    text
}

/// The bar of a repository, its percentage, and how many of its languages are ready.
fn all(row: &Row<'_>, terminal: Terminal) -> String {
    let Totals {
        ready,
        all,
        mean,
        missing,
        ..
    } = row.totals;
    let bar = match mean.get() {
        Some(mean) => terminal.bar(mean, missing.get().unwrap_or_default()),
        None if all == 0 => padded("no languages", ALL),
        None => padded("not reported", ALL),
    };
    let counts = if all == 0 {
        String::new()
    } else {
        format!("{}/{}", grouped(ready), grouped(all))
    };
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
    let languages = counted(languages.len(), "language", "languages");
    let _ = write!(text, "{} read, {languages}", repositories(rows.len()));
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
    for (at, Due { totals, furthest }) in summary::dates(rows, MOST_NAMED, now) {
        let style = match Deadline::of(at, totals.is_ready(), now) {
            Deadline::Missed => RED,
            Deadline::AtRisk => YELLOW,
            Deadline::Ahead => "",
            Deadline::Met => GREEN,
        };
        let date = format!("{}, {}", day(at), days(at, now));
        let counts = format!("{} of {} ready", grouped(totals.ready), grouped(totals.all));
        let _ = write!(text, "\n  {}: {counts}", terminal.paint(style, &date));
        text += &named(&furthest, totals.behind());
    }
    if text.is_empty() {
        text
    } else {
        format!("\nDue:{text}\n")
    }
}

/// There is no language at all, so that nothing can be ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
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
    let rows = summary::rows(snapshot, None, snapshot.taken_at);
    let totals = Totals::of(&rows);
    if totals.all == 0 {
        return Err(NoLanguages);
    }
    if totals.is_ready() {
        return Ok(None);
    }
    let behind = totals.behind();
    let text = format!(
        "{} of {} not at their targets:{}",
        grouped(behind),
        counted(totals.all, "translation", "translations"),
        named(&summary::furthest(&rows, MOST), behind)
    );
    Ok(Some(text))
}

/// A line for each of these translations, and one for how many of all that are behind they are not.
fn named(furthest: &[Translation<'_>], behind: usize) -> String {
    let mut text = String::new();
    for translation in furthest {
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
    let more = behind - furthest.len();
    if more > 0 {
        let _ = write!(text, "\n    and {} more", grouped(more));
    }
    text
}

/// What could not be read, each cause once with the repositories that it affects.
fn failures(snapshot: &Snapshot, poll: &PollOutcome, terminal: Terminal) -> String {
    let say = |whose: String, failure: &Failure| {
        terminal.paint(
            RED,
            &name(
                &format!("{whose}{}; {}", failure.what, failure.hint),
                usize::MAX,
            ),
        )
    };
    let mut lines: Vec<_> = poll
        .cut_short()
        .into_iter()
        .map(|failure| say(String::new(), failure))
        .collect();
    for Cause {
        repositories,
        failure,
    } in summary::causes(snapshot, |_| true)
    {
        if let [only] = repositories[..] {
            lines.push(say(format!("{only}: "), failure));
        } else {
            lines.push(say(
                format!("{} repositories, such as ", repositories.len()),
                failure,
            ));
            lines.extend(
                repositories.iter().map(|one| {
                    format!("  {}", name(one, terminal.width.saturating_sub(4).max(10)))
                }),
            );
        }
    }
    let never_asked = |shown: &&Shown| {
        shown.condition.languages().is_none() && shown.condition.failure().is_none()
    };
    let never_asked = snapshot.repositories.iter().filter(never_asked).count();
    if never_asked > 0 {
        lines.push(format!("{} not asked for", repositories(never_asked)));
    }
    if lines.is_empty() {
        String::new()
    } else {
        format!("\nCould not be read:\n  {}\n", lines.join("\n  "))
    }
}
