//! The comparison with earlier data: an output of `once` as JSON, or `/translations.json`.

use crate::{
    domain::{
        Completion,
        document::{Document, Row, Selection, Translation, furthest_first},
        twelve_decimals,
    },
    support::hint::SetupError,
};
use serde::Deserialize;
use std::{collections::BTreeMap, fs, path::Path};

/// The members of an earlier document that a comparison needs.
#[derive(Debug, Deserialize)]
struct OldDocument {
    version: u32,
    taken_at: String,
    repositories: Vec<OldRepository>,
}

#[derive(Debug, Deserialize)]
struct OldRepository {
    id: String,
    #[serde(default)]
    name: String,
    languages: Option<Vec<OldLanguage>>,
}

#[derive(Debug, Deserialize)]
struct OldLanguage {
    code: String,
    completion: Option<f64>,
    #[serde(default)]
    missing: bool,
}

/// A repository of an earlier time.
#[derive(Debug)]
struct Earlier {
    name: String,
    /// By code.
    completions: BTreeMap<String, Option<Completion>>,
}

/// The completions of an earlier time, by id and code, so that a rename changes nothing.
#[derive(Debug)]
pub struct Since {
    taken_at: String,
    repositories: BTreeMap<String, Earlier>,
}

/// Formats a change of a ratio in percentage points after a space, such as ` +2.5`; nothing if
/// there is none to show.
pub fn points(change: Option<f64>) -> String {
    let points = change.unwrap_or_default() * 100.0;
    match format!("{points:+.1}") {
        _ if points > 999.0 => " >+999".to_owned(),
        _ if points < -999.0 => " <-999".to_owned(),
        text if text == "+0.0" || text == "-0.0" => String::new(),
        text => format!(" {}", text.trim_end_matches(".0")),
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
        let repositories = repositories.into_iter().map(|repository| {
            let languages = repository.languages.into_iter().flatten();
            let listed = languages.filter(|language| !language.missing);
            let completions = listed.map(|language| {
                let completion = language.completion.and_then(Completion::new);
                (language.code, completion)
            });
            let earlier = Earlier {
                name: repository.name,
                completions: completions.collect(),
            };
            (repository.id, earlier)
        });
        Ok(Self {
            taken_at: taken_at.to_string(),
            repositories: repositories.collect(),
        })
    }

    /// Keeps the chosen repositories and languages.
    pub fn select(&mut self, selection: &Selection) {
        self.repositories.retain(|_, earlier| {
            let codes = &mut earlier.completions;
            codes.retain(|code, _| selection.has_language(code));
            selection.has_repository(&earlier.name)
        });
    }

    /// Returns whether there are repositories and the earlier data have none of them.
    pub fn is_foreign(&self, document: &Document) -> bool {
        let rows = &document.rows;
        let is_known = |row: &Row| self.of(row).is_some();
        !rows.is_empty() && !rows.iter().any(is_known)
    }

    fn of(&self, row: &Row) -> Option<&Earlier> {
        self.repositories.get(&row.repository.id.to_string())
    }

    /// Returns the earlier ratio, by today's scale, so that only the completion counts; `None` if
    /// the translation is new, and `Some(None)` if its completion was unknown.
    #[expect(clippy::option_option, reason = "both are different from a ratio")]
    fn ratio(&self, document: &Document, row: &Row, one: &Translation) -> Option<Option<f64>> {
        let earlier = *self.of(row)?.completions.get(one.code())?;
        Some(earlier.map(|completion| completion.ratio(document.completion_scale)))
    }

    /// Returns the ratio minus the earlier one; `None` if one of the two is unknown.
    pub fn change(&self, document: &Document, row: &Row, one: &Translation) -> Option<f64> {
        let earlier = self.ratio(document, row, one)??;
        Some(twelve_decimals(one.ratio? - earlier))
    }

    /// Returns what became ready by the targets of today, what is no longer ready and what is no
    /// longer shown, each under its heading; nothing while no ratio can be trusted.
    pub fn changes(&self, document: &Document) -> Vec<(String, Vec<String>)> {
        if document.is_scale_suspect {
            return Vec::new();
        }
        let (mut ready, mut behind) = (Vec::new(), Vec::new());
        for (row, one) in document.translations() {
            let Some(earlier) = self.ratio(document, row, one) else {
                continue;
            };
            let was_ready = one.target().is_met(earlier) == Some(true);
            let change = self.change(document, row, one);
            let item = format!("{}{} of {}", one.code(), points(change), row.name());
            if one.is_ready() && !was_ready {
                ready.push((change, item));
            } else if one.is_behind() && was_ready {
                behind.push((change, item));
            }
        }
        let sorted = |mut items: Vec<(Option<f64>, String)>| {
            furthest_first(&mut items, |(change, _)| change.map(f64::abs));
            items.into_iter().map(|(_, item)| item).collect::<Vec<_>>()
        };
        let time = format!("{:.16} UTC", self.taken_at.replace('T', " "));
        let became = if ready.is_empty() && !(document.is_listed() && document.unread() == 0) {
            format!("No translation that was read became ready since {time}.")
        } else if ready.is_empty() {
            format!("No translation became ready since {time}.")
        } else {
            format!("Became ready since {time}, with the change in points:")
        };
        let mut changes = vec![(became, sorted(ready))];
        for (heading, items) in [
            ("No longer ready:", sorted(behind)),
            ("No longer shown:", self.departed(document)),
        ] {
            if !items.is_empty() {
                changes.push((heading.to_owned(), items));
            }
        }
        changes
    }

    /// Names the earlier translations that have left or that the filters leave out. A repository
    /// that was not read, or not listed, may still have its languages.
    fn departed(&self, document: &Document) -> Vec<String> {
        let mut departed = Vec::new();
        let rows = document.rows.iter();
        let rows: BTreeMap<_, _> = rows
            .map(|row| (row.repository.id.to_string(), row))
            .collect();
        for (id, earlier) in &self.repositories {
            let (name, row) = match rows.get(id) {
                Some(row) if row.is_read() => (row.name(), Some(row)),
                None if document.is_listed() => (&*earlier.name, None),
                _ => continue,
            };
            for code in earlier.completions.keys() {
                let now = row.and_then(|row| row.language(code));
                if now.is_none_or(|one| one.is_missing) {
                    departed.push(format!("{code} of {name}"));
                }
            }
        }
        departed
    }
}
