//! The comparison with earlier data: an output of `once` as JSON, or `/translations.json`.

use crate::{
    domain::{
        document::{Row, Selection, Translation, View},
        targets::parse_due,
        twelve_decimals,
    },
    support::{clock::Timestamp, hint::SetupError, humanize::grouped},
};
use serde::Deserialize;
use std::{collections::BTreeMap, fs, path::Path};

/// The members of an earlier document that a comparison needs.
#[derive(Debug, Deserialize)]
struct OldDocument {
    version: u32,
    taken_at: String,
    #[serde(default)]
    scale_suspect: bool,
    repositories: Vec<OldRepository>,
}

#[derive(Debug, Deserialize)]
struct OldRepository {
    id: String,
    name: String,
    languages: Option<Vec<OldLanguage>>,
}

#[derive(Debug, Deserialize)]
struct OldLanguage {
    code: String,
    ratio: Option<f64>,
    #[serde(default)]
    missing: bool,
}

/// The translations of an earlier time.
#[derive(Debug)]
pub struct Since {
    pub taken_at: Timestamp,
    selection: Selection,
    /// Each with the name of its repository, by the id of that and its code, so that a rename
    /// changes nothing.
    translations: BTreeMap<(String, String), (String, OldLanguage)>,
}

/// Formats a change of a ratio in percentage points after a space, such as ` +2.5`; nothing if
/// there is none to show.
pub fn points(change: Option<f64>) -> String {
    let points = change.unwrap_or_default() * 100.0;
    match format!("{:+.1}", points.clamp(-999.0, 999.0)) {
        text if text == "+0.0" || text == "-0.0" => String::new(),
        text => format!(" {}", text.trim_end_matches(".0")),
    }
}

impl Since {
    /// Reads the file, to compare what is selected.
    ///
    /// # Errors
    /// Fails if the file cannot be read, or is no such JSON.
    pub fn read(path: &Path, selection: &Selection) -> Result<Self, SetupError> {
        let bad = |what| {
            let what = format!("--since {}: {what}", path.display());
            let hint = "give an earlier output of `once --output json`, or a copy of \
                        /translations.json";
            SetupError::new(what, hint)
        };
        let text = fs::read(path).map_err(|error| bad(format!("cannot be read: {error}")))?;
        Self::parse(&text, selection).map_err(bad)
    }

    /// Reads the text of the file.
    pub(super) fn parse(text: &[u8], selection: &Selection) -> Result<Self, String> {
        let old: OldDocument =
            serde_json::from_slice(text).map_err(|error| format!("is damaged: {error}"))?;
        if old.version != 1 {
            return Err(format!("has version {}, not 1", old.version));
        }
        let taken_at = parse_due(&old.taken_at).ok_or("is damaged: taken_at is no time")?;
        let mut translations = BTreeMap::new();
        for OldRepository {
            id,
            name,
            languages,
        } in old.repositories
        {
            for mut language in languages.into_iter().flatten() {
                if !language.missing && selection.languages.matches(&language.code) {
                    if old.scale_suspect {
                        language.ratio = None;
                    }
                    let key = (id.clone(), language.code.clone());
                    translations.insert(key, (name.clone(), language));
                }
            }
        }
        Ok(Self {
            taken_at,
            selection: selection.clone(),
            translations,
        })
    }

    fn of(&self, row: &Row, one: &Translation) -> Option<&OldLanguage> {
        let key = (row.repository.id.to_string(), one.code().to_owned());
        let (_, earlier) = self.translations.get(&key)?;
        Some(earlier)
    }

    /// Returns the ratio minus the earlier one; `None` if one of the two is unknown, or cannot be
    /// trusted.
    pub fn change(&self, row: &Row, one: &Translation) -> Option<f64> {
        Some(twelve_decimals(one.ratio? - self.of(row, one)?.ratio?))
    }

    /// Returns the state that a translation has entered since.
    pub fn became(&self, row: &Row, one: &Translation) -> Option<&'static str> {
        one.became(self.of(row, one)?.ratio, self.taken_at)
    }

    /// Returns id, repository and code of the earlier translations that have left or that the
    /// filters leave out. A repository that was not read, or not listed, may still have its
    /// languages. A renamed repository is chosen by either name.
    pub fn unlisted<'a>(
        &'a self,
        view: &'a View<'a>,
    ) -> impl Iterator<Item = (&'a str, &'a str, &'a str)> {
        let rows = view.rows.iter();
        let rows: BTreeMap<_, _> = rows
            .map(|row| (row.repository.id.to_string(), row))
            .collect();
        let earlier = self.translations.iter();
        earlier.filter_map(move |((id, code), (name, _))| {
            let name = if let Some(row) = rows.get(id) {
                let now = row.language(code);
                let has_left = row.is_read() && now.is_none_or(|one| one.is_missing);
                has_left.then(|| row.name())
            } else {
                let has_left =
                    view.document.is_listed() && self.selection.repositories.matches(name);
                has_left.then_some(&**name)
            };
            Some((&**id, name?, &**code))
        })
    }

    /// Counts the changes, then says which translations became overdue, or are no longer ready or
    /// listed, and then which became ready.
    pub fn changes(&self, view: &View<'_>) -> Vec<String> {
        let became = |state| {
            let translations = view.translations();
            let became = translations.filter(|(row, one)| self.became(row, one) == Some(state));
            let line = |(row, one): (&Row, &Translation)| {
                let (code, change) = (one.code(), points(self.change(row, one)));
                format!("{code}{change} of {} became {state}", row.name())
            };
            (state, became.map(line).collect::<Vec<_>>())
        };
        let unlisted = self.unlisted(view);
        let unlisted = unlisted.map(|(_, name, code)| format!("{code} of {name} became unlisted"));
        let unlisted = ("unlisted", unlisted.collect());
        let mut changes = vec![
            became("overdue"),
            became("unready"),
            unlisted,
            became("ready"),
        ];
        changes.retain(|(_, lines)| !lines.is_empty());
        let counts = changes.iter();
        let counts = counts.map(|(state, lines)| format!("{} {state}", grouped(lines.len())));
        let counts = counts.collect::<Vec<_>>().join(", ");
        // The line reads like `2 became overdue, 1 unready`.
        let counts = (!changes.is_empty()).then(|| counts.replacen(' ', " became ", 1));
        let lines = changes.into_iter().flat_map(|(_, lines)| lines);
        counts.into_iter().chain(lines).collect()
    }
}
