//! The status page: the data and functions of page.html and the templates that it includes.

use super::{
    grid::{Grid, ROWS},
    query::{Query, SELECTING},
};
use crate::{
    diagnosis::{self, Finding, Severity},
    domain::{
        Change, Standing, State, TranslationProblem,
        document::{Document, Row, Tone, Totals, Translation, View, furthest_first, totals_by},
        polling::PollOutcome,
    },
    report::{
        answer::{UNREADY, answer, by_date, last_expected, scope},
        since::{compared, gain},
        words::{self, date, day, fraction, missing, moment, of_target, percent, problems, way},
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

/// The maximum number of translations to act on that are shown of each date, and of all.
const MOST_ACTIONS: (usize, usize) = (5, 20);

/// The maximum number of languages that the list for a phone names of one repository.
const MOST_SHORT: usize = 6;

/// The page.
#[derive(Debug, Clone, Copy, Template)]
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

/// The translations of one date that a list shows.
#[derive(Debug)]
struct Group<'a> {
    day: Option<Timestamp>,
    rows: Vec<(&'a Row, &'a Translation)>,
    /// The number of those that are left out.
    left: usize,
}

impl Page<'_> {
    pub fn html(&self) -> String {
        let last_known = self.view.last_known();
        let page = Page {
            view: last_known.as_ref().unwrap_or(self.view),
            ..*self
        };
        let text = page.render();
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
        let worst = self.worst().filter(|_| self.view.as_of.is_none());
        [verdict, left, worst].into_iter().flatten().min()
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

    /// Returns whether the data of a repository are what was last known, and no longer current.
    fn is_old(&self, row: &Row) -> bool {
        self.view.as_of.is_some() || row.state == State::Stale
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

    /// Names the chosen languages, repositories and dates.
    fn selection(&self, names: &BTreeMap<&str, &str>) -> String {
        let chosen = SELECTING.iter().flat_map(|parameter| {
            self.query.all(parameter).map(|value| match *parameter {
                "language" if language_name(names, value) != value => {
                    format!("{} ({value})", language_name(names, value))
                }
                "due" if value == "none" => "without a date".to_owned(),
                "due" => format!("due {value}"),
                _ => value.to_owned(),
            })
        });
        chosen.collect::<Vec<_>>().join(", ")
    }

    /// Returns whether the page is about one repository or one language: it has a list of all
    /// translations, and no map.
    fn is_list(&self) -> bool {
        self.is_of_one_repository() || self.is_of_one_language()
    }

    fn is_of_one_repository(&self) -> bool {
        self.view.listed().count() == 1
    }

    fn is_of_one_language(&self) -> bool {
        let mut known = self.view.rows.iter().flat_map(|row| &*row.known);
        let first = known.next().map(Translation::code);
        first.is_some() && known.all(|translation| Some(translation.code()) == first)
    }

    /// Returns whether the lists show a translation: by its state, a problem, any problem, or a
    /// change.
    fn shows(&self, translation: &Translation) -> bool {
        let only = self.query.get("only");
        let problems = translation.problems.keys().map(|kind| kind.label());
        let any = problems.clone().next().map(|_| "problems");
        let changes = self.document().changes(translation, self.since);
        let mut labels = problems
            .chain(any)
            .chain([translation.standing().label()])
            .chain(changes.map(Change::words));
        only.is_empty() || labels.any(|label| label == only)
    }

    /// Returns the translations to act on by date: of the whole, the first of each.
    fn actions(&self) -> Vec<Group<'_>> {
        let (is_all, is_list) = (self.query.get("only").is_empty(), self.is_list());
        let is_short = is_all && !is_list && !self.is_static();
        let (most, total) = if is_short { MOST_ACTIONS } else { (MOST, MOST) };
        let mut shown = 0;
        let is_wanted = |translation: &Translation| match is_all {
            true if is_list => translation.is_unready(),
            true => translation.has_problem(),
            false => self.shows(translation),
        };
        let mut groups: Vec<Group<'_>> = Vec::new();
        for (row, translation) in self.view.actions(is_wanted) {
            let day = translation.day();
            if groups.last().is_none_or(|group| group.day != day) {
                let (rows, left) = (Vec::new(), 0);
                groups.push(Group { day, rows, left });
            }
            let group = groups.last_mut().expect("a group was pushed");
            if group.rows.len() < most && shown < total {
                group.rows.push((row, translation));
                shown += 1;
            } else {
                group.left += 1;
            }
        }
        groups
    }

    /// Returns the last Monday.
    fn monday(&self) -> String {
        let days = self.now.strftime("%u").parse().unwrap_or(1) - 1;
        self.now.saturating_sub(DAY * days).strftime("%F")
    }

    /// Returns the link to the translations of a date, all or some of them.
    fn date_link(&self, day: Option<Timestamp>, only: &str) -> String {
        let due = day.map_or_else(|| "none".to_owned(), |day| day.strftime("%F"));
        self.query.with(&[("due", &due), ("only", only)])
    }

    /// Returns the owner that all repositories of the account share, with its slash.
    fn owner(&self) -> &str {
        let mut names = self.document().rows.iter().map(Row::name);
        let first = names.clone().next().unwrap_or_default();
        let owner = first.find('/').map_or("", |slash| &first[..=slash]);
        let is_shared = names.all(|name| name.len() > owner.len() && name.starts_with(owner));
        if is_shared { owner } else { "" }
    }

    fn grid(&self) -> Grid<'_> {
        let size = if self.is_static() { usize::MAX } else { ROWS };
        Grid::new(self.view.listed(), self.query, |one| self.shows(one), size)
    }

    /// Returns the languages that the search finds by code or name, the furthest behind first.
    fn languages(&self, names: &BTreeMap<&str, &str>) -> Vec<(&str, Totals)> {
        let wanted = self.query.get("q").trim().to_lowercase();
        let languages = totals_by(&*self.view.rows, Translation::code).into_iter();
        let found = languages.filter(|(code, _)| {
            let name = language_name(names, code).to_lowercase();
            code.to_lowercase() == wanted || name.contains(&wanted)
        });
        let mut languages: Vec<_> = found.collect();
        languages.sort_by(|(_, one), (_, other)| furthest_first(one.gap(), other.gap()));
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

/// Returns the text of a cell: a figure and the mark of the worst problem, or a tick.
fn figure(one: &Translation) -> String {
    if one.is_ready() {
        "\u{2713}".to_owned()
    } else {
        let worst = one.problems.keys().next_back();
        let mark = worst.map(|kind| kind.mark().to_string());
        percent(one.ratio).replace('%', "") + &mark.unwrap_or_default()
    }
}
