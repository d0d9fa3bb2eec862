//! The table: one line for each repository, so that a long list stays a list.

use super::{
    Look,
    cells::{Brush, Cell, name, padded, percent},
    layout::{BAR, Layout, Style, layout},
};
use crate::model::Failure;
use crate::snapshot::{PollStatus, Shown, Snapshot};
use std::{collections::BTreeMap, fmt::Write as _, ops::Range};
use unicode_width::UnicodeWidthStr as _;

/// After so many rows the heading is told again.
const ROWS_BETWEEN_HEADINGS: usize = 40;
/// A code of more columns is cut.
const LONGEST_CODE: usize = 10;

struct Row {
    name: String,
    /// Over the languages that tell a completion, each taken as from 0 to 1.
    mean: Option<f64>,
    /// In the order of the columns.
    cells: Vec<Cell>,
}

/// Repositories by languages, the least complete first. Where the numbers do not fit, each language is a character
/// whose height is its completion, and where even these do not, there is more than one table. What could not be read,
/// and why, is told below.
#[must_use]
pub fn table(snapshot: &Snapshot, status: &PollStatus, look: Look) -> String {
    let codes = codes(snapshot);
    let rows = rows(snapshot, &codes);
    let brush = Brush(look.color);
    let shown_codes: Vec<_> = codes.iter().map(|code| name(code, LONGEST_CODE)).collect();
    let longest_name = rows.iter().map(|row| name(&row.name, usize::MAX).width()).max().unwrap_or(0);
    let layout = layout(look.width, longest_name, &shown_codes);
    let mut text = String::new();
    let mut from = 0;
    while !rows.is_empty() {
        let part = from..(from + layout.per_table).min(codes.len());
        for (index, row) in rows.iter().enumerate() {
            if index % ROWS_BETWEEN_HEADINGS == 0 {
                text += &heading(&layout, &shown_codes, part.clone(), brush);
            }
            text += &line(&layout, row, part.clone(), brush);
        }
        text.push('\n');
        from = part.end;
        if from >= codes.len() {
            break;
        }
    }
    text += &legend(&layout, &rows);
    let complete = status.last.as_ref().is_some_and(|poll| poll.listing.is_none());
    text += &summary(snapshot, &rows, codes.len(), complete);
    text += &failures(snapshot, status, look, brush);
    text
}

/// The codes of all languages, the least complete first, those that tell no completion last.
fn codes(snapshot: &Snapshot) -> Vec<String> {
    let mut ratios: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for reading in
        snapshot.repositories.iter().filter_map(|shown| shown.condition.languages()).flat_map(|all| all.readings.iter())
    {
        let of_code = ratios.entry(&reading.language.code).or_default();
        of_code.extend(reading.completion().map(|completion| completion.get() / snapshot.completion_scale));
    }
    let mut codes: Vec<_> =
        ratios.into_iter().map(|(code, ratios)| (mean(&ratios).unwrap_or(2.0), code.to_owned())).collect();
    codes.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    codes.into_iter().map(|(_, code)| code).collect()
}

/// The repositories that could be read, the least complete first, those that tell no completion last.
fn rows(snapshot: &Snapshot, codes: &[String]) -> Vec<Row> {
    let mut rows: Vec<_> =
        snapshot.repositories.iter().filter_map(|shown| row(shown, codes, snapshot.completion_scale)).collect();
    rows.sort_by(|one, other| one.mean.unwrap_or(2.0).total_cmp(&other.mean.unwrap_or(2.0)));
    rows
}

fn row(shown: &Shown, codes: &[String], scale: f64) -> Option<Row> {
    let by_code: BTreeMap<&str, Cell> = shown
        .condition
        .languages()?
        .readings
        .iter()
        .map(|reading| {
            let completion = reading.completion();
            (
                &*reading.language.code,
                completion.map_or(Cell::Unknown, |completion| Cell::Ratio(completion.get() / scale)),
            )
        })
        .collect();
    let ratios: Vec<_> =
        by_code.values().filter_map(|cell| if let Cell::Ratio(ratio) = cell { Some(*ratio) } else { None }).collect();
    let cells = codes.iter().map(|code| by_code.get(code.as_str()).copied().unwrap_or(Cell::Absent)).collect();
    Some(Row { name: shown.repository.name.to_string(), mean: mean(&ratios), cells })
}

#[expect(clippy::cast_precision_loss, reason = "there are not 2^53 languages")]
fn mean(ratios: &[f64]) -> Option<f64> {
    let sum: f64 = ratios.iter().map(|ratio| ratio.clamp(0.0, 1.0)).sum();
    (!ratios.is_empty()).then(|| sum / ratios.len() as f64)
}

fn heading(layout: &Layout, codes: &[String], part: Range<usize>, brush: Brush) -> String {
    let left = padded("REPOSITORY", layout.name) + "  " + &padded("ALL", BAR + 5);
    let height =
        if layout.upright { codes[part.clone()].iter().map(|code| code.chars().count()).max().unwrap_or(1) } else { 1 };
    let lines = (0..height).map(|line| {
        let mut text = if line + 1 == height { left.clone() } else { " ".repeat(left.width()) };
        text += &lead(layout);
        for index in part.clone() {
            let shown = if layout.upright { letter(&codes[index], height, line) } else { codes[index].clone() };
            text += &" ".repeat(layout.columns[index].saturating_sub(shown.width()));
            text += &shown;
        }
        brush.strong(text.trim_end()) + "\n"
    });
    lines.collect()
}

