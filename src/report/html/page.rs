//! The status page: the data and functions of page.html and the templates that it includes.

use crate::{
    diagnosis::{self, Finding, Severity},
    domain::{
        Change, Standing, State, TranslationProblem,
        document::{Document, Group, Row, Tone, Totals, Translation, furthest_first},
        polling::PollOutcome,
    },
    report::{MOST_ACTIONS, Query, SELECTING, answer, since, words},
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

/// The maximum number of repositories or names that a list shows. A list of translations has at most
/// five times as many.
pub const MOST: usize = 200;

/// The kinds of problems that have no column of their own in *By date*.
const UNDATED: [TranslationProblem; 2] =
    [TranslationProblem::Regressed, TranslationProblem::Stalled];

/// The maximum number of languages that the list for a phone names of one repository.
const MOST_SHORT: usize = 6;

/// The page.
#[derive(Debug, Clone, Copy, Template)]
#[template(path = "page.html", config = "src/report/html/askama.toml")]
pub struct Page<'a> {
    pub now: Timestamp,
    /// The path of the metrics; `None` in a file and on paper, which show all rows and have no link or
    /// form that needs a server.
    pub telemetry_path: Option<&'a str>,
    /// The host of the API.
    pub api: &'a str,
    /// The part of the document that the page is about.
    pub document: &'a Document,
    pub findings: &'a [Finding],
    /// The beginning of the day to compare with.
    pub since: Timestamp,
    pub query: &'a Query,
}

