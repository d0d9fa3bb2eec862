//! The status page: the data and functions of page.html and the templates that it includes.

use super::{
    answer::Answer,
    data::View,
    grid::{Grid, ROWS},
    look::Look,
    query::{Column, Query},
};
use crate::{
    diagnosis::{self, Finding},
    domain::{
        ProblemKind, Repository, TranslationProblem,
        readiness::{self, Cause, Due, Row, Totals, Translation},
        snapshot::{Condition, Snapshot},
    },
    support::{
        clock::Timestamp,
        humanize::{self, Rough},
    },
};
use askama::Template;
use std::{cmp::Reverse, collections::BTreeMap};

/// The stylesheet, which is part of the page.
pub const STYLE: &str = include_str!("style.css");

/// The stylesheet of windows too narrow for one column per language, also part of the page.
pub const WRAPPED: &str = include_str!("wrapped.css");

/// The maximum number of translations named for a date.
const MOST_NAMED: usize = 60;

/// The maximum number of repositories unfolded for a date.
const MOST_UNFOLDED: usize = 10;

/// The maximum number of repositories in the list of stalled translations.
const MOST_STALLED: usize = 6;

/// The maximum number of tiles of a repository in that list.
const MOST_TILES: usize = 12;

#[derive(Template)]
#[template(path = "page.html", config = "src/report/html/askama.toml")]
struct PageTemplate<'a> {
    view: &'a View<'a>,
    query: &'a Query,
    now: Timestamp,
    answer: Answer,
    polling: Look,
    /// Set if the figures may be out of date.
    is_old: bool,
    /// The name of each language by its code; empty if the API reports none.
    names: BTreeMap<&'a str, &'a str>,
    totals: Totals,
    dates: BTreeMap<Timestamp, Due<'a>>,
    stalled: Vec<Group<'a>>,
    /// The time at which the progress clocks are old enough for a translation to count as stalled,
    /// if they are too young now.
    stalled_known_at: Option<Timestamp>,
    grid: Grid<'a>,
    /// The label of the condition that most repositories share. Their rows carry no tag, so that
    /// the other rows stand out.
    common: &'static str,
}

/// Dates, each with the translations due then.
type Dates<'b, 'a> = Vec<(&'b Timestamp, &'b Due<'a>)>;

/// A repository with some of its translations, and the number of translations left out.
#[derive(Debug)]
struct Group<'a> {
    repository: &'a Repository,
    translations: Vec<Translation<'a>>,
    more: usize,
}

impl View<'_> {
    /// Renders the page for a query.
    pub fn render(&self, query: &Query) -> askama::Result<String> {
        let Self { now, snapshot, .. } = *self;
        let names = snapshot.language_names();
        let query = &query.clone().spelled_as(&names);
        let rows = readiness::rows(snapshot, query.language.as_deref());
        let totals = Totals::of(&rows);
        let dates = readiness::dates(&rows, MOST_NAMED, snapshot.taken_at);
        let polling = self.polling();
        let is_old = self.is_old();
        let size = self.telemetry_path.map_or(usize::MAX, |_| ROWS);
        let page = PageTemplate {
            view: self,
            query,
            now,
            answer: Answer::new(self, &totals, &dates, query.language.as_deref()),
            polling,
            is_old,
            names,
            totals,
            dates,
            stalled: stalled(&rows),
            stalled_known_at: self.stalled_known_at(),
            grid: Grid::new(rows, query, size),
            common: common(snapshot),
        };
        page.render()
    }

    /// Returns the time from which a translation can count as stalled, if all were first seen too
    /// recently for that.
    fn stalled_known_at(&self) -> Option<Timestamp> {
        let all = self.snapshot.repositories.iter();
        let languages = all.filter_map(|shown| shown.condition.languages());
        let records = languages.flat_map(|languages| languages.records.iter());
        let first = records
            .filter_map(|record| record.last_progress(self.now))
            .min()?;
        let known_at = first.saturating_add(self.snapshot.thresholds.stalled_after);
        (known_at > self.now).then_some(known_at)
    }
}

