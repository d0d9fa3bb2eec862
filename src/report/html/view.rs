//! The status page: the data and functions of page.html and the templates that it includes.

use super::{
    answer::answer,
    grid::{Grid, ROWS},
    look::Look,
    query::{Column, Only, Query},
};
use crate::{
    diagnosis::Finding,
    domain::{
        ProblemKind, Severity, TranslationProblem,
        document::{
            Cause, Document, Due, NotJudged, Row, Totals, Translation, furthest_first, languages,
        },
        snapshot::Condition,
    },
    report::words::{date, day, days, ready_count, span},
    support::{
        clock::Timestamp,
        humanize::{self, Rough, grouped},
    },
};
use askama::Template;
use std::collections::BTreeMap;

/// The stylesheet, which is part of the page.
pub const STYLE: &str = include_str!("style.css");

/// The stylesheet of windows too narrow for one column per language, also part of the page.
pub const WRAPPED: &str = include_str!("wrapped.css");

/// The document of the alerts. Its headings are their names.
const RUNBOOK: &str = "https://github.com/translation-exporter/translation-exporter/blob/main/deploy/prometheus/runbook.md";

/// The maximum number of translations named for a date, and of stalled ones.
const MOST_NAMED: usize = 40;

/// The maximum number of entries that a list shows unfolded.
const MOST_UNFOLDED: usize = 8;

/// The number of languages that the card of languages shows unfolded.
const MOST_LANGUAGES: usize = 12;

/// The data of the page.
#[derive(Debug)]
pub struct View<'a> {
    pub now: Timestamp,
    /// `None` in a file, which shows all rows and has no link or form that needs a server.
    pub server: Option<ServerView<'a>>,
    /// The host of the API.
    pub api: &'a str,
    pub document: &'a Document,
    /// The state of polling in one sentence.
    pub headline: String,
    /// The present problems, worst first.
    pub findings: &'a [Finding],
}

/// The server of the page.
#[derive(Debug, Clone, Copy)]
pub struct ServerView<'a> {
    pub started_at: Timestamp,
    pub telemetry_path: &'a str,
}

#[derive(Template)]
#[template(path = "page.html", config = "src/report/html/askama.toml")]
struct PageTemplate<'a> {
    view: &'a View<'a>,
    query: &'a Query,
    now: Timestamp,
    /// The selected part of the document.
    chosen: &'a Document,
    totals: Totals,
    sentence: String,
    look: Look,
    polling: Look,
    dates: Vec<Date<'a>>,
    /// The stalled translations, the longest without progress first.
    stalled: Vec<(&'a Row, &'a Translation)>,
    /// The languages, the furthest behind first.
    languages: Vec<(&'a str, Totals)>,
    grid: Grid<'a>,
    /// The names of the languages by code.
    names: BTreeMap<&'a str, &'a str>,
}

/// A date with the translations that are due.
type Date<'a> = (Timestamp, Due<'a>);

/// A repository with some of its translations.
type Group<'a> = (&'a Row, Vec<&'a Translation>);

impl View<'_> {
    /// Renders the page for a query.
    pub fn render(&self, query: &Query) -> askama::Result<String> {
        let chosen = &match query.selection() {
            Some(selection) => selection.of(self.document),
            None => Document {
                rows: Vec::new(),
                totals: Totals::default(),
                ..self.document.clone()
            },
        };
        let (sentence, look) = answer(self, chosen);
        let stalled = chosen.translations();
        let stalled = stalled.filter(|(_, one)| one.has(TranslationProblem::Stalled));
        let mut stalled: Vec<_> = stalled.collect();
        stalled.sort_by_key(|(_, one)| one.last_progress);
        stalled.truncate(MOST_NAMED);
        let mut languages = languages(&chosen.rows);
        furthest_first(&mut languages, |(_, totals)| totals.missing.get());
        let size = self.server.map_or(usize::MAX, |_| ROWS);
        let page = PageTemplate {
            view: self,
            query,
            now: self.now,
            chosen,
            totals: chosen.totals,
            sentence,
            look,
            polling: self.look(|_| true),
            dates: chosen.dates(MOST_NAMED).into_iter().collect(),
            stalled,
            languages,
            grid: Grid::new(&chosen.rows, query, size),
            names: self.document.language_names(),
        };
        page.render()
    }

    /// Returns whether most figures may be out of date: polls fail, or the first poll has not read
    /// again what the state file restored.
    pub fn is_outdated(&self) -> bool {
        let status = &self.document.status;
        let is_failing = |finding: &Finding| {
            let are_all = [0, self.document.rows.len()].contains(&finding.repositories);
            match finding.kind {
                ProblemKind::ApiKey => true,
                ProblemKind::PollsFailing => are_all,
                _ => false,
            }
        };
        let is_restored = |condition: &Condition| matches!(condition, Condition::Restored(_));
        self.findings.iter().any(is_failing)
            || status.last.is_none() && self.document.count(is_restored) > 0
    }

    /// Returns the look of the problems that cast doubt on the figures. An expired certificate, for
    /// example, leaves every completion true.
    pub fn doubts(&self) -> Look {
        self.look(|kind| {
            !matches!(
                kind,
                ProblemKind::Certificate | ProblemKind::ReloadRefused | ProblemKind::StateNotSaved
            )
        })
    }

    /// Returns the look of the findings that pass `accepts`, and of the last poll. A finding of
    /// severity info asks nobody to act, and counts as well.
    fn look(&self, accepts: impl Fn(ProblemKind) -> bool) -> Look {
        let findings = self.findings.iter();
        let findings = findings.filter(|finding| accepts(finding.kind));
        let looks = findings.map(|finding| match finding.severity {
            Severity::Error => Look::Failing,
            Severity::Warning => Look::Degraded,
            Severity::Info => Look::Well,
        });
        let last = match &self.document.status.last {
            None => Look::Waiting,
            Some(last) if last.is_success() => Look::Well,
            Some(_) => Look::Degraded,
        };
        looks.max().unwrap_or_default().max(last)
    }
}