impl Page<'_> {
    pub fn html(&self) -> String {
        let last_known = self.document.last_known();
        let page = Page {
            document: last_known.as_ref().unwrap_or(self.document),
            ..*self
        };
        let text = page.render();
        printable(&text.expect("a text takes everything that the templates write"))
    }

    /// Returns the tone of the worst finding that asks somebody to act.
    fn worst(&self) -> Tone {
        let severities = self.findings.iter().map(|finding| finding.severity);
        let grave = severities.filter(|severity| *severity != Severity::Info);
        grave.map(tone_of).min().unwrap_or(Tone::Ready)
    }

    /// Returns the tone of the worst news of the page.
    fn tone(&self) -> Tone {
        let left = self.document.left_unready().map(|_| Tone::Troubled);
        match self.document.as_of {
            Some(_) => Tone::Silent,
            None => left.fold(self.document.tone().min(self.worst()), Tone::min),
        }
    }

    /// Returns whether the data of a repository are what was last known, and no longer current.
    fn is_old(&self, row: &Row) -> bool {
        self.document.as_of.is_some() || row.state == State::Stale
    }

    /// Returns whether the page is to be read as it is: nothing is folded, and there is no choice.
    pub fn is_file(&self) -> bool {
        self.telemetry_path.is_none()
    }

    /// Returns the time of the last read of any chosen repository, or of the stale ones.
    fn read_at(&self, is_stale: bool) -> Option<Timestamp> {
        let rows = self.document.rows.iter();
        rows.filter(|row| !is_stale || row.state == State::Stale)
            .filter_map(|row| row.read_at)
            .max()
    }

    /// Names the chosen languages, repositories and dates.
    fn selection(&self, names: &BTreeMap<&str, &str>) -> String {
        let chosen = SELECTING.iter().flat_map(|parameter| {
            self.query
                .all(parameter)
                .map(|value| match (*parameter, language_name(names, value)) {
                    ("due", "none") => "no date".to_owned(),
                    ("due", day) => format!("due {day}"),
                    ("language", name) if name != value => format!("{name} ({value})"),
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
        self.document.listed().count() == 1
    }

    fn is_of_one_language(&self) -> bool {
        let known = self.document.rows.iter().flat_map(|row| &*row.known);
        let mut codes = known.map(Translation::code);
        let first = codes.next();
        first.is_some() && codes.all(|code| Some(code) == first)
    }

    fn is_of_dates(&self) -> bool {
        !self.document.selection.dates.is_empty()
    }

    /// Returns whether the list has all that is not ready, and not only what to act on first.
    fn lists_all(&self) -> bool {
        self.is_list() || self.is_of_dates()
    }

    /// Returns whether the lists show a translation: by its state, a problem without a date, or a
    /// change.
    pub fn shows(&self, translation: &Translation) -> bool {
        let only = self.query.get("only");
        let mut changes = self.document.changes(translation, self.since);
        let is_such = |kind: &TranslationProblem| only == kind.label() && translation.has(*kind);
        only.is_empty()
            || only == translation.standing().label()
            || UNDATED.iter().any(is_such)
            || changes.any(|change| only == change.words())
    }

    /// Returns the translations to act on by date: of the whole, the first of each.
    fn groups(&self) -> Vec<Group<'_>> {
        let (lists_all, is_chosen) = (self.lists_all(), !self.query.get("only").is_empty());
        let is_wanted = |_: &Row, translation: &Translation| {
            let is_to_do = translation.has_problem() || lists_all && translation.is_unready();
            self.shows(translation) && (is_chosen || is_to_do)
        };
        let is_whole = is_chosen || lists_all || self.is_file();
        let most = if is_whole { 5 * MOST } else { MOST_ACTIONS };
        self.document.actions(is_wanted, most)
    }

    /// Returns the days to compare with, and their names.
    fn days(&self) -> [(Timestamp, &'static str); 3] {
        let since_monday = self.now.strftime("%u").parse().unwrap_or(1) - 1;
        [
            (since_monday, "Monday"),
            (7, "7 days ago"),
            (14, "14 days ago"),
        ]
        .map(|(days, name)| (self.now.saturating_sub(DAY * days).day_start(), name))
    }

    /// Returns the link to the translations of a date, all or some of them.
    fn date_link(&self, day: Option<Timestamp>, only: &str) -> String {
        let due = day.map_or("none".to_owned(), |day| day.strftime("%F"));
        self.query.with(&[("due", &due), ("only", only)])
    }

    /// Returns the owner that all repositories of the account share, with its slash.
    fn owner(&self) -> &str {
        let rows = &self.document.rows;
        let first = rows.first().map_or("", Row::name);
        let owner = first.split_inclusive('/').next().unwrap_or_default();
        let is_of_owner = |name: &str| name.len() > owner.len() && name.starts_with(owner);
        let is_shared = rows.iter().map(Row::name).all(is_of_owner);
        if is_shared { owner } else { "" }
    }

    /// Returns the languages that the search finds by code or name, the furthest behind first.
    fn languages(&self, names: &BTreeMap<&str, &str>) -> Vec<(&str, Totals)> {
        let wanted = self.query.get("q").trim().to_lowercase();
        let mut languages = Vec::from_iter(self.document.totals_by(Translation::code));
        languages.retain(|(code, _)| {
            let name = format!("{code} {}", language_name(names, code));
            name.to_lowercase().contains(&wanted)
        });
        languages.sort_by(|(_, one), (_, other)| furthest_first(one.gap(), other.gap()));
        languages
    }

    /// Returns the language of each date that is furthest behind.
    fn furthest_behind(&self) -> BTreeMap<Option<Timestamp>, &str> {
        let languages = self.document.totals_by(|known| (known.day(), known.code()));
        let mut languages = Vec::from_iter(languages);
        languages.sort_by(|(_, one), (_, other)| furthest_first(one.gap(), other.gap()));
        // A map keeps the last entry of a key.
        languages.into_iter().rev().map(|(key, _)| key).collect()
    }
}

fn tone_of(severity: Severity) -> Tone {
    match severity {
        Severity::Error => Tone::Overdue,
        Severity::Warning => Tone::Troubled,
        Severity::Info => Tone::Silent,
    }
}

/// Returns the class of the stylesheet and the mark of a tone, because colour alone would exclude
/// readers.
fn look(tone: Tone) -> (&'static str, &'static str) {
    match tone {
        Tone::Ready => ("well", "\u{2713}"),
        Tone::Behind | Tone::Silent => ("waiting", "\u{25cb}"),
        Tone::Troubled => ("degraded", "!"),
        Tone::Overdue => ("failing", "\u{2717}"),
    }
}

/// Returns the name of a language, or its code if the API reports no name.
fn language_name<'a>(names: &BTreeMap<&str, &'a str>, code: &'a str) -> &'a str {
    let name = names.get(code).filter(|name| !name.is_empty());
    name.unwrap_or(&code)
}

/// Returns the class of a cell: the gap in four steps, or that it is overdue, paused or unknown.
fn class(translation: &Translation) -> &'static str {
    match translation.gap() {
        _ if translation.has(TranslationProblem::Overdue) => "overdue",
        _ if translation.rests() => "paused",
        None => "unknown",
        Some(gap) if gap <= 0.0 => "ready",
        Some(gap) if gap <= 0.1 => "gap1",
        Some(gap) if gap <= 0.25 => "gap2",
        Some(gap) if gap <= 0.5 => "gap3",
        Some(_) => "gap4",
    }
}

/// Returns the text of a cell: a figure and the mark of the worst problem, or a tick.
fn figure(translation: &Translation) -> String {
    if translation.is_ready() {
        return "\u{2713}".to_owned();
    }
    let mut figure = words::percent(translation.ratio).replace('%', "");
    figure.extend(
        translation
            .kinds()
            .next_back()
            .map(TranslationProblem::mark),
    );
    figure
}
