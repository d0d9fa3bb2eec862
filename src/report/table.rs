//! The table. It has two layouts: one line per repository if all languages fit side by side, and otherwise the languages
//! of each repository wrapped below its line.

use crate::{
    diagnosis,
    domain::{
        Failure, Lasting,
        snapshot::{PollOutcome, Snapshot},
    },
    support::{
        escape::is_unprintable,
        humanize::{counted, grouped, repositories},
    },
};
use crate::{
    domain::readiness::{self, Cause, Deadline, Due, Row, Totals, Translation, day, days, percent},
    report::Terminal,
};
use std::{cmp::Ordering, fmt::Write as _};
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// Styles, by their numbers in ECMA-48 (SGR).
const STRONG: &str = "1";
const FAINT: &str = "2";
const RED: &str = "31";
const GREEN: &str = "32";
const YELLOW: &str = "33";

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
    let mut rows = readiness::rows(snapshot, None, snapshot.taken_at);
    rows.retain(Row::is_read);
    furthest_first(&mut rows, |row| row.totals.missing.get());
    let mut languages = readiness::languages(&rows, snapshot.taken_at);
    furthest_first(&mut languages, |(_, totals)| totals.missing.get());
    let aligned = side_by_side(&rows, &languages, terminal);
    let mut signs = Vec::new();
    if aligned.is_some() && rows.iter().any(|row| row.totals.all < languages.len()) {
        signs.push("· not a target language");
    }
    let mut translations = rows.iter().flat_map(Row::translations);
    if translations.any(|translation| translation.ratio.is_none()) {
        signs.push("? no completion reported");
    }
    let mut lines = aligned.unwrap_or_else(|| wrapped(&rows, &languages, terminal));
    if !lines.is_empty() {
        lines.push(String::new());
    }
    if !signs.is_empty() {
        lines.push(signs.join("   "));
    }
    lines.extend(totals(snapshot, &rows, languages.len(), poll));
    for (heading, below) in [
        ("\nDue:", due(snapshot, &rows, terminal)),
        ("\nCould not be read:", failures(snapshot, poll, terminal)),
    ] {
        if !below.is_empty() {
            lines.push(heading.to_owned());
            lines.extend(below);
        }
    }
    let ended = lines.iter().map(|line| line.trim_end().to_owned() + "\n");
    ended.collect()
}