/// Groups translations by repository, in the order of their first ones.
fn groups<'a>(translations: &[(&'a Row, &'a Translation)]) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    for (row, translation) in translations {
        match groups
            .iter_mut()
            .find(|(other, _)| other.name() == row.name())
        {
            Some((_, translations)) => translations.push(translation),
            None => groups.push((row, vec![translation])),
        }
    }
    groups
}

impl<'a> PageTemplate<'a> {
    fn is_file(&self) -> bool {
        self.view.server.is_none()
    }

    /// Returns whether there is more to say of the exporter than when it last polled.
    fn has_news(&self) -> bool {
        self.polling > Look::Waiting || !self.view.findings.is_empty()
    }

    /// Returns whether the page is about one language, which then is a column of its own.
    fn is_single(&self) -> bool {
        !self.query.language.is_empty() && self.languages.len() < 2
    }

    /// Returns the next date that something misses so far.
    fn next_date(&self) -> Option<&Date<'a>> {
        let mut dates = self.dates.iter();
        dates.find(|(at, due)| *at >= self.chosen.taken_at && due.totals.behind() > 0)
    }

    /// Splits the dates into the missed ones with the next one, and the rest, which is folded.
    fn split_dates(&self) -> (Vec<&Date<'a>>, Vec<&Date<'a>>) {
        let last = self.next_date().map_or(self.chosen.taken_at, |(at, _)| *at);
        let dates = self.dates.iter();
        dates.partition(|(at, due)| *at <= last && due.totals.behind() > 0)
    }

    /// Returns the time without progress after which a translation has stalled.
    fn stalled_after(&self) -> String {
        let after = span(self.chosen.thresholds.stalled_after);
        let mut entries = self.chosen.targets.0.iter();
        if entries.any(|entry| entry.target.stalled_after.is_some()) {
            return format!("{after}, or as its target allows");
        }
        after
    }

    /// Returns the title of the tab.
    fn title(&self) -> String {
        let all = self.totals.all;
        let overdue = self.totals.count(TranslationProblem::Overdue);
        let title = format!(
            "{} {}/{} ready",
            self.look.mark(),
            ready_count(&self.totals),
            grouped(all)
        );
        match (all, overdue) {
            (0, _) => format!("{} {}", self.look.mark(), self.sentence),
            (_, 0) => title,
            (_, overdue) => format!("{title}, {} overdue", grouped(overdue)),
        }
    }

    /// Returns the selection in words; empty without one.
    fn selection(&self) -> String {
        let Query {
            repository,
            language,
            ..
        } = self.query;
        let language = match language.as_str() {
            "" => String::new(),
            code => self.language_name(code),
        };
        match (repository.as_str(), language.as_str()) {
            (repository, "") => repository.to_owned(),
            ("", language) => language.to_owned(),
            (repository, language) => format!("{language} of {repository}"),
        }
    }

    /// Returns the filters that some translations pass, each with their number.
    fn filters(&self) -> impl Iterator<Item = (Only, usize)> {
        let counts = Only::ALL.map(|only| (only, only.count(&self.totals)));
        counts.into_iter().filter(|(_, count)| *count > 0)
    }

    /// Returns the problems that no translation has. A repository without data may have any.
    fn absent(&self) -> Vec<&'static str> {
        if self.chosen.unread() > 0 {
            return Vec::new();
        }
        let is_known = |kind: TranslationProblem| {
            let mut not_judged = self.totals.not_judged();
            !not_judged.any(|(why, _)| why.hides(kind))
        };
        let kinds = TranslationProblem::ALL.iter().copied();
        let absent = kinds.filter(|kind| self.totals.count(*kind) == 0 && is_known(*kind));
        absent.map(TranslationProblem::words).collect()
    }

    /// Returns the selected repositories without data of the last poll, and how old theirs are.
    fn exceptions(&self) -> Vec<&Row> {
        let is_fresh = |row: &&Row| matches!(row.condition, Condition::Fresh(_));
        self.chosen
            .rows
            .iter()
            .filter(|row| !is_fresh(row))
            .collect()
    }

    /// Returns the start of the exporter while it has not read everything since.
    fn started_without_full_poll(&self) -> Option<Timestamp> {
        let last = self.view.document.status.last_success_at;
        let started = self.view.server?.started_at;
        last.is_none_or(|at| at < started).then_some(started)
    }

    /// Returns the causes of failing repositories, for the finding that reports them.
    fn causes(&self, finding: &Finding) -> Vec<Cause<'_>> {
        if finding.repositories == 0 || finding.kind != ProblemKind::PollsFailing {
            return Vec::new();
        }
        self.view.document.causes(|_| true)
    }

    /// Returns the link from `links.language`.
    fn work(&self, row: &Row, translation: &Translation) -> Option<String> {
        self.chosen.language_url(row, translation.code())
    }

    /// Returns the name of a language with its code, or the code alone if the API reports no name.
    fn language_name(&self, code: &str) -> String {
        match self.names.get(code) {
            None | Some(&"") => code.to_owned(),
            Some(name) if *name == code => code.to_owned(),
            Some(name) => format!("{name} ({code})"),
        }
    }
}

