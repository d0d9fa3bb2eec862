//! The table for a terminal: a line for each repository, the furthest behind first, then the dates
//! and the failures.

use super::{
    Digest, cell, not_judged, ready, verdict,
    words::{day, days, figure, fraction, percent},
};
use crate::{
    diagnosis,
    domain::{
        Failure, TranslationProblem,
        document::{self, Cause, Document, Row, Totals},
    },
    report::{Report, Terminal},
    support::humanize::{counted, repositories},
};
use comfy_table::{Cell, ColumnConstraint, ContentArrangement, Table, presets::NOTHING};
use std::fmt::Write as _;

/// The parameters of styles in ECMA-48 (SGR).
const STRONG: &str = "1";
const FAINT: &str = "2";
const RED: &str = "31";
const GREEN: &str = "32";
const YELLOW: &str = "33";

/// The maximum number of translations named for a date.
const MOST_NAMED: usize = 3;

/// The width of a terminal, in columns, from which percentages have bars.
const ROOM_FOR_BARS: usize = 60;

/// The character that keeps a code and its percentage on one line; [`table`] replaces it by a
/// space.
const NO_BREAK: char = '\u{a0}';

/// Lays out the repositories, the totals, the dates and the failures.
pub fn table(report: &Report, terminal: Terminal) -> String {
    let document = &*report.document;
    let digest = Digest::of(report);
    let mut lines = Vec::new();
    if let Some((heading, items)) = report.changes() {
        lines.push(heading);
        lines.extend(items.iter().map(|item| cell(&format!("  {item}"))));
        lines.push(String::new());
    }
    if !digest.rows.is_empty() {
        lines.extend(repository_lines(report, &digest.rows, terminal));
        lines.push(String::new());
    }
    lines.extend(digest.legend().map(str::to_owned));
    lines.extend(totals(report, &digest));
    for (heading, below) in [
        ("\nDue:", due(document, terminal)),
        ("\nCould not be read:", failures(document, terminal)),
    ] {
        if !below.is_empty() {
            lines.push(heading.to_owned());
            lines.extend(below);
        }
    }
    lines
        .iter()
        .map(|line| line.trim_end().to_owned() + "\n")
        .collect()
}

/// Lays out the repositories in columns that fit the terminal. Wraps long names and lists of
/// languages instead of cutting them.
fn repository_lines(report: &Report, rows: &[&Row], terminal: Terminal) -> Vec<String> {
    let mut table = Table::new();
    table
        .load_style(NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(terminal.width.try_into().unwrap_or(u16::MAX));
    let heading = |text| Cell::new(terminal.paint(STRONG, text));
    let figure = if terminal.width < ROOM_FOR_BARS {
        "ALL"
    } else {
        "COMPLETION"
    };
    table.set_header(["REPOSITORY", figure, "READY", "NOT READY"].map(heading));
    for row in rows {
        let totals = row.totals();
        table.add_row([
            cell(row.name()),
            completion(&totals, terminal),
            fraction(&totals),
            not_ready(report, row, terminal),
        ]);
    }
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 2));
        if let 1 | 2 = index {
            column.set_constraint(ColumnConstraint::ContentWidth);
        }
    }
    let text = table.to_string().replace(NO_BREAK, " ");
    text.lines().map(str::to_owned).collect()
}

/// Returns the bar and the mean completion of a repository.
fn completion(totals: &Totals, terminal: Terminal) -> String {
    match (totals.with_resting(), totals.mean.get()) {
        (0, _) => format!("no{NO_BREAK}languages"),
        (_, None) => "unknown".to_owned(),
        (_, Some(mean)) => terminal.bar(mean, totals),
    }
}

/// Returns the unready languages, the furthest behind first, with their changes.
fn not_ready(report: &Report, row: &Row, terminal: Terminal) -> String {
    let behind = row.behind();
    let items = behind.iter().map(|translation| {
        let code = cell(translation.code());
        let figure = figure(translation.ratio);
        let figure = match translation.missing() {
            Some(missing) => terminal.graded(missing, &figure),
            None => figure,
        };
        let change = report
            .points(row, translation)
            .replace(' ', &NO_BREAK.to_string());
        format!("{code}{NO_BREAK}{figure}{change}")
    });
    items.collect::<Vec<_>>().join("  ")
}