/// Sorts by what is missing until all is ready. What reports no completion comes last.
fn furthest_first<T>(items: &mut [T], missing: impl Fn(&T) -> Option<f64>) {
    items.sort_by(|one, other| {
        missing(other)
            .partial_cmp(&missing(one))
            .unwrap_or(Ordering::Equal)
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
) -> Option<Vec<String>> {
    let title = "REPOSITORY";
    let mut codes = String::new();
    let mut columns = Vec::new();
    for (code, _) in languages {
        let shown = name(code, LONGEST_CODE);
        // Five columns are four of a percentage, and a blank.
        let width = (shown.width() + 1).max(5);
        codes += &(" ".repeat(width - shown.width()) + &shown);
        columns.push((code, width));
    }
    let longest_name = longest_name(rows).max(title.len());
    let beside_names = 2 + ALL + READY + codes.width();
    let names = terminal.width.checked_sub(beside_names)?.min(longest_name);
    if names < longest_name.min((terminal.width * 3 / 10).max(20)) {
        return None;
    }
    let heading = format!("{title:names$}  {:ALL$}{:>READY$}{codes}", "ALL", "READY");
    let mut lines = Vec::new();
    for rows in rows.chunks(ROWS_BETWEEN_HEADINGS) {
        lines.push(terminal.paint(STRONG, &heading));
        for row in rows {
            let mut line = padded(&shown_name(row, names), names) + "  " + &all(row, terminal);
            for &(code, width) in &columns {
                line += &match row.language(code) {
                    Some(translation) => terminal.number(&translation, width),
                    None => terminal.paint(FAINT, &format!("{:>width$}", '·')),
                };
            }
            lines.push(line);
        }
    }
    Some(lines)
}

/// A line for each repository, and its languages below it, in as many lines as necessary.
fn wrapped(rows: &[Row<'_>], languages: &[(&str, Totals)], terminal: Terminal) -> Vec<String> {
    let names = longest_name(rows).min(terminal.width.saturating_sub(2 + ALL + READY));
    let codes = languages
        .iter()
        .map(|(code, _)| name(code, LONGEST_CODE).width())
        .max()
        .unwrap_or(0);
    // A code, a blank, four columns of a percentage, and three blanks before the next; the first stands after two.
    let in_a_line = ((terminal.width + 1) / (codes + 8)).max(1);
    let mut lines = Vec::new();
    for row in rows {
        let heading = padded(&shown_name(row, names), names);
        lines.push(terminal.paint(STRONG, &heading) + "  " + &all(row, terminal));
        let mut translations: Vec<_> = row.translations().collect();
        furthest_first(&mut translations, Translation::missing);
        for some in translations.chunks(in_a_line) {
            let mut line = Vec::new();
            for translation in some {
                let code = padded(&name(translation.code(), LONGEST_CODE), codes);
                line.push(format!("  {code}{}", terminal.number(translation, 5)));
            }
            lines.push(line.join(" "));
        }
    }
    lines
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

/// How much is ready, and what was read.
fn totals(
    snapshot: &Snapshot,
    rows: &[Row<'_>],
    languages: usize,
    poll: &PollOutcome,
) -> Vec<String> {
    let mut lines = Vec::new();
    let Totals {
        ready, all, mean, ..
    } = Totals::of(rows);
    if all > 0 {
        let all = counted(all, "translation", "translations");
        let mut line = format!("{} of {all} ready", grouped(ready));
        if let Some(mean) = mean.get() {
            let _ = write!(line, ", {} % on average", percent(mean));
        }
        lines.push(line);
    }
    let is_part = rows.len() < snapshot.repositories.len() || poll.listing.is_some();
    let read = if is_part { " read" } else { "" };
    let languages = counted(languages, "language", "languages");
    let mut line = format!("{}{read}, {languages}", repositories(rows.len()));
    if snapshot.filtered > 0 {
        let _ = write!(line, "; {} left out", snapshot.filtered);
    }
    lines.push(line);
    if poll.listing.is_none() {
        lines.extend(diagnosis::nothing_selected(snapshot).map(|finding| finding.line()));
    }
    lines
}

/// What must be ready by which date, and what is furthest from it.
fn due(snapshot: &Snapshot, rows: &[Row<'_>], terminal: Terminal) -> Vec<String> {
    let now = snapshot.taken_at;
    let mut lines = Vec::new();
    for (at, due) in readiness::dates(rows, MOST_NAMED, now) {
        let totals = &due.totals;
        let style = match Deadline::of(at, totals.is_ready(), now) {
            Deadline::Missed => RED,
            Deadline::AtRisk => YELLOW,
            Deadline::Ahead => "",
            Deadline::Met => GREEN,
        };
        let date = terminal.paint(style, &format!("{}, {}", day(at), days(at, now)));
        let (ready, all) = (grouped(totals.ready), grouped(totals.all));
        lines.push(format!("  {date}: {ready} of {all} ready"));
        lines.extend(named(&due));
    }
    lines
}

/// Why not everything is ready, for people.
#[derive(Debug, thiserror::Error)]
pub enum NotReady {
    #[error(
        "no repository has a target language, so that none is ready; check the filters and the account of the key"
    )]
    NoLanguages,
    /// With what is not ready, the furthest behind first.
    #[error("{0}")]
    Behind(String),
}

/// Whether everything is ready.
pub fn all_ready(snapshot: &Snapshot) -> Result<(), NotReady> {
    /// More are counted only.
    const MOST: usize = 20;
    let mut all = Due::default();
    for row in readiness::rows(snapshot, None, snapshot.taken_at) {
        for translation in row.translations() {
            all.add(translation, MOST, snapshot.taken_at);
        }
    }
    let totals = &all.totals;
    if totals.all == 0 {
        return Err(NotReady::NoLanguages);
    }
    if totals.is_ready() {
        return Ok(());
    }
    Err(NotReady::Behind(format!(
        "{} of {} not at their targets:\n{}",
        grouped(totals.behind()),
        counted(totals.all, "translation", "translations"),
        named(&all).join("\n")
    )))
}

/// A line for each of those that are named, and one for how many more are not ready.
fn named(due: &Due<'_>) -> Vec<String> {
    let mut lines = Vec::new();
    for translation in &due.furthest {
        let whose = format!("{} of {}", translation.code(), translation.repository);
        let ratio = match translation.ratio {
            // Rounded down, so that only what is ready looks so.
            Some(ratio) => ((ratio * 1e4 + 1e-9).floor() / 1e4).to_string(),
            None => "unknown (no completion is reported)".to_owned(),
        };
        let whose = name(&whose, usize::MAX);
        let mut line = format!("    {whose}: {ratio}, target {}", translation.target.ratio);
        if let Some(due) = translation.target.due {
            let _ = write!(line, ", due {due}");
        }
        lines.push(line);
    }
    let more = due.totals.behind() - due.furthest.len();
    if more > 0 {
        lines.push(format!("    and {} more", grouped(more)));
    }
    lines
}

/// What could not be read, each cause once with the repositories that it affects.
fn failures(snapshot: &Snapshot, poll: &PollOutcome, terminal: Terminal) -> Vec<String> {
    let mut lines = Vec::new();
    let line = |whose: &str, failure: &Failure| {
        let line = format!("{whose}{}; {}", failure.what, failure.hint);
        "  ".to_owned() + &terminal.paint(RED, &name(&line, usize::MAX))
    };
    lines.extend(poll.cut_short().map(|lasting| line("", &lasting.failure)));
    let width = terminal.width.saturating_sub(4).max(10);
    for Cause {
        repositories,
        lasting: Lasting { failure, .. },
    } in readiness::causes(snapshot, |_| true)
    {
        if let [only] = repositories[..] {
            lines.push(line(&format!("{only}: "), failure));
        } else {
            let many = format!("{} repositories, such as ", repositories.len());
            lines.push(line(&many, failure));
            for one in repositories {
                lines.push(format!("    {}", name(one, width)));
            }
        }
    }
    let never_asked = snapshot
        .count(|condition| condition.languages().is_none() && condition.failure().is_none());
    if never_asked > 0 {
        lines.push(format!("  {} not asked for", repositories(never_asked)));
    }
    lines
}

impl Terminal {
    /// `text` in a style, if there are any.
    fn paint(self, style: &str, text: &str) -> String {
        if self.color && !text.is_empty() {
            format!("\x1b[{style}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }

    /// By how much is missing until it is ready: nothing is green, more than a tenth yellow, more than half red;
    /// otherwise the terminal's own colour.
    fn graded(self, missing: f64, text: &str) -> String {
        match missing {
            ..=0.0 => self.paint(GREEN, text),
            ..=0.1 => text.to_owned(),
            ..=0.5 => self.paint(YELLOW, text),
            _ => self.paint(RED, text),
        }
    }

    /// A bar of ten columns and a percentage, rounded down so that only what is complete looks so.
    fn bar(self, mean: f64, missing: f64) -> String {
        let full = (1..=10_u8)
            .filter(|tenth| mean * 10.0 >= f64::from(*tenth))
            .count();
        let bar = self.graded(missing, &"█".repeat(full));
        let rest = self.paint(FAINT, &"·".repeat(10 - full));
        let percent = self.graded(missing, &format!("{:>3}", percent(mean)));
        format!("{bar}{rest} {percent}%")
    }

    /// A completion in at least `width` columns, `?` if the API reported none.
    fn number(self, translation: &Translation<'_>, width: usize) -> String {
        match translation.ratio {
            None => format!("{:>width$}", "?"),
            Some(ratio) => self.graded(
                translation.missing().unwrap_or_default(),
                &format!("{:>width$}", percent(ratio)),
            ),
        }
    }
}

/// A name without control characters, in at most `width` columns; what does not fit is cut off at the front, where owners
/// repeat.
fn name(text: &str, width: usize) -> String {
    let shown = text.replace(is_unprintable, "\u{fffd}");
    if shown.width() <= width {
        return shown;
    }
    // The ellipsis needs a column.
    let mut room = width;
    let cut = shown.trim_end_matches(|c: char| {
        room = room.saturating_sub(c.width().unwrap_or(0));
        room > 0
    });
    // A combining mark would combine with the ellipsis.
    let kept = shown[cut.len()..].trim_start_matches(|c: char| c.width() == Some(0));
    format!("…{kept}")
}

/// `text`, padded to `width` columns.
fn padded(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(text.width())))
}
