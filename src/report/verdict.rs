//! The verdict of `once --require-targets` and `once --require`, which gate a pipeline on targets.

use super::{
    cell, ready,
    words::{date, day, more},
};
use crate::{
    domain::{
        document::{Document, Row, Selection, Translation, furthest_first},
        targets::Target,
    },
    support::humanize::grouped,
};
use std::fmt::Write as _;

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

/// Returns the verdict about a selection as a sentence. `required` is the ratio of `--require`;
/// `None` stands for `targets`.
///
/// # Errors
/// Fails if a language is not ready, or if that is unknown. The error names the languages below
/// their targets.
pub fn verdict(
    document: &Document,
    selection: &Selection,
    required: Option<f64>,
) -> Result<String, NotReady> {
    let totals = &document.totals;
    let names = document
        .targets
        .required_repositories(|code| selection.has_language(code));
    let missing = names.filter(|name| {
        selection.has_repository(name) && !document.rows.iter().any(|row| row.name() == *name)
    });
    let missing: Vec<_> = missing.collect();
    if !missing.is_empty() {
        let names = missing.join(", ");
        return Err(NotReady::Unknown(format!(
            "targets requires {names}, which is not listed; check its spelling and the filters"
        )));
    }
    if totals.with_resting() == 0 {
        let nothing = "no repository has a target language, so there is nothing to judge; check \
                       the filters and the account of the key";
        return Err(NotReady::Unknown(nothing.to_owned()));
    }
    if document.is_scale_suspect && totals.all > 0 {
        let suspect = "whether the translations are ready is unknown: api.completion_scale does \
                       not fit the completions";
        return Err(NotReady::Unknown(suspect.to_owned()));
    }
    let target = required.map(|ratio| Target {
        ratio,
        ..Target::default()
    });
    let target = target.map_or("their targets".to_owned(), |target| {
        format!("{}%", target.percent())
    });
    let ready = ready(totals);
    if totals.behind() == 0 {
        return Ok(format!("{ready}: none is below {target}"));
    }
    let translations = document.translations();
    let mut below: Vec<_> = translations.filter(|(_, one)| one.is_behind()).collect();
    furthest_first(&mut below, |(_, one)| one.missing());
    below.truncate(MOST_NAMED);
    let below = named(&below, totals.behind(), true).join("\n");
    let count = grouped(totals.behind());
    Err(NotReady::Behind(format!(
        "below their targets:\n{below}\n{ready}: {count} below {target}"
    )))
}

/// Returns a line for each named translation below its target, and one that counts the others.
/// Says the dates unless a heading says them.
pub fn named(below: &[(&Row, &Translation)], all: usize, with_dates: bool) -> Vec<String> {
    let named = below.iter().map(|(row, one)| line(row, one, with_dates));
    let others = more(all - below.len());
    let lines = named.chain(others);
    lines.map(|line| format!("    {line}")).collect()
}

fn line(row: &Row, translation: &Translation, with_date: bool) -> String {
    let ratio = match translation.ratio {
        // Rounds down, so that 0.94999 does not look like a target of 0.95.
        Some(ratio) => format!("{}%", (ratio * 1e4 + 1e-9).floor() / 1e2),
        None if translation.is_missing => "unknown (the repository does not list it)".to_owned(),
        None => "unknown (no completion is reported)".to_owned(),
    };
    let whose = cell(&format!("{} of {}", translation.code(), row.name()));
    let target = translation.target();
    let mut line = format!("{whose}: {ratio}, target {}%", target.percent());
    if let Some(due) = target.due
        && with_date
    {
        let _ = write!(line, ", due {}", day(due));
    }
    if let Some(at) = translation.estimated_ready
        && !with_date
    {
        let _ = write!(line, ", at its rate ready on {}", date(at));
    }
    line
}
