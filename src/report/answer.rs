//! The answer to "may we ship?", and the sentences beside it: the scope of the figures, and the
//! forecast. Page, table, Markdown and gate say the same.

use super::{
    whose,
    words::{self, date, moment, ready},
};
use crate::{
    domain::{
        Standing,
        document::{Doubt, Readiness, Row, Totals, View},
    },
    support::{
        clock::{DAY, Timestamp, WEEK},
        humanize::{SOME, counted, grouped, named, repositories},
    },
};
use std::collections::BTreeSet;

/// The states of what is not ready, in the order of *By date*.
pub const UNREADY: [Standing; 5] = [
    Standing::Expected,
    Standing::AtRisk,
    Standing::Overdue,
    Standing::Behind,
    Standing::Unknown,
];

/// Answers in a sentence.
pub fn answer(view: &View<'_>) -> String {
    if view.listed().next().is_none() && !view.document.rows.is_empty() {
        return "No known repository and language matches".to_owned();
    }
    if let Some(at) = view.as_of {
        let (at, known) = (moment(at), known(&view.totals));
        return format!("Not known now. As of {at}: {known}");
    }
    let verdict = match view.readiness() {
        Readiness::Behind => "Not ready to ship",
        Readiness::Unknown => "Not known",
        Readiness::Resting => "Nothing to ship",
        Readiness::Ready => "Ready to ship",
    };
    let left = view.departed().filter(|one| !one.was_met);
    let left: Vec<_> = left
        .map(|one| format!("{} of {}", one.language, one.repository))
        .collect();
    let were = if left.len() == 1 { "was" } else { "were" };
    let left = named(left, SOME);
    let left = left.map(|left| format!("{left} {were} not ready and left within a day"));
    let doubts = view.doubts();
    // Without any translation, a doubt says why.
    let is_known = view.totals.with_resting() > 0 || doubts.is_empty();
    let known = is_known.then(|| known(&view.totals));
    let clauses = known
        .into_iter()
        .chain(doubts.into_iter().map(words_of))
        .chain(left);
    let clauses: Vec<_> = clauses.collect();
    format!("{verdict}: {}", clauses.join(", "))
}

/// Counts the translations that are ready, and those that are overdue.
fn known(totals: &Totals) -> String {
    let overdue = counts([(totals.standing(Standing::Overdue), "overdue", None)]);
    let clauses: Vec<_> = [ready(totals)].into_iter().chain(overdue).collect();
    clauses.join(", ")
}

/// Words a doubt.
fn words_of(doubt: Doubt<'_>) -> String {
    let translations = |count| counted(count, "translation", "translations");
    match doubt {
        Doubt::NotPolled => "the first poll has not ended yet".to_owned(),
        Doubt::NotListed => "the list of repositories was not read completely".to_owned(),
        Doubt::Removal(count) => format!("the removal of {} waits", repositories(count)),
        Doubt::Unread(count) => format!("{} not read", repositories(count)),
        Doubt::Unreadable(count) => {
            let entries = counted(count, "entry", "entries");
            format!("{entries} of the API's responses could not be used")
        }
        Doubt::Unlisted(by, names) => targeted(names, by),
        Doubt::Missing(missing) => {
            let missing = missing.into_iter();
            targeted(missing.map(|(row, missing)| whose(row, missing)), None)
        }
        Doubt::Scale(count) => format!("the scale of {} is in doubt", translations(count)),
        Doubt::Unknown(count) => format!("{} without a known completion", translations(count)),
    }
}

/// Says why something with a target is not shown: it is not listed, or `by` leaves it out.
fn targeted(
    names: impl IntoIterator<Item: ToString, IntoIter: ExactSizeIterator>,
    by: Option<&str>,
) -> String {
    let names = names.into_iter();
    let are = if names.len() == 1 { "is" } else { "are" };
    let why = by.map_or("not listed".to_owned(), |by| format!("left out by {by}"));
    let names = named(names, SOME).unwrap_or_default();
    format!("{names}, for which there is a target, {are} {why}")
}

