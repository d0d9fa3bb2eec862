//! The verdict of `once --require-targets` and `once --require`, which gate a pipeline on targets.

use super::cell;
use crate::domain::{
    readiness::{self, Due, Row, Totals, Translation, date, day},
    snapshot::Snapshot,
    targets::Target,
};
use crate::support::humanize::{counted, grouped};
use std::fmt::Write as _;

/// The reason why the gate stays closed.
#[derive(Debug, thiserror::Error)]
pub enum NotReady {
    #[error(
        "no repository has a target language, so there is nothing to judge; check the filters \
         and the account of the key"
    )]
    NoLanguages,
    /// The languages below their targets, the furthest behind first, and the verdict.
    #[error("{0}")]
    Behind(String),
}

/// Judges every language by its target, and returns the verdict as a sentence. The sentence names
/// `required`, the ratio of `--require`.
///
/// # Errors
/// Fails if a language is below its target or no repository has a language. The error names each
/// language below its target.
pub fn verdict(snapshot: &Snapshot, required: Option<f64>) -> Result<String, NotReady> {
    let rows = readiness::rows(snapshot, None);
    let totals = Totals::of(&rows);
    if totals.all == 0 {
        return Err(NotReady::NoLanguages);
    }
    let required = required.map(|ratio| {
        Target {
            ratio,
            ..Target::default()
        }
        .percent()
    });
    let judged = |count: usize| match (required, count) {
        (Some(percent), 1) => ("is", format!("its target of {percent}%")),
        (Some(percent), _) => ("are", format!("their target of {percent}%")),
        (None, 1) => ("is", "its target".to_owned()),
        (None, _) => ("are", "their targets".to_owned()),
    };
    let count = counted(totals.all, "translation", "translations");
    if totals.is_ready() {
        let (verb, target) = judged(totals.all);
        return Ok(format!("{count} {verb} at or above {target}"));
    }
    let behind = grouped(totals.behind());
    let (verb, target) = judged(totals.behind());
    let translations = rows.iter().flat_map(Row::translations);
    let mut below: Vec<_> = translations.filter(|one| !one.is_ready()).collect();
    readiness::furthest_first(&mut below, Translation::missing);
    let mut lines = vec!["below their targets:".to_owned()];
    lines.extend(below.iter().map(|one| line(one, true)));
    lines.push(format!("{behind} of {count} {verb} below {target}"));
    Err(NotReady::Behind(lines.join("\n")))
}

/// Returns a line for each named translation, and one that counts the others that are not ready.
pub fn named(due: &Due<'_>) -> Vec<String> {
    let mut lines: Vec<_> = due.furthest.iter().map(|one| line(one, false)).collect();
    let more = due.totals.behind() - due.furthest.len();
    if more > 0 {
        lines.push(format!("    and {} more", grouped(more)));
    }
    lines
}

/// Returns a line about a translation below its target, with its date unless a heading says it.
fn line(translation: &Translation<'_>, with_date: bool) -> String {
    let ratio = match translation.ratio {
        // Rounds down, so that 0.94999 does not look like a target of 0.95.
        Some(ratio) => format!("{}%", (ratio * 1e4 + 1e-9).floor() / 1e2),
        None => "unknown (no completion is reported)".to_owned(),
    };
    let whose = cell(&format!(
        "{} of {}",
        translation.code(),
        translation.repository.name
    ));
    let mut line = format!(
        "    {whose}: {ratio}, target {}%",
        translation.target.percent()
    );
    if let Some(due) = translation.target.due
        && with_date
    {
        let _ = write!(line, ", due {}", day(due));
    }
    if let Some(at) = translation.judgement.estimated_ready
        && !with_date
    {
        let _ = write!(line, ", at its rate ready on {}", date(at));
    }
    line
}