/// Returns the link to the runbook's section on a finding, for kinds that have an alert.
fn runbook(finding: &Finding) -> Option<String> {
    let alert = finding.kind.definition().alert?;
    Some(format!("{RUNBOOK}#{}", alert.to_lowercase()))
}

/// Returns the meaning of a problem, beside its number.
fn meaning(kind: TranslationProblem) -> &'static str {
    match kind {
        TranslationProblem::Stalled => "not ready, no progress for long",
        TranslationProblem::Regressed => "fell sharply within 7 days",
        TranslationProblem::Overdue => "not ready, the date has passed",
        TranslationProblem::AtRisk => "too slow for the date",
    }
}

/// Returns the class of a mean. A mean beside unknown completions is never coloured as ready.
fn mean_class(totals: &Totals) -> &'static str {
    if totals.unknown > 0 && totals.ready + totals.unknown == totals.all {
        "unknown"
    } else {
        heat(totals.missing.get())
    }
}

/// Returns the marks of a translation: the class and the word of each.
fn marks(translation: &Translation) -> Vec<(&'static str, &'static str)> {
    let state = match (translation.rests(), translation.is_ready()) {
        (true, _) => Some(("rests", "resting")),
        (_, true) => Some(("ready", "ready")),
        _ => None,
    };
    let class = |kind| match kind {
        TranslationProblem::Stalled => "stalled",
        TranslationProblem::Regressed => "regressed",
        TranslationProblem::Overdue => "missed",
        TranslationProblem::AtRisk => "risk",
    };
    let problems = translation.problems();
    let problems = problems.map(|(kind, _)| (class(kind), kind.words()));
    state.into_iter().chain(problems).collect()
}

/// Returns the classes of a translation's tile.
fn classes(translation: &Translation) -> String {
    let mut classes = heat(translation.missing()).to_owned();
    for (class, _) in marks(translation) {
        classes.push(' ');
        classes.push_str(class);
    }
    classes
}

/// Returns the class of a tile: unknown, or one for each tenth that is missing.
fn heat(missing: Option<f64>) -> &'static str {
    const STEPS: [&str; 11] = [
        "h10", "h9", "h8", "h7", "h6", "h5", "h4", "h3", "h2", "h1", "h0",
    ];
    let Some(missing) = missing else {
        return "unknown";
    };
    let tenths = (0..10_u8).take_while(|step| missing * 10.0 - 1e-9 > f64::from(*step));
    STEPS[tenths.count()]
}

fn percent(ratio: Option<f64>) -> String {
    ratio.map_or("?".to_owned(), crate::report::words::percent)
}

/// Formats the time since `then`; the time itself if it lies in the future, because a wrong clock
/// shows `now` or has recorded `then`.
fn ago(then: Timestamp, now: Timestamp) -> String {
    match now.since(then) {
        _ if then.since(now).as_secs() >= 60 => then.to_string(),
        passed if passed.as_secs() == 0 => "just now".to_owned(),
        passed => format!("{} ago", Rough(passed)),
    }
}

/// Formats the time until `then`.
fn ahead(then: Timestamp, now: Timestamp) -> String {
    match then.since(now) {
        left if left.as_secs() == 0 => "at any moment".to_owned(),
        left => format!("in {}", Rough(left)),
    }
}