/// Counts the ready translations, and the repositories with data.
fn totals(report: &Report, digest: &Digest<'_>) -> Vec<String> {
    let document = &*report.document;
    let is_listed = document.is_listed();
    let mut lines: Vec<_> = digest.doubt.iter().cloned().collect();
    if digest.totals.with_resting() > 0 {
        let (ready, rest) = digest.counts();
        lines.push(ready + &rest);
        lines.extend(not_judged(digest.totals));
    }
    let is_part = document.unread() > 0 || !is_listed;
    let shown = if is_part { " shown" } else { "" };
    let languages = document::languages(digest.rows.iter().copied()).len();
    let languages = counted(languages, "language", "languages");
    let mut line = format!("{}{shown}, {languages}", repositories(digest.rows.len()));
    if document.filtered > 0 {
        let _ = write!(line, "; {} left out", document.filtered);
    }
    lines.push(line);
    if let Some(unmatched) = &report.unmatched {
        lines.push(cell(&format!("Beware: {unmatched}")));
    } else if is_listed {
        let (shown, unnamed) = (document.rows.len(), document.unnamed);
        let nothing = diagnosis::nothing_selected(shown, document.filtered, unnamed);
        lines.extend(nothing.map(|finding| finding.line()));
    }
    lines
}

/// Lists the dates, each with the translations furthest from their targets.
fn due(document: &Document, terminal: Terminal) -> Vec<String> {
    let mut lines = Vec::new();
    for (at, due) in document.dates(MOST_NAMED) {
        let totals = &due.totals;
        let style = match totals.problems().last() {
            _ if totals.is_ready() => GREEN,
            Some((TranslationProblem::Overdue, _)) => RED,
            Some((TranslationProblem::AtRisk, _)) => YELLOW,
            _ => "",
        };
        let date = format!("{}, {}", day(at), days(at, document.taken_at, totals));
        let date = terminal.paint(style, &date);
        lines.push(format!("  {date}: {}", ready(totals, "")));
        lines.extend(verdict::named(&due));
    }
    lines
}

/// Lists each cause of failed reads once, with the affected repositories. If the poll ended early,
/// its cause is that of all repositories.
fn failures(document: &Document, terminal: Terminal) -> Vec<String> {
    let mut lines = Vec::new();
    let line = |whose: &str, failure: &Failure| {
        let line = format!("{whose}{}; {}", failure.what, failure.hint);
        "  ".to_owned() + &terminal.paint(RED, &cell(&line))
    };
    let poll = document.status.last.as_ref();
    lines.extend(
        poll.and_then(|poll| poll.cut_short())
            .map(|failure| line("", failure)),
    );
    let ended_early = poll.is_some_and(|poll| poll.stop.is_some());
    for Cause {
        repositories,
        failure,
    } in document.causes(|_| !ended_early)
    {
        if let [only] = repositories[..] {
            lines.push(line(&format!("{only}: "), failure));
        } else {
            let many = format!("{} repositories, such as ", repositories.len());
            lines.push(line(&many, failure));
            for one in repositories {
                lines.push(format!("    {}", cell(one)));
            }
        }
    }
    let not_read = document.count(|condition| {
        condition.languages().is_none() && (ended_early || condition.failure().is_none())
    });
    if not_read > 0 {
        lines.push(format!("  {} not read", repositories(not_read)));
    }
    lines
}

impl Terminal {
    /// Applies a style to `text`, if the terminal has colours.
    fn paint(self, style: &str, text: &str) -> String {
        if self.color && !text.is_empty() {
            format!("\x1b[{style}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }

    /// Colours `text` by the gap to the target: green without a gap, yellow above a tenth, red
    /// above a half. A smaller gap keeps the terminal's colour.
    fn graded(self, missing: f64, text: &str) -> String {
        match missing {
            ..=0.0 => self.paint(GREEN, text),
            ..=0.1 => text.to_owned(),
            ..=0.5 => self.paint(YELLOW, text),
            _ => self.paint(RED, text),
        }
    }

    /// Returns a bar of ten columns and a percentage. Both are rounded down, so that a full bar
    /// means complete.
    fn bar(self, mean: f64, totals: &Totals) -> String {
        // Unknown completions keep a mean from looking ready.
        let missing = match totals.missing.get() {
            Some(missing) if totals.unknown == 0 => missing,
            missing => missing.unwrap_or_default().max(f64::MIN_POSITIVE),
        };
        if self.width < ROOM_FOR_BARS {
            return self.graded(missing, &format!("{}%", percent(mean)));
        }
        let full = (1..=10_u8)
            .filter(|tenth| mean * 10.0 >= f64::from(*tenth))
            .count();
        let bar = self.graded(missing, &"█".repeat(full));
        let rest = self.paint(FAINT, &"·".repeat(10 - full));
        let percent = format!("{:>3}", percent(mean)).replace(' ', &NO_BREAK.to_string());
        let percent = self.graded(missing, &percent);
        format!("{bar}{rest}{NO_BREAK}{percent}%")
    }
}
