//! The comparison with earlier data: an output of `once` as JSON, or `/translations.json`.

use super::Report;
use crate::domain::{
    Completion,
    readiness::{Row, Translation},
    snapshot::{Shown, Snapshot},
    twelve_decimals,
};
use crate::support::hint::SetupError;
use serde::Deserialize;
use std::{cmp::Ordering, collections::BTreeMap, fs, path::Path};

/// The completions of an earlier time, by id and code, so that a rename changes nothing.
#[derive(Debug)]
pub struct Since {
    taken_at: String,
    completions: BTreeMap<String, BTreeMap<String, Option<Completion>>>,
}

/// The members that [`super::json()`] writes and a comparison needs.
#[derive(Deserialize)]
struct OldDocument {
    version: u32,
    taken_at: String,
    repositories: Vec<OldRepository>,
}

#[derive(Deserialize)]
struct OldRepository {
    id: String,
    languages: Option<Vec<OldLanguage>>,
}

#[derive(Deserialize)]
struct OldLanguage {
    code: String,
    completion: Option<f64>,
}

/// The change of one translation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Change {
    /// The ratio minus the earlier one; `None` if one of the two is unknown.
    pub by: Option<f64>,
    /// True if the translation is ready, and was below its target of today.
    pub became_ready: bool,
}

impl Change {
    /// Returns the change in percentage points after a space, such as ` +2.5`; nothing if there is
    /// none to show.
    pub fn points(self) -> String {
        let points = self.by.unwrap_or_default() * 100.0;
        match format!("{points:+.1}") {
            _ if points > 999.0 => " >+999".to_owned(),
            _ if points < -999.0 => " <-999".to_owned(),
            text if text == "+0.0" || text == "-0.0" => String::new(),
            text => format!(" {}", text.trim_end_matches(".0")),
        }
    }
}

impl Since {
    /// Reads the file.
    ///
    /// # Errors
    /// Fails if the file cannot be read, is no such JSON, or has no repository.
    pub fn read(path: &Path) -> Result<Self, SetupError> {
        let bad = |what| {
            let what = format!("--since {}: {what}", path.display());
            let hint = "give an earlier output of `once --output json`, or a copy of \
                        /translations.json";
            SetupError::new(what, hint)
        };
        let text = fs::read(path).map_err(|error| bad(format!("cannot be read: {error}")))?;
        Self::parse(&text).map_err(bad)
    }

    /// Reads the text of the file.
    pub(super) fn parse(text: &[u8]) -> Result<Self, String> {
        let OldDocument {
            version,
            taken_at,
            repositories,
        } = serde_json::from_slice(text).map_err(|error| format!("is damaged: {error}"))?;
        if version != 1 {
            return Err(format!("has version {version}, not 1"));
        }
        let taken_at: jiff::Timestamp = taken_at
            .parse()
            .map_err(|error| format!("is damaged: taken_at: {error}"))?;
        if repositories.is_empty() {
            return Err("has no repository".to_owned());
        }
        let of = |language: OldLanguage| {
            let completion = language.completion.and_then(Completion::new);
            (language.code, completion)
        };
        let completions = repositories.into_iter().map(|repository| {
            let languages = repository.languages.unwrap_or_default();
            (repository.id, languages.into_iter().map(of).collect())
        });
        Ok(Self {
            taken_at: taken_at.to_string(),
            completions: completions.collect(),
        })
    }

    /// Returns whether there are repositories and the earlier data have none of them.
    pub fn is_foreign(&self, snapshot: &Snapshot) -> bool {
        let shown = &snapshot.repositories;
        let is_known = |shown: &Shown| {
            let id = shown.repository.id.to_string();
            self.completions.contains_key(&id)
        };
        !shown.is_empty() && !shown.iter().any(is_known)
    }

    /// Compares a translation with the earlier data. Both are measured by the scale and the target
    /// of today, so that only the completion counts.
    pub fn change(&self, translation: &Translation<'_>, scale: f64) -> Change {
        let id = translation.repository.id.to_string();
        let languages = self.completions.get(&id);
        let Some(earlier) = languages.and_then(|languages| languages.get(translation.code()))
        else {
            return Change {
                by: None,
                became_ready: false,
            };
        };
        let earlier = earlier.map(|completion| completion.ratio(scale));
        let both = translation.ratio.zip(earlier);
        Change {
            by: both.map(|(now, then)| twelve_decimals(now - then)),
            became_ready: translation.is_ready()
                && translation.target.is_met(earlier) != Some(true),
        }
    }

    /// Returns the translations that became ready, the largest change first.
    pub fn became_ready<'a>(&self, rows: &[Row<'a>], scale: f64) -> Vec<(Translation<'a>, Change)> {
        let translations = rows.iter().flat_map(Row::translations);
        let changes = translations.map(|one| (one, self.change(&one, scale)));
        let mut ready: Vec<_> = changes.filter(|(_, change)| change.became_ready).collect();
        ready.sort_by(|(_, one), (_, other)| {
            let order = other.by.partial_cmp(&one.by);
            order.unwrap_or(Ordering::Equal)
        });
        ready
    }

    /// Returns the heading of `count` translations that became ready.
    pub fn heading(&self, count: usize) -> String {
        let time = self.taken_at.replace('T', " ");
        match count {
            0 => format!("No translation became ready since {time:.16} UTC."),
            _ => format!("Became ready since {time:.16} UTC, with the change in points:"),
        }
    }
}

impl Report<'_> {
    /// Returns the change of a translation in points; nothing without earlier data.
    pub(super) fn points(&self, translation: &Translation<'_>) -> String {
        let scale = self.snapshot.completion_scale;
        let change = self.since.map(|since| since.change(translation, scale));
        change.map(Change::points).unwrap_or_default()
    }
}