/// Returns the repositories with the most stalled translations.
fn stalled<'a>(rows: &[Row<'a>]) -> Vec<Group<'a>> {
    let count = |row: &Row<'_>| row.totals.count(TranslationProblem::Stalled);
    let mut most: Vec<_> = rows.iter().filter(|row| count(row) > 0).collect();
    most.sort_by_key(|row| Reverse(count(row)));
    most.truncate(MOST_STALLED);
    let group = |row: &Row<'a>| {
        let all = row.translations();
        let mut translations: Vec<_> = all.filter(|one| one.judgement.stalled.is_some()).collect();
        translations.sort_by_key(|one| one.judgement.stalled);
        translations.truncate(MOST_TILES);
        Group {
            repository: &row.shown.repository,
            more: count(row) - translations.len(),
            translations,
        }
    };
    most.into_iter().map(group).collect()
}

/// Groups the named translations by repository, the furthest behind first.
fn groups<'a>(due: &Due<'a>) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    for translation in &due.furthest {
        let repository = translation.repository;
        match groups
            .iter_mut()
            .find(|group| group.repository.id == repository.id)
        {
            Some(group) => group.translations.push(*translation),
            None => groups.push(Group {
                repository,
                translations: vec![*translation],
                more: 0,
            }),
        }
    }
    groups
}

/// Returns the label of failing repositories if more than half fail. A row without data always says
/// why.
fn common(snapshot: &Snapshot) -> &'static str {
    let failing = snapshot.count(|condition| condition.label() == "failing");
    if failing * 2 > snapshot.repositories.len() {
        "failing"
    } else {
        ""
    }
}

impl<'a> PageTemplate<'a> {
    fn is_file(&self) -> bool {
        self.view.telemetry_path.is_none()
    }

    /// Returns the causes of failing repositories, for the finding that reports them.
    fn causes(&self, finding: &Finding) -> Vec<Cause<'_>> {
        if finding.repositories == 0 || finding.kind != ProblemKind::PollsFailing {
            return Vec::new();
        }
        readiness::causes(self.view.snapshot)
    }

    /// Returns whether a row shows the condition of its repository.
    fn is_tagged(&self, row: &Row<'_>) -> bool {
        let condition = &row.shown.condition;
        match condition {
            Condition::Stale { .. } => true,
            _ if self.view.status.is_outage() => condition.failure().is_none(),
            _ => condition.label() != self.common,
        }
    }

    /// Counts the repositories in the condition with this label.
    fn count(&self, label: &str) -> usize {
        self.view
            .snapshot
            .count(|condition| condition.label() == label)
    }

    /// Counts the repositories whose languages are shown, from whichever poll.
    fn with_data(&self) -> usize {
        let snapshot = self.view.snapshot;
        snapshot.count(|condition| condition.languages().is_some())
    }

    /// Returns the step to take for a reader who cannot reach the exporter.
    fn whom_to_ask(&self) -> &'static str {
        let has = |kind| {
            self.view
                .findings
                .iter()
                .any(|finding| finding.kind == kind)
        };
        if has(ProblemKind::ApiKey) {
            "Ask whoever runs this page for a new API key."
        } else if has(ProblemKind::PollsFailing) {
            "The exporter keeps trying. If this lasts, ask whoever runs this page."
        } else if has(ProblemKind::NoRepositories) {
            "Ask whoever runs this page whether its API key belongs to the right account."
        } else {
            "Ask whoever runs this page."
        }
    }

    /// Returns whether more translations have stalled than the page names.
    fn has_more_stalled(&self) -> bool {
        let named: usize = self.stalled.iter().map(|one| one.translations.len()).sum();
        named < self.totals.count(TranslationProblem::Stalled)
    }

    /// Splits the dates into the missed ones with the next one, and the rest, which is folded.
    fn split_dates(&self) -> (Dates<'_, 'a>, Dates<'_, 'a>) {
        let (mut urgent, mut later) = (Vec::new(), Vec::new());
        let mut has_next = false;
        for (at, due) in &self.dates {
            let is_open = due.totals.behind() > 0;
            let is_urgent = is_open && !has_next && urgent.len() < 4;
            has_next |= is_open && *at >= self.now;
            if is_urgent { &mut urgent } else { &mut later }.push((at, due));
        }
        (urgent, later)
    }

    /// Returns the time without progress after which a translation has stalled.
    fn stalled_after(&self) -> String {
        let snapshot = self.view.snapshot;
        let after = readiness::span(snapshot.thresholds.stalled_after);
        let mut entries = snapshot.targets.0.iter();
        if entries.any(|entry| entry.target.stalled_after.is_some()) {
            return format!("{after}, or as its target allows");
        }
        after
    }

    /// Returns the link from `links.repository`.
    fn repository_url(&self, repository: &Repository) -> Option<String> {
        self.view.snapshot.links.repository_url(repository)
    }

    /// Returns the link from `links.language`.
    fn language_url(&self, translation: &Translation<'_>) -> Option<String> {
        let links = &self.view.snapshot.links;
        links.language_url(translation.repository, translation.code())
    }

    /// Returns the name of a language with its code, or the code alone if the API reports no name.
    fn language_name(&self, code: &str) -> String {
        match self.names.get(code) {
            Some(name) if !["", code].contains(name) => format!("{name} ({code})"),
            _ => code.to_owned(),
        }
    }

    /// Returns the tooltip of a tile outside the grid.
    fn tile_title(&self, translation: &Translation<'_>) -> String {
        let name = self.language_name(translation.code());
        let target = translation.target.percent();
        let Some(at) = translation.last_progress else {
            return format!("{name}: target {target} %, no completion is reported");
        };
        let progress = ago(at, self.now);
        let title = format!("{name}: target {target} %, last progress {progress}");
        match translation.judgement.estimated_ready {
            Some(at) => format!("{title}, at its rate ready on {}", readiness::date(at)),
            None => title,
        }
    }
}

