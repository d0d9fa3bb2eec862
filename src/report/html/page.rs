//! The status page: the data and functions of page.html and the templates that it includes.

use super::{
    answer::answer,
    grid::{Grid, ROWS},
    query::Query,
};
use crate::{
    diagnosis::{self, Finding},
    domain::{
        ProblemKind, Severity, State, TranslationProblem,
        document::{
            Cause, Document, Readiness, Row, Totals, Translation, View, furthest_first, languages,
            worst_first,
        },
        polling::PollOutcome,
    },
    report::{
        not_judged,
        words::{self, date, day, days, fraction, ready_count, span},
    },
    support::{clock::Timestamp, escape::printable, humanize},
};
use askama::Template;
use std::collections::BTreeMap;

/// The stylesheet, which is part of the page.
pub const STYLE: &str = include_str!("style.css");

/// The stylesheet of windows too narrow for one column per language, also part of the page.
pub const WRAPPED: &str = include_str!("wrapped.css");

/// The document of the alerts. Its headings are their names.
const RUNBOOK: &str = "https://github.com/translation-exporter/translation-exporter/blob/main/deploy/prometheus/runbook.md";

/// The maximum number of entries that a list shows unfolded.
const MOST_UNFOLDED: usize = 8;

/// The maximum number of repositories that a list shows in all.
const MOST_NAMED: usize = 40;

/// Maximum number of languages that such a list names of one repository.
const MOST_CHIPS: usize = 20;

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
    pub document: &'a Document,
    /// The part of the document that the page is about.
    pub chosen: &'a View<'a>,
    pub findings: &'a [Finding],
    pub query: &'a Query,
}

impl Page<'_> {
    pub fn html(&self) -> String {
        let text = self.render();
        printable(&text.expect("a text takes everything that the templates write"))
    }

    /// Returns the worst severity that asks somebody to act.
    pub fn worst(&self) -> Option<Severity> {
        let severities = self.findings.iter().map(|finding| finding.severity);
        severities.min().filter(|worst| *worst != Severity::Info)
    }

    /// Returns whether figures may be out of date: the last poll failed, or there was none yet.
    pub fn is_outdated(&self) -> bool {
        let last = self.document.status.last.as_ref();
        !last.is_some_and(PollOutcome::is_well)
    }

    fn is_file(&self) -> bool {
        self.telemetry_path.is_none()
    }

    /// Counts the chosen repositories that the last poll did not read.
    fn older(&self) -> usize {
        self.chosen.outdated()
    }

    /// Returns the repositories with translations that pass `accepts`, both the furthest behind
    /// first.
    fn groups(&self, accepts: impl Fn(&Translation) -> bool) -> Vec<(&Row, Vec<&Translation>)> {
        let rows = worst_first(self.chosen.rows.iter());
        let groups = rows.into_iter().map(|row| {
            let translations = row.translations().iter();
            let mut translations: Vec<_> = translations.filter(|one| accepts(one)).collect();
            furthest_first(&mut translations, |one| one.gap());
            (row, translations)
        });
        groups
            .filter(|(_, translations): &(_, Vec<_>)| !translations.is_empty())
            .collect()
    }

    fn stalled(&self) -> Vec<(&Row, Vec<&Translation>)> {
        self.groups(|one| one.has(TranslationProblem::Stalled))
    }

    /// Returns the translations that are not ready for a date.
    fn due_at(&self, at: Timestamp) -> Vec<(&Row, Vec<&Translation>)> {
        self.groups(|one| one.is_unready() && one.target().due == Some(at))
    }

    fn grid(&self) -> Grid<'_> {
        let size = self.telemetry_path.map_or(usize::MAX, |_| ROWS);
        Grid::new(&self.chosen.rows, self.query, size)
    }

    /// Returns the languages, the furthest behind first.
    fn languages(&self) -> Vec<(&str, Totals)> {
        let mut languages = languages(&*self.chosen.rows);
        furthest_first(&mut languages, |(_, totals)| totals.gap.get());
        languages
    }

    /// Returns the causes of failing repositories, for the finding that reports them.
    fn causes(&self, finding: &Finding) -> Vec<Cause<'_>> {
        if finding.repositories == 0 || finding.kind != ProblemKind::PollsFailing {
            return Vec::new();
        }
        self.chosen.causes(|_| true)
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

/// Returns the name of a language with its code, or the code alone if the API reports no name.
fn language_name(names: &BTreeMap<&str, &str>, code: &str) -> String {
    match names.get(code) {
        None | Some(&"") => code.to_owned(),
        Some(name) => format!("{name} ({code})"),
    }
}

/// Returns the marks of a translation, each a word and a class of the stylesheet.
fn marks(translation: &Translation) -> String {
    match translation.readiness {
        Readiness::Resting => "resting".to_owned(),
        Readiness::Ready => "ready".to_owned(),
        Readiness::Behind | Readiness::Unknown => {
            let problems = translation.problems.iter();
            let words: Vec<_> = problems.map(|problem| problem.kind.words()).collect();
            words.join(" ")
        }
    }
}

/// Returns the class of a mean, which nothing colours beside unknown completions.
fn mean_class(totals: &Totals) -> String {
    heat(totals.gap.get().filter(|_| totals.unknown == 0))
}

/// Returns the class of a tile: unknown, or one for each tenth of the gap.
fn heat(gap: Option<f64>) -> String {
    gap.map_or("unknown".to_owned(), |gap| {
        let tenths = (gap * 10.0 - 1e-9).ceil().clamp(0.0, 10.0);
        format!("h{}", 10.0 - tenths)
    })
}

fn percent(ratio: Option<f64>) -> String {
    ratio.map_or("?".to_owned(), words::percent)
}