/// Counts the repositories and languages that the figures are of, and then what they leave out.
pub fn scope(view: &View<'_>) -> String {
    let document = view.document;
    let codes: BTreeSet<_> = view.translations().map(|(_, one)| one.code()).collect();
    let gone: BTreeSet<_> = view.departed().map(|one| &*one.repository).collect();
    let mut left_out = vec![
        (view.unread(), "not read", None),
        (
            view.departed().count(),
            "that left within a day",
            named(gone, SOME),
        ),
    ];
    if view.selection.is_everything() {
        left_out.push((document.filtered.len(), "filtered", None));
    }
    left_out.push((view.unreadable(), "unreadable", None));
    let languages = counted(codes.len(), "language", "languages");
    let read = view.listed().count() - view.unread();
    let mut scope = Vec::new();
    if read > 0 {
        scope.push(format!("{}, {languages}.", repositories(read)));
    }
    let outdated = view.rows.iter().filter(|row| !row.is_current());
    let outdated = named(outdated.map(Row::name), SOME);
    scope.extend(outdated.map(|names| format!("Read earlier, or not yet: {names}.")));
    scope.extend(counts(left_out).map(|left_out| format!("Not counted: {left_out}.")));
    for (why, count) in &view.totals.not_judged {
        scope.push(format!("{} not judged: {}.", grouped(*count), why.words()));
    }
    scope.join(" ")
}

/// Joins the counts above 0, each with its names; `None` without any.
pub fn counts(
    counts: impl IntoIterator<Item = (usize, &'static str, Option<String>)>,
) -> Option<String> {
    let counts = counts.into_iter().filter(|(count, ..)| *count > 0);
    let counts = counts.map(|(count, words, names)| {
        let names = names.map_or_else(String::new, |names| format!(" ({names})"));
        format!("{} {words}{names}", grouped(count))
    });
    let counts: Vec<_> = counts.collect();
    (!counts.is_empty()).then(|| counts.join(", "))
}

/// Returns the totals of each date, and the number of translations of others: dates that are two
/// weeks past, and no date, with all ready.
pub fn by_date(view: &View<'_>) -> (Vec<(Option<Timestamp>, Totals)>, usize) {
    let now = view.document.taken_at;
    let (others, dates): (Vec<_>, Vec<_>) = view.dates().partition(|(day, totals)| {
        let is_past = day.is_none_or(|day| now.since(day) > WEEK * 2 + DAY);
        is_past && totals.unready() == 0
    });
    (
        dates,
        others.iter().map(|(_, totals)| totals.counted()).sum(),
    )
}

/// Says by when all translations of a date are expected to be ready, and how many do not move.
pub fn last_expected(totals: &Totals, now: Timestamp) -> Option<String> {
    let last = totals.last_expected;
    let last = last.map(|at| format!("the last on {}", date(at, now)));
    let idle = counts([(totals.idle, "without progress", None)]);
    let parts: Vec<_> = last.into_iter().chain(idle).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// Describes each date in a sentence; nothing without dates.
pub fn dates(view: &View<'_>) -> Vec<String> {
    let now = view.document.taken_at;
    let (dates, others) = by_date(view);
    if dates.iter().all(|(day, _)| day.is_none()) {
        return Vec::new();
    }
    let others = counts([(others, "others are ready", None)]);
    let lines = dates.into_iter().map(|(day, totals)| {
        let unready = UNREADY.map(|standing| (totals.standing(standing), standing.words(), None));
        let last = last_expected(&totals, now);
        let parts = [Some(ready(&totals)), counts(unready), last];
        let parts: Vec<_> = parts.into_iter().flatten().collect();
        format!("{}: {}", words::day(day, now), parts.join(", "))
    });
    lines.chain(others).collect()
}
