//! The verdict of `once --require-targets` and `once --require`, which gate a pipeline on targets.

use super::{
    cell,
    words::{date, day, more},
};
use crate::{
    diagnosis,
    domain::{
        document::{self, Document, Due, Row, Selection, Translation},
        targets::Target,
    },
    support::humanize::{counted, grouped},
};
use std::fmt::Write as _;

/// The maximum number of translations below their targets that are named.
const MOST_NAMED: usize = 20;

/// The reason why the gate stays closed.
#[derive(Debug, thiserror::Error)]
pub enum NotReady {
    #[error(
        "no repository has a target language, so there is nothing to judge; check the filters \
         and the account of the key"
    )]
    NoLanguages,
    /// The names of the repositories that `targets` requires and the account does not show.
    #[error("targets requires {0}, which is not listed; check its spelling and the filters")]
    NoRepository(String),
    /// The finding about the scale.
    #[error("whether the translations are ready is unknown: {0}")]
    SuspectScale(String),
    /// The languages below their targets, the furthest behind first, and the verdict.
    #[error("{0}")]
    Behind(String),
}

/// The question of a pipeline.
#[derive(Debug)]
pub struct Gate<'a> {
    pub document: &'a Document,
    /// The chosen repositories and languages.
    pub selection: &'a Selection,
    /// The ratio of `--require`; `None` for `targets`.
    pub required: Option<f64>,
}

impl Gate<'_> {
    /// Returns the verdict as a sentence.
    ///
    /// # Errors
    /// Fails if a language is not ready, or if that is unknown. The error names the languages below
    /// their targets.
    pub fn verdict(&self) -> Result<String, NotReady> {
        let document = self.document;
        let totals = &document.totals;
        if let Some(names) = self.missing_repositories() {
            return Err(NotReady::NoRepository(names));
        }
        if totals.with_resting() == 0 {
            return Err(NotReady::NoLanguages);
        }
        let count = |count| counted(count, "translation", "translations");
        let resting = match totals.resting {
            0 => String::new(),
            resting => format!(", {} resting", grouped(resting)),
        };
        if totals.all == 0 {
            let all = count(totals.resting);
            return Ok(format!("{all} resting: a target of 0% requires nothing"));
        }
        let scale = diagnosis::scale(document.completion_scale, true, document.completions());
        if let Some(finding) = scale.filter(|_| document.is_scale_suspect) {
            return Err(NotReady::SuspectScale(finding.line()));
        }
        if totals.is_ready() {
            let (verb, target) = self.judged(totals.all);
            let all = count(totals.all);
            return Ok(format!("{all} {verb} at or above {target}{resting}"));
        }
        let translations = document.translations();
        let mut below: Vec<_> = translations.filter(|(_, one)| one.is_behind()).collect();
        document::furthest_first(&mut below, |(_, one)| one.missing());
        let mut lines = vec!["below their targets:".to_owned()];
        let named = below.iter().take(MOST_NAMED);
        lines.extend(named.map(|(row, one)| line(row, one, true)));
        lines.extend(others(below.len().saturating_sub(MOST_NAMED)));
        let (verb, target) = self.judged(below.len());
        let (below, all) = (grouped(below.len()), count(totals.all));
        lines.push(format!("{below} of {all} {verb} below {target}{resting}"));
        Err(NotReady::Behind(lines.join("\n")))
    }

    /// Returns the verb and the target of that many translations.
    fn judged(&self, count: usize) -> (&'static str, String) {
        let percent = self.required.map(|ratio| {
            Target {
                ratio,
                ..Target::default()
            }
            .percent()
        });
        match (percent, count) {
            (Some(percent), 1) => ("is", format!("its target of {percent}%")),
            (Some(percent), _) => ("are", format!("their target of {percent}%")),
            (None, 1) => ("is", "its target".to_owned()),
            (None, _) => ("are", "their targets".to_owned()),
        }
    }

    /// Names the chosen repositories that `targets` requires and that are not listed.
    fn missing_repositories(&self) -> Option<String> {
        let Document { targets, rows, .. } = self.document;
        let has_language = |code: &str| self.selection.has_language(code);
        let required = targets.required_repositories(has_language);
        let missing = required.filter(|name| {
            self.selection.has_repository(name) && !rows.iter().any(|row| row.name() == *name)
        });
        let missing: Vec<_> = missing.collect();
        (!missing.is_empty()).then(|| missing.join(", "))
    }
}

fn others(count: usize) -> Option<String> {
    Some(format!("    {}", more(count)?))
}

/// Returns a line for each named translation, and one that counts the others that are not ready.
pub fn named(due: &Due<'_>) -> Vec<String> {
    let furthest = due.furthest.iter();
    let mut lines: Vec<_> = furthest.map(|(row, one)| line(row, one, false)).collect();
    lines.extend(others(due.totals.behind() - due.furthest.len()));
    lines
}

/// Returns a line about a translation below its target, with its date unless a heading says it.
fn line(row: &Row, translation: &Translation, with_date: bool) -> String {
    let ratio = match translation.ratio {
        // Rounds down, so that 0.94999 does not look like a target of 0.95.
        Some(ratio) => format!("{}%", (ratio * 1e4 + 1e-9).floor() / 1e2),
        None if translation.is_missing => "unknown (the repository does not list it)".to_owned(),
        None => "unknown (no completion is reported)".to_owned(),
    };
    let whose = cell(&format!("{} of {}", translation.code(), row.name()));
    let target = translation.target();
    let mut line = format!("    {whose}: {ratio}, target {}%", target.percent());
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
