//! The answer to "may we ship?", and the sentences beside it: the scope of the figures, and the
//! forecast. Page, table, Markdown and gate say the same.

use super::{
    whose,
    words::{date, ready},
};
use crate::{
    domain::{
        TranslationProblem,
        document::{Doubt, Readiness, Row, View},
    },
    support::humanize::{SOME, counted, grouped, named, repositories},
};
use std::{collections::BTreeSet, fmt::Display};

/// Answers in a sentence.
pub fn answer(view: &View<'_>) -> String {
    if view.listed().next().is_none() && !view.document.rows.is_empty() {
        return "No known repository and language matches".to_owned();
    }
    let verdict = match view.readiness() {
        Readiness::Behind => "Not ready to ship",
        Readiness::Unknown => "Not known",
        Readiness::Resting => "Nothing to ship",
        Readiness::Ready => "Ready to ship",
    };
    let totals = &view.totals;
    let overdue = totals.count(TranslationProblem::Overdue);
    let left = view.departed().filter(|one| !one.was_met);
    let left = left.map(|one| format!("{} of {}", one.language, one.repository));
    let doubts = view.doubts();
    // Without any translation, a doubt says why.
    let ready = (totals.with_resting() > 0 || doubts.is_empty()).then(|| ready(totals));
    let overdue = (overdue > 0).then(|| format!("{} overdue", grouped(overdue)));
    let left = named(left, SOME).map(|left| format!("{left} was not ready and left within a day"));
    let clauses = ready
        .into_iter()
        .chain(overdue)
        .chain(doubts.into_iter().map(words_of))
        .chain(left);
    let clauses: Vec<_> = clauses.collect();
    format!("{verdict}: {}", clauses.join(", "))
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
        Doubt::Unlisted(by, names) => targeted(&names, by),
        Doubt::Missing(missing) => {
            let missing = missing
                .iter()
                .map(|(row, translation)| whose(row, translation));
            targeted(&missing.collect::<Vec<_>>(), None)
        }
        Doubt::Scale(count) => format!("the scale of {} is in doubt", translations(count)),
        Doubt::Unknown(count) => format!("{} without a known completion", translations(count)),
    }
}

/// Says why something with a target is not shown: it is not listed, or `by` leaves it out.
fn targeted(names: &[impl Display], by: Option<&str>) -> String {
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

/// Says how many will be ready by when, and how many do not move.
pub fn forecast(view: &View<'_>) -> String {
    let now = view.document.taken_at;
    let translations = view.translations().map(|(_, one)| one);
    let expected = translations.clone().filter_map(|one| one.estimated_ready);
    let idle = translations.filter(|one| one.does_not_move()).count();
    let idle = format!("{} do not move", grouped(idle));
    match expected.clone().max() {
        Some(last) => {
            let more = grouped(expected.count());
            format!("{more} more ready by {}, {idle}", date(last, now))
        }
        None => idle,
    }
}
