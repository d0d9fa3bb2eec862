//! The verdict of `once --require-targets` and `once --require`, which gate a pipeline on targets.

use super::{
    cell, ready,
    words::{due, more, percent},
};
use crate::{
    domain::{
        document::{Doubt, Row, Translation, Verdict, View, furthest_first},
        targets::Target,
    },
    support::{clock::Timestamp, humanize::grouped},
};
use std::collections::BTreeMap;

/// The maximum number of translations below their targets that are named.
const MOST_NAMED: usize = 20;

/// The reason why the gate stays closed.
#[derive(Debug, thiserror::Error)]
pub enum NotReady {
    /// The reason why it is unknown whether the languages are ready.
    #[error("{0}")]
    Unknown(String),
    /// The languages below their targets, the furthest behind first, and the verdict.
    #[error("{0}")]
    Behind(String),
}

/// Returns the verdict about what was chosen as a sentence. `required` is the ratio of `--require`;
/// `None` stands for `targets`.
///
/// # Errors
/// Fails if a language is not ready, or if that is unknown. The error names the languages below
/// their targets.
pub fn verdict(view: &View<'_>, required: Option<f64>) -> Result<String, NotReady> {
    let totals = &view.totals;
    let target = required.map(|ratio| Target {
        ratio,
        ..Target::default()
    });
    let target = target.map_or("their targets".to_owned(), |target| {
        format!("{}%", target.percent())
    });
    let ready = ready(totals);
    match view.verdict() {
        Verdict::Ready => Ok(format!("{ready}: none is below {target}")),
        Verdict::Unknown(doubts) => Err(NotReady::Unknown(unknown(&doubts))),
        Verdict::NotReady => {
            let translations = view.translations();
            let mut below: Vec<_> = translations.filter(|(_, one)| one.is_unready()).collect();
            furthest_first(&mut below, |(_, one)| one.gap());
            below.truncate(MOST_NAMED);
            let lines = below.iter();
            let lines = lines.map(|(row, one)| line(view.document.taken_at, row, one));
            let lines = lines.chain(more(totals.unready() - below.len()));
            let lines: Vec<_> = lines.map(|line| format!("    {line}\n")).collect();
            let (lines, count) = (lines.concat(), grouped(totals.behind()));
            let unknown = match &*reasons(&view.doubts()) {
                "" => String::new(),
                reasons => format!("; not known: {reasons}"),
            };
            Err(NotReady::Behind(format!(
                "below their targets:\n{lines}{ready}: {count} below {target}{unknown}"
            )))
        }
    }
}

/// Says why it is unknown whether everything is ready, and what to do about it.
fn unknown(doubts: &[Doubt]) -> String {
    let hints = doubts.iter().map(|doubt| match doubt {
        Doubt::Listing | Doubt::Unread(_) => "poll again once the API answers",
        Doubt::NotListed(_) | Doubt::Missing(_) => "check the spelling in targets, and the filters",
        Doubt::Unreadable(_) => "report the entries that the log names to the API's operators",
        Doubt::Nothing => "check the filters and the account of the key",
        Doubt::Scale => "set api.completion_scale to the completion of a finished translation",
        Doubt::NotKnown(_) => {
            "ask the API's operators for the completions, or correct api.completion_scale if they \
             lie outside it"
        }
    });
    let (reasons, hints) = (reasons(doubts), hints.collect::<Vec<_>>().join("; "));
    format!("whether everything is ready is unknown: {reasons}; {hints}")
}

fn reasons(doubts: &[Doubt]) -> String {
    let reasons: Vec<_> = doubts.iter().map(ToString::to_string).collect();
    reasons.join("; ")
}

/// Says which repositories and languages were not ready when they left, within the last day.
pub fn departures(view: &View<'_>) -> impl Iterator<Item = String> {
    let mut left = BTreeMap::<_, Vec<_>>::new();
    for one in view.departed().filter(|one| !one.was_ready) {
        let of = left.entry((&one.repository, one.with_repository));
        of.or_default().push(&*one.language);
    }
    left.into_iter()
        .map(|((repository, with_repository), codes)| {
            let languages = codes.join(", ");
            let which = if with_repository {
                format!("{repository}, which was not ready ({languages}),")
            } else {
                format!("{languages} of {repository}, which was not ready,")
            };
            cell(&format!("{which} left within a day, and is not judged"))
        })
}

fn line(now: Timestamp, row: &Row, translation: &Translation) -> String {
    let ratio = match translation.ratio {
        Some(_) => percent(translation.ratio),
        None if translation.is_missing => "unknown (the repository does not list it)".to_owned(),
        None => "unknown (no completion is reported)".to_owned(),
    };
    let whose = cell(&format!("{} of {}", translation.code(), row.name()));
    let target = translation.target();
    let line = format!("{whose}: {ratio}, target {}%", target.percent());
    target
        .due
        .map_or(line.clone(), |at| format!("{line}, due {}", due(at, now)))
}
