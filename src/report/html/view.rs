//! What page.html and the templates that it includes show.

use crate::report::html::{
    query::{Column, Query},
    table::Table,
};
use crate::{
    diagnosis::{self, Finding, Symptom},
    domain::{
        Severity,
        readiness::{self, Cause, Deadline, Due, Totals, Translation},
        snapshot::{Activity, Condition, PollStatus, Snapshot},
    },
    support::{
        clock::Timestamp,
        humanize::{self, Rough},
    },
};
use askama::Template;
use std::collections::BTreeMap;

/// The stylesheet, which is part of the page.
pub const STYLE: &str = include_str!("style.css");

/// The stylesheet for windows in which the languages do not fit side by side; also part of the page.
pub const WRAPPED: &str = include_str!("wrapped.css");

/// How many translations are named for each date; all but the first three once they are asked for.
const MOST_NAMED: usize = 50;

#[derive(Template)]
#[template(path = "page.html", config = "src/report/html/askama.toml")]
struct Page<'a> {
    query: &'a Query,
    now: Timestamp,
    telemetry_path: &'a str,
    snapshot: &'a Snapshot,
    status: &'a PollStatus,
    findings: &'a [Finding],
    /// How bad it is.
    class: &'static str,
    mark: &'static str,
    /// What every code means; empty if nothing says so.
    names: BTreeMap<&'a str, &'a str>,
    /// Of all pages, whatever is searched for: repositories, those that may have languages, those that are ready.
    rows: usize,
    with_languages: usize,
    ready: usize,
    totals: Totals,
    dates: BTreeMap<Timestamp, Due<'a>>,
    table: Table<'a>,
}

/// The data that the page shows.
#[derive(Debug)]
pub struct View<'a> {
    pub now: Timestamp,
    pub telemetry_path: &'a str,
    pub snapshot: &'a Snapshot,
    pub status: &'a PollStatus,
    /// The problems of the moment, worst first.
    pub findings: &'a [Finding],
}

impl View<'_> {
    /// Renders the page as the query asks for it.
    pub fn render(&self, query: &Query) -> askama::Result<String> {
        let Self { now, snapshot, .. } = *self;
        let worst = self.findings.first().map(|worst| worst.symptom.severity());
        let (class, mark) = worst.map_or(("well", "\u{2713}"), look);
        let rows = readiness::rows(snapshot, query.language.as_deref(), now);
        let page = Page {
            query,
            now,
            telemetry_path: self.telemetry_path,
            snapshot,
            status: self.status,
            findings: self.findings,
            class,
            mark,
            names: snapshot.language_names(),
            rows: rows.len(),
            with_languages: rows.iter().filter(|row| !row.has_none()).count(),
            ready: rows.iter().filter(|row| row.totals.is_ready()).count(),
            totals: Totals::of(&rows),
            dates: readiness::dates(&rows, MOST_NAMED, now),
            table: Table::new(rows, query, now),
        };
        page.render()
    }
}

impl Page<'_> {
    /// What is wrong, the worst first; the headline covers a notice.
    fn attention(&self) -> Vec<&Finding> {
        let all = self.findings.iter();
        all.filter(|finding| finding.symptom != Symptom::Undecided)
            .collect()
    }

    /// Why repositories fail, if that is what is wrong.
    fn causes(&self, finding: &Finding) -> Vec<Cause<'_>> {
        if finding.symptom != Symptom::RepositoriesFailing {
            return Vec::new();
        }
        readiness::causes(self.snapshot, |failure| {
            diagnosis::is_named(failure, self.findings)
        })
    }

    /// How many repositories are in this state.
    fn count(&self, label: &str) -> usize {
        self.snapshot.count(|condition| condition.label() == label)
    }

    /// The name of a language with its code; the code alone if nothing names it.
    fn language_name(&self, code: &str) -> String {
        match self.names.get(code) {
            Some(name) if !["", code].contains(name) => format!("{name} ({code})"),
            _ => code.to_owned(),
        }
    }

    /// What there is to say of a translation besides its completion: as classes, and in words.
    fn marks(&self, translation: &Translation<'_>) -> Vec<(&'static str, &'static str)> {
        let mut marks = Vec::new();
        if translation.is_ready() {
            marks.push(("ready", "ready"));
        }
        match translation.deadline(self.now) {
            Some(Deadline::Missed) => marks.push(("missed", "date missed")),
            Some(Deadline::AtRisk) => marks.push(("risk", "due soon")),
            _ => {}
        }
        if translation.is_stalled(self.now) {
            marks.push(("stalled", "stalled"));
        }
        marks
    }
}

/// The class and the mark of how bad something is.
fn look(severity: Severity) -> (&'static str, &'static str) {
    match severity {
        Severity::Info => ("waiting", "\u{2026}"),
        Severity::Warning => ("degraded", "!"),
        Severity::Error => ("failing", "\u{2717}"),
    }
}

fn percent(ratio: Option<f64>) -> String {
    ratio.map_or("?".to_owned(), readiness::percent)
}

/// How long `then` is before `now`, for people.
fn ago(then: Timestamp, now: Timestamp) -> String {
    let passed = now.since(then);
    if passed.as_secs() == 0 {
        "just now".to_owned()
    } else {
        format!("{} ago", Rough(passed))
    }
}

/// How long `then` is after `now`, for people.
fn ahead(then: Timestamp, now: Timestamp) -> String {
    let left = then.since(now);
    if left.as_secs() == 0 {
        "at any moment".to_owned()
    } else {
        format!("in {}", Rough(left))
    }
}

/// The class of a tile by how much is missing: one for every tenth, and another for nothing.
fn heat(missing: Option<f64>) -> String {
    let Some(missing) = missing else {
        return "unknown".to_owned();
    };
    let step = 10.0 - (missing * 10.0 - 1e-9).ceil().clamp(0.0, 10.0);
    format!("h{step}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_went_back_does_not_confuse() {
        let (early, late) = (Timestamp::from_millis(0), Timestamp::from_millis(90_000));
        assert_eq!(
            (ago(early, late).as_str(), ago(late, early).as_str()),
            ("1 min ago", "just now")
        );
        assert_eq!(
            (ahead(late, early).as_str(), ahead(early, late).as_str()),
            ("in 1 min", "at any moment")
        );
    }
}
