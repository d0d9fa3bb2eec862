//! The table. It has two layouts: one line per repository if all languages fit side by side, and otherwise the languages
//! of each repository wrapped below its line.

use super::{
    Look,
    cells::{FAINT, RED, STRONG, name, padded},
    summary::{self, Cause, Language, Mean, Percent, Row, ratio},
};
use crate::{
    health,
    model::Failure,
    snapshot::{PollOutcome, Shown, Snapshot},
    words::{counted, repositories},
};
use std::fmt::Write as _;
use unicode_width::UnicodeWidthStr as _;

/// The heading is repeated after this many rows.
const ROWS_BETWEEN_HEADINGS: usize = 40;
/// Longer codes are cut, in columns.
const LONGEST_CODE: usize = 10;
/// Columns of a bar, a blank, the percentage and its sign.
const ALL: usize = 15;

/// Repositories by languages, the least complete of both first, and below that what could not be read and why.
#[must_use]
pub fn table(snapshot: &Snapshot, poll: &PollOutcome, look: Look) -> String {
    let scale = snapshot.completion_scale;
    let mut rows = summary::rows(snapshot, snapshot.taken_at);
    rows.retain(Row::is_read);
    rows.sort_by(|one, other| least_first(one.mean.get(), other.mean.get()));
    let mut languages = summary::languages(&rows, scale);
    languages.sort_by(|one, other| least_first(one.mean.get(), other.mean.get()));
    let aligned = side_by_side(&rows, &languages, scale, look);
    let legend = legend(&rows, aligned.as_ref().map(|_| languages.len()));
    let mut text = aligned.unwrap_or_else(|| wrapped(&rows, &languages, scale, look));
    if !text.is_empty() {
        text += "\n";
    }
    text + &legend + &totals(snapshot, &rows, &languages, poll) + &failures(snapshot, poll, look)
}

/// What reports no completion comes last.
fn least_first(one: Option<f64>, other: Option<f64>) -> std::cmp::Ordering {
    one.unwrap_or(f64::MAX)
        .total_cmp(&other.unwrap_or(f64::MAX))
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
    languages: &[Language<'_>],
    scale: f64,
    look: Look,
) -> Option<String> {
    let title = "REPOSITORY";
    let longest_name = longest_name(rows).max(title.len());
    let codes: Vec<_> = languages
        .iter()
        .map(|language| name(language.code, LONGEST_CODE))
        .collect();
    // Five columns are four of a percentage, and a blank.
    let widths: Vec<_> = codes.iter().map(|code| (code.width() + 1).max(5)).collect();
    let beside_names = 2 + ALL + widths.iter().sum::<usize>();
    let names = look.width.checked_sub(beside_names)?.min(longest_name);
    if names < longest_name.min((look.width * 3 / 10).max(20)) {
        return None;
    }
    let mut heading = padded(title, names) + "  " + &padded("ALL", ALL);
    for (code, width) in codes.iter().zip(&widths) {
        heading += &(" ".repeat(width - code.width()) + code);
    }
    let mut text = String::new();
    for (index, row) in rows.iter().enumerate() {
        if index % ROWS_BETWEEN_HEADINGS == 0 {
            text += &(look.paint(STRONG, heading.trim_end()) + "\n");
        }
        text += &(padded(&shown_name(row, names), names) + "  " + &all(row, look));
        for (language, &width) in languages.iter().zip(&widths) {
            text += &match row.reading(language.code) {
                Some(reading) => look.number(ratio(reading, scale), width),
                None => look.paint(FAINT, &format!("{:>width$}", '·')),
            };
        }
        text.truncate(text.trim_end().len());
        text += "\n";
    }
    Some(text)
}

/// A line for each repository, and its languages below it, in as many lines as necessary.
fn wrapped(rows: &[Row<'_>], languages: &[Language<'_>], scale: f64, look: Look) -> String {
    let names = longest_name(rows)
        .min(look.width.saturating_sub(2 + ALL))
        .max(1);
    let codes = languages
        .iter()
        .map(|language| name(language.code, LONGEST_CODE).width())
        .max()
        .unwrap_or(0);
    // A code, a blank, four columns of a percentage, and three blanks before the next; the first stands after two.
    let in_a_line = ((look.width + 1) / (codes + 8)).max(1);
    let mut text = String::new();
    for row in rows {
        let heading = padded(&shown_name(row, names), names);
        text += &(look.paint(STRONG, &heading) + "  " + all(row, look).trim_end() + "\n");
        let mut readings: Vec<_> = row
            .readings
            .iter()
            .map(|one| (ratio(one, scale), &*one.language.code))
            .collect();
        readings.sort_by(|(one, _), (other, _)| least_first(*one, *other));
        for line in readings.chunks(in_a_line) {
            let cell = |(ratio, code): &(_, &str)| {
                padded(&name(code, LONGEST_CODE), codes) + &look.number(*ratio, 5)
            };
            text +=
                &("  ".to_owned() + &line.iter().map(cell).collect::<Vec<_>>().join("   ") + "\n");
        }
    }
    text
}

/// The bar of a repository, and its percentage.
fn all(row: &Row<'_>, look: Look) -> String {
    match row.mean.get() {
        Some(mean) => format!("{} {}%", look.bar(mean), look.number(Some(mean), 3)),
        None if row.readings.is_empty() => padded("no languages", ALL),
        None => padded("not reported", ALL),
    }
}

/// What the signs mean, if they occur; `columns` is how many languages have a column.
fn legend(rows: &[Row<'_>], columns: Option<usize>) -> String {
    let mut signs = Vec::new();
    if rows
        .iter()
        .any(|row| columns.is_some_and(|columns| row.readings.len() < columns))
    {
        signs.push("· not a target language");
    }
    if rows
        .iter()
        .flat_map(|row| row.readings)
        .any(|reading| reading.completion().is_none())
    {
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
    languages: &[Language<'_>],
    poll: &PollOutcome,
) -> String {
    let languages = counted(languages.len(), "language", "languages");
    let mut text = format!("{}, {languages}", repositories(rows.len()));
    if let Some(mean) = Mean::of(rows).get() {
        let _ = write!(text, ", {} % on average", Percent(mean));
    }
    if snapshot.filtered > 0 {
        let _ = write!(text, "; {} left out", snapshot.filtered);
    }
    if let (None, Some(finding)) = (&poll.listing, health::nothing_selected(snapshot)) {
        let _ = write!(text, "\n{}", finding.line());
    }
    text + "\n"
}

/// What could not be read, each cause once with the repositories that it affects.
fn failures(snapshot: &Snapshot, poll: &PollOutcome, look: Look) -> String {
    let say = |whose: String, failure: &Failure| {
        look.paint(
            RED,
            &name(
                &format!("{whose}{}; {}", failure.what, failure.hint),
                usize::MAX,
            ),
        )
    };
    let mut lines: Vec<_> = poll
        .listing
        .iter()
        .chain(&poll.ended_early)
        .take(1)
        .map(|failure| say(String::new(), failure))
        .collect();
    for Cause {
        repositories,
        failure,
    } in summary::causes(snapshot)
    {
        if let [only] = repositories[..] {
            lines.push(say(format!("{only}: "), failure));
        } else {
            lines.push(say(
                format!("{} repositories, such as ", repositories.len()),
                failure,
            ));
            lines.extend(
                repositories
                    .iter()
                    .map(|one| format!("  {}", name(one, look.width.saturating_sub(4).max(10)))),
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
