//! The answer to "may we ship?", and the sentences beside it: the scope of the figures, and the
//! forecast. Page, table, Markdown and gate say the same.
//!
//! A sentence consists of clauses, a list that may be empty.

use super::{
    whose,
    words::{self, counts, date, moment, ready},
};
use crate::{
    domain::{
        Standing,
        document::{Document, Doubt, Readiness, Row, Totals, Translation},
    },
    support::{
        clock::{DAY, Timestamp, WEEK},
        humanize::{SOME, counted, grouped, named, repositories},
    },
};

/// The states of what is not ready, in the order of *By date*.
pub const UNREADY: [Standing; 5] = [
    Standing::Expected,
    Standing::AtRisk,
    Standing::Overdue,
    Standing::Behind,
    Standing::Unknown,
];

/// Answers in a sentence.
pub fn answer(document: &Document) -> String {
    if !document.selection.is_everything() && document.listed().next().is_none() {
        return "No known repository and language matches".to_owned();
    }
    let overdue = (document.totals.standing(Standing::Overdue), "overdue");
    let mut clauses = [vec![ready(&document.totals)], counts([overdue])].concat();
    if let Some(at) = document.as_of {
        let known = clauses.join(", ");
        return format!("Not known now. As of {}: {known}", moment(at));
    }
    let verdict = match document.readiness() {
        Readiness::Behind => "Not ready to ship",
        Readiness::Unknown => "Not known",
        Readiness::Resting => "Nothing to ship",
        Readiness::Ready => "Ready to ship",
    };
    let doubts = document.doubts();
    // Without any translation, a doubt says why.
    if document.totals.with_resting() == 0 && !doubts.is_empty() {
        clauses.clear();
    }
    clauses.extend(doubts.into_iter().map(|doubt| words_of(document, doubt)));
    let left = document
        .left_unready()
        .map(|left| format!("{} of {}", left.language, left.repository));
    clauses.extend(named(left, SOME).map(|names| format!("left unready within a day: {names}")));
    format!("{verdict}: {}", clauses.join(", "))
}

/// Words a doubt.
fn words_of(document: &Document, (doubt, count): (Doubt, usize)) -> String {
    let translations = counted(count, "translation", "translations");
    match doubt {
        Doubt::NotPolled => "the first poll has not ended yet".to_owned(),
        Doubt::NotListed => "the list of repositories was not read completely".to_owned(),
        Doubt::Unlisted => targeted(document.unlisted().into_iter().map(|(name, filter)| {
            filter.map_or(name.to_owned(), |key| format!("{name} (left out by {key})"))
        })),
        Doubt::Removal => format!("the removal of {} waits", repositories(count)),
        Doubt::Unread => format!("{} not read", repositories(count)),
        Doubt::Unreadable => {
            let entries = counted(count, "entry", "entries");
            format!("{entries} of the API's responses could not be used")
        }
        Doubt::Missing => targeted(document.missing().map(|(row, missing)| whose(row, missing))),
        Doubt::Scale => format!("the scale of {translations} is in doubt"),
        Doubt::Unknown => format!("{translations} without a known completion"),
    }
}

/// Names repositories or translations that have a target and are not there.
fn targeted(names: impl Iterator<Item = String>) -> String {
    let names = named(names, SOME).unwrap_or_default();
    format!("missing despite a target: {names}")
}

/// Counts the repositories and languages that the figures are of, and then what they leave out.
pub fn scope(document: &Document) -> String {
    let read = document.listed().count() - document.unread();
    let mut scope = Vec::new();
    if read > 0 {
        let codes = document.totals_by(Translation::code);
        let languages = counted(codes.len(), "language", "languages");
        scope.push(format!("{}, {languages}.", repositories(read)));
    }
    // A document of what was last known says its time.
    let is_outdated = |row: &&Row| !row.is_current() && document.as_of.is_none();
    let outdated = document.rows.iter().filter(is_outdated);
    let names = named(outdated.map(Row::name), SOME);
    scope.extend(names.map(|names| format!("Read earlier, or not yet: {names}.")));
    let is_whole = document.selection.is_everything();
    let left_out = counts([
        (document.unread(), "not read"),
        (document.departed().count(), "that left within a day"),
        (document.filtered.len() * usize::from(is_whole), "filtered"),
        (document.unreadable(), "unreadable"),
    ]);
    if !left_out.is_empty() {
        scope.push(format!("Not counted: {}.", left_out.join(", ")));
    }
    for (why, count) in &document.totals.not_judged {
        scope.push(format!("{} not judged: {}.", grouped(*count), why.words()));
    }
    scope.join(" ")
}

/// Returns the totals of each date, and the number of translations of others: dates that are two
/// weeks past, and no date, with all ready.
pub fn by_date(document: &Document) -> (Vec<(Option<Timestamp>, Totals)>, usize) {
    let now = document.taken_at;
    let (others, dates): (Vec<_>, Vec<_>) = document.dates().partition(|(day, totals)| {
        let is_past = day.is_none_or(|day| now.since(day) > WEEK * 2 + DAY);
        is_past && totals.unready() == 0
    });
    let others = others.iter().map(|(_, totals)| totals.counted());
    (dates, others.sum())
}

/// Returns the mean ratio that the translations of a date will have reached by then at their pace.
pub fn mean_by_due(document: &Document, day: Option<Timestamp>) -> Option<f64> {
    let mut reached = Totals::default();
    for (_, known) in document.translations() {
        if known.day() == day {
            let ratio = words::by_due(known, document.taken_at);
            reached.add(&Translation {
                ratio,
                ..known.clone()
            });
        }
    }
    reached.mean()
}

/// Says by when all translations of a date are expected to be ready, and counts those without a
/// forecast.
pub fn last_expected(totals: &Totals, now: Timestamp) -> Vec<String> {
    let last = totals
        .last_expected
        .map(|at| format!("the last on {}", date(at, now)));
    last.into_iter()
        .chain(counts([(totals.without_forecast, "without a forecast")]))
        .collect()
}

/// Describes each date in a sentence; nothing without dates.
pub fn dates(document: &Document) -> Vec<String> {
    let now = document.taken_at;
    let (dates, others) = by_date(document);
    if dates.iter().all(|(day, _)| day.is_none()) {
        return Vec::new();
    }
    let lines = dates.into_iter().map(|(day, totals)| {
        let unready = UNREADY.map(|standing| (totals.standing(standing), standing.words()));
        let last = last_expected(&totals, now);
        let clauses = [vec![ready(&totals)], counts(unready), last].concat();
        format!("{}: {}", words::day(day, now), clauses.join(", "))
    });
    lines
        .chain(counts([(others, "others are ready")]))
        .collect()
}
