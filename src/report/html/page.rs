//! The status page: the data and functions of page.html and the templates that it includes.

use super::{
    grid::{Grid, ROWS},
    query::Query,
};
use crate::{
    diagnosis::{self, Finding, Severity},
    domain::{
        State, TranslationProblem,
        document::{Document, Row, Tone, Totals, Translation, View, totals_by},
        polling::PollOutcome,
    },
    report::{
        MOST_ACTIONS,
        answer::{answer, forecast, scope},
        order::Order,
        since::{changed, gain},
        words::{self, date, days, due, expected, fraction, missing, moment, of_target, percent},
    },
    support::{
        clock::{DAY, Timestamp},
        escape::printable,
        humanize,
    },
};
use askama::Template;
use std::collections::BTreeMap;

/// The stylesheet, which is part of the page.
pub const STYLE: &str = include_str!("style.css");

/// The stylesheet of windows that are too narrow for the columns, also part of the page.
pub const WIDE: &str = include_str!("wide.css");

/// The document of the alerts. Its headings are their names.
const RUNBOOK: &str = "https://github.com/translation-exporter/translation-exporter/blob/main/deploy/prometheus/runbook.md";

/// The maximum number of translations or names that a list shows.
const MOST: usize = 1000;

/// The maximum number of languages that the list for a phone names of one repository.
const MOST_SHORT: usize = 8;

/// The page.
#[derive(Debug, Template)]
#[template(path = "page.html", config = "src/report/html/askama.toml")]
pub struct Page<'a> {
    pub now: Timestamp,
    /// The path of the metrics; `None` in a file, which shows all rows and has no link or form that
    /// needs a server.
    pub telemetry_path: Option<&'a str>,
    /// The host of the API.
    pub api: &'a str,
    /// The part of the document that the page is about.
    pub view: &'a View<'a>,
    pub findings: &'a [Finding],
    /// The beginning of the day to compare with.
    pub since: Timestamp,
    pub query: &'a Query,
}

impl Page<'_> {
    pub fn html(&self) -> String {
        let text = self.render();
        printable(&text.expect("a text takes everything that the templates write"))
    }

    fn document(&self) -> &Document {
        self.view.document
    }

    /// Returns the worst severity that asks somebody to act.
    fn worst(&self) -> Option<Severity> {
        let severities = self.findings.iter().map(|finding| finding.severity);
        severities.min().filter(|worst| *worst != Severity::Info)
    }

    /// Returns the severity of the worst news of the page.
    fn news(&self) -> Option<Severity> {
        let verdict = match self.view.tone() {
            Tone::Overdue => Some(Severity::Error),
            Tone::Troubled => Some(Severity::Warning),
            Tone::Behind | Tone::Silent => Some(Severity::Info),
            Tone::Ready => None,
        };
        let mut departed = self.view.departed();
        let left = departed.any(|departed| !departed.was_met);
        let left = left.then_some(Severity::Warning);
        [verdict, left, self.worst()].into_iter().flatten().min()
    }

    /// Returns whether figures may be out of date: the last poll failed, or there was none yet.
    fn is_outdated(&self) -> bool {
        let last = self.document().last_poll();
        !last.is_some_and(PollOutcome::is_well)
    }

    /// Returns whether the last poll, or the one under way, has read any chosen repository.
    fn has_current(&self) -> bool {
        self.view.outdated() < self.view.rows.len()
    }

    fn is_file(&self) -> bool {
        self.telemetry_path.is_none()
    }

    /// Returns whether the page is to be read as it is: nothing is folded, and there is no choice.
    fn is_static(&self) -> bool {
        self.is_file() || self.query.get("print") == "1"
    }

    /// Returns the time of the last read of any chosen repository, or of the stale ones.
    fn read_at(&self, is_stale: bool) -> Option<Timestamp> {
        let rows = self.view.rows.iter();
        let rows = rows.filter(|row| !is_stale || row.state == State::Stale);
        rows.filter_map(|row| row.read_at).max()
    }

    /// Names the chosen language and repository.
    fn selection(&self, names: &BTreeMap<&str, &str>) -> String {
        let code = self.query.get("language");
        let language = match language_name(names, code) {
            name if name == code => code.to_owned(),
            name => format!("{name} ({code})"),
        };
        let chosen = [&language, self.query.get("repo")].into_iter();
        let chosen: Vec<_> = chosen.filter(|one| !one.is_empty()).collect();
        chosen.join(" of ")
    }

    /// Returns the translations to act on, and the number of those that are left out. A part of the
    /// page lists everything that is not ready.
    fn actions(&self) -> (Vec<(&Row, &Translation)>, usize) {
        let (only, is_of_all) = (self.query.only(), self.query.is_of_all());
        let all: &[_] = if is_of_all {
            TranslationProblem::ALL
        } else {
            &[]
        };
        let mut actions = self.view.actions(only.unwrap_or(all));
        let is_short = is_of_all && only.is_none() && !self.is_static();
        let shown = actions
            .len()
            .min(if is_short { MOST_ACTIONS } else { MOST });
        let left = actions.split_off(shown).len();
        (actions, left)
    }

    /// Names what the ready repositories are ready in.
    fn everything<'a>(&'a self, names: &BTreeMap<&str, &'a str>) -> &'a str {
        match self.query.get("language") {
            "" => "everything",
            code => language_name(names, code),
        }
    }

    fn grid(&self) -> Grid<'_> {
        let size = self.telemetry_path.map_or(usize::MAX, |_| ROWS);
        Grid::new(self.view.listed(), self.query, size)
    }

    /// Returns the languages, the furthest behind first.
    fn languages(&self) -> Vec<(&str, Totals)> {
        let languages = totals_by(&*self.view.rows, Translation::code);
        let mut languages: Vec<_> = languages.into_iter().collect();
        Order::Gap.sort(&mut languages, |(_, totals)| totals);
        languages
    }
}

/// Returns the class of the stylesheet and the mark of bad news, because colour alone would exclude
/// readers.
fn tone(news: Option<Severity>) -> (&'static str, &'static str) {
    match news {
        None => ("well", "\u{2713}"),
        Some(Severity::Info) => ("waiting", "\u{25cb}"),
        Some(Severity::Warning) => ("degraded", "!"),
        Some(Severity::Error) => ("failing", "\u{2717}"),
    }
}

/// Returns the name of a language, or its code if the API reports no name.
fn language_name<'a>(names: &BTreeMap<&str, &'a str>, code: &'a str) -> &'a str {
    let name = names.get(code).filter(|name| !name.is_empty());
    name.unwrap_or(&code)
}

/// Returns the class of a cell: the gap in four steps, or that it is overdue, paused or unknown.
fn class(one: &Translation) -> &'static str {
    match one.gap() {
        _ if one.has(TranslationProblem::Overdue) => "overdue",
        _ if one.rests() => "paused",
        None => "unknown",
        Some(gap) if gap <= 0.0 => "ready",
        Some(gap) if gap <= 0.1 => "gap1",
        Some(gap) if gap <= 0.25 => "gap2",
        Some(gap) if gap <= 0.5 => "gap3",
        Some(_) => "gap4",
    }
}

/// Returns the text of a cell: a figure and the marks, or a tick.
fn figure(one: &Translation) -> String {
    if one.is_ready() {
        "\u{2713}".to_owned()
    } else {
        percent(one.ratio).replace('%', "") + &words::marks(one)
    }
}

/// Names the problems of a translation, the worst first.
fn problems(one: &Translation) -> String {
    let kinds = one.problems.keys().rev();
    let words: Vec<_> = kinds.map(|kind| kind.words()).collect();
    words.join(", ")
}