/// Returns the marks of a translation: the class and the word of each.
fn marks(translation: &Translation<'_>) -> Vec<(&'static str, &'static str)> {
    let mut marks = Vec::new();
    if translation.target.rests() {
        marks.push(("resting", "resting"));
    } else if translation.is_ready() {
        marks.push(("ready", "ready"));
    }
    let problems = translation.judgement.problems();
    marks.extend(problems.map(|(kind, _)| (class(kind), kind.words())));
    marks
}

/// Returns the classes of a translation's tile.
fn classes(translation: &Translation<'_>) -> String {
    let mut classes = if translation.target.rests() {
        "rests".to_owned()
    } else {
        heat(translation.missing())
    };
    for (class, _) in marks(translation) {
        classes.push(' ');
        classes.push_str(class);
    }
    classes
}

/// Returns the class of a tile with this problem.
fn class(kind: TranslationProblem) -> &'static str {
    match kind {
        TranslationProblem::Stalled => "stalled",
        TranslationProblem::Regressed => "regressed",
        TranslationProblem::Overdue => "missed",
        TranslationProblem::AtRisk => "risk",
    }
}

fn percent(ratio: Option<f64>) -> String {
    ratio.map_or("?".to_owned(), readiness::percent)
}

/// Formats the time since `then`.
fn ago(then: Timestamp, now: Timestamp) -> String {
    let passed = now.since(then);
    if passed.as_secs() == 0 {
        "just now".to_owned()
    } else {
        format!("{} ago", Rough(passed))
    }
}

/// Formats the time until `then`.
fn ahead(then: Timestamp, now: Timestamp) -> String {
    let left = then.since(now);
    if left.as_secs() == 0 {
        "at any moment".to_owned()
    } else {
        format!("in {}", Rough(left))
    }
}

/// Returns the class of a mean. A mean beside unknown completions is never coloured as ready.
fn mean_class(totals: &Totals) -> String {
    if totals.unknown() > 0 && totals.ready + totals.unknown() == totals.all {
        return "unknown".to_owned();
    }
    heat(totals.missing.get())
}

/// Returns the class of a tile, one for each tenth that is missing and one for a ready translation.
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
    fn times_beyond_now_read_as_just_now() {
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