/// The letter of an upright code at a line of the heading; codes stand on their columns.
fn letter(code: &str, height: usize, line: usize) -> String {
    let missing = height.saturating_sub(code.chars().count());
    let letter = line.checked_sub(missing).and_then(|index| code.chars().nth(index)).unwrap_or(' ');
    // A letter of two columns, or of none, would shift the letters behind it.
    if letter.to_string().width() == 1 { letter.to_string() } else { "?".to_owned() }
}

/// What parts the languages from the percentage where they have no gaps of their own.
fn lead(layout: &Layout) -> String {
    if layout.columns.first() == Some(&1) { " ".to_owned() } else { String::new() }
}

fn line(layout: &Layout, row: &Row, part: Range<usize>, brush: Brush) -> String {
    let mut text = padded(&name(&row.name, layout.name), layout.name) + "  ";
    match row.mean {
        Some(mean) => {
            let number = brush.number(Cell::Ratio(mean));
            let _ = write!(text, "{} {number}%", brush.bar(mean, BAR));
        }
        None if row.cells.iter().all(|cell| *cell == Cell::Absent) => text += &padded("no languages", BAR + 5),
        None => text += &padded("not told", BAR + 5),
    }
    text += &lead(layout);
    for index in part {
        let cell = row.cells[index];
        let (shown, width) = match (layout.style, cell) {
            (Style::Bar, Cell::Ratio(ratio)) => (format!("{} {}", brush.bar(ratio, 6), brush.number(cell)), 10),
            (Style::Bar | Style::Number, _) => (brush.number(cell), 3),
            (Style::Height, _) => (brush.height(cell), 1),
        };
        text += &" ".repeat(layout.columns[index].saturating_sub(width));
        text += &shown;
    }
    text.truncate(text.trim_end().len());
    text + "\n"
}

/// What the signs mean, as far as they occur.
fn legend(layout: &Layout, rows: &[Row]) -> String {
    let occurs = |cell| rows.iter().any(|row| row.cells.contains(&cell));
    let mut signs = Vec::new();
    if layout.style == Style::Height {
        signs.push("▁ below 15 %, █ finished");
    }
    if occurs(Cell::Absent) {
        signs.push("· not a target language");
    }
    if occurs(Cell::Unknown) {
        signs.push("? completion not told");
    }
    if signs.is_empty() { String::new() } else { signs.join("   ") + "\n" }
}

fn summary(snapshot: &Snapshot, rows: &[Row], languages: usize, complete: bool) -> String {
    let means: Vec<_> = rows.iter().filter_map(|row| row.mean).collect();
    let average = mean(&means).map(|mean| format!(", {} % on average", percent(mean))).unwrap_or_default();
    let mut text = format!(
        "{}, {}{average}",
        counted(rows.len(), "repository", "repositories"),
        counted(languages, "language", "languages")
    );
    if snapshot.filtered > 0 {
        let _ = write!(text, "; {} left out", snapshot.filtered);
    } else if rows.is_empty() && complete {
        text += "\nThe account of the key has no repository: connect some to it, or use the key of another account";
    }
    text + "\n"
}

fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// What could not be read, each cause once with the repositories that it befell.
fn failures(snapshot: &Snapshot, status: &PollStatus, look: Look, brush: Brush) -> String {
    let mut lines = Vec::new();
    let last = status.last.as_ref();
    // Where the listing failed, it says why the poll was ended as well.
    if let Some(failure) = last.and_then(|poll| poll.listing.as_ref().or(poll.ended_early.as_ref())) {
        lines.push(brush.alarming(&told("", failure)));
    }
    let mut causes: BTreeMap<(&str, &str), (&Failure, Vec<&str>)> = BTreeMap::new();
    let mut unasked = 0;
    for shown in &snapshot.repositories {
        match shown.condition.failure() {
            Some(failure) => {
                let cause = causes.entry((&failure.what, &failure.hint)).or_insert((failure, Vec::new()));
                cause.1.push(&shown.repository.name);
            }
            None if shown.condition.languages().is_none() => unasked += 1,
            None => {}
        }
    }
    for (failure, names) in causes.into_values() {
        if let [only] = names.as_slice() {
            lines.push(brush.alarming(&told(&format!("{only}: "), failure)));
        } else {
            lines.push(brush.alarming(&told("", failure)));
            lines.extend(names.iter().map(|one| format!("  {}", name(one, look.width.saturating_sub(4).max(10)))));
        }
    }
    if unasked > 0 {
        lines.push(format!("{} not asked for", counted(unasked, "repository was", "repositories were")));
    }
    if lines.is_empty() { String::new() } else { format!("\nCould not be read:\n  {}\n", lines.join("\n  ")) }
}

fn told(whose: &str, failure: &Failure) -> String {
    name(&format!("{whose}{}; {}", failure.what, failure.hint), usize::MAX)
}
