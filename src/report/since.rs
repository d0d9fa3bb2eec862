//! The changes since an earlier time: since the file of `--since`, an output of `once` as JSON or
//! `/translations.json`, or else since the readings of last week.

use super::{
    answer::counts,
    whose,
    words::{date, percent, whole},
};
use crate::{
    domain::{
        TranslationProblem,
        document::{Row, Translation, View},
        targets::parse_due,
    },
    support::{
        clock::{DAY, Timestamp},
        hint::SetupError,
        humanize::{SOME, named},
    },
};
use serde_json::Value;
use std::{collections::BTreeMap, fs, path::Path};

/// The translations of an earlier document.
#[derive(Debug)]
pub struct Since {
    pub taken_at: Timestamp,
    /// The ratio of each with the name of its repository, by the id of that and its code, so that
    /// a rename changes nothing.
    translations: BTreeMap<(String, String), (String, Option<f64>)>,
}

impl Since {
    /// Reads the file.
    ///
    /// # Errors
    /// Fails if the file cannot be read, or is no such JSON.
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
        let old: Value =
            serde_json::from_slice(text).map_err(|error| format!("is damaged: {error}"))?;
        if old["version"] != 1 {
            return Err(format!("has version {}, not 1", old["version"]));
        }
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let taken_at =
            parse_due(&text(&old["taken_at"])).ok_or("is damaged: taken_at is no time")?;
        let items = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let mut translations = BTreeMap::new();
        for repository in items(&old["repositories"]) {
            for language in items(&repository["languages"]) {
                if language["missing"] != true {
                    let key = (text(&repository["id"]), text(&language["code"]));
                    let earlier = (text(&repository["name"]), language["ratio"].as_f64());
                    translations.insert(key, earlier);
                }
            }
        }
        Ok(Self {
            taken_at,
            translations,
        })
    }

    /// Returns the earlier ratio of a translation, if it was known.
    pub fn ratio(&self, row: &Row, one: &Translation) -> Option<f64> {
        let key = (row.repository.id.to_string(), one.code().to_owned());
        self.translations.get(&key)?.1
    }

    /// Names the earlier translations that have left or that the filters leave out. A repository
    /// that was not read, or not listed, may still have its languages. A renamed repository is
    /// chosen by either name.
    fn unlisted(&self, view: &View<'_>) -> Vec<String> {
        let rows = view.rows.iter();
        let rows: BTreeMap<_, _> = rows
            .map(|row| (row.repository.id.to_string(), row))
            .collect();
        let unlisted = self.translations.iter().filter(|((id, code), (name, _))| {
            let has_left = match rows.get(id) {
                Some(row) => row.is_read() && row.language(code).is_none_or(|one| one.is_missing),
                None => view.document.is_listed() && view.selection.has_repository(name),
            };
            has_left && view.selection.has_language(code)
        });
        let unlisted = unlisted.map(|((id, code), (name, _))| {
            let name = rows.get(id).map_or(&**name, |row| row.name());
            format!("{code} of {name}")
        });
        unlisted.collect()
    }
}

/// Returns the ratio of a translation in the earlier document, or else in its reading of last
/// week.
fn earlier(since: Option<&Since>, row: &Row, one: &Translation) -> Option<f64> {
    match since {
        Some(since) => since.ratio(row, one),
        None => one.earlier.map(|earlier| earlier.ratio),
    }
}

/// Formats the change of a ratio as ` +4`, the difference of the percentages then and now; nothing
/// without a difference.
pub fn gain(since: Option<&Since>, row: &Row, one: &Translation) -> String {
    let gain = earlier(since, row, one)
        .zip(one.ratio)
        .map(|(then, now)| whole(now) - whole(then));
    let gain = gain.filter(|gain| gain.abs() >= 1.0);
    gain.map_or_else(String::new, |gain| format!(" {gain:+}"))
}

/// Lists the changes, first those for the worse; `None` in the first day without an earlier
/// document.
pub fn changed(view: &View<'_>, since: Option<&Since>) -> Option<String> {
    let (translations, now) = (view.translations(), view.document.taken_at);
    let readings = translations
        .clone()
        .filter_map(|(_, one)| Some(one.earlier?.at));
    let week = readings.min().filter(|at| now.since(*at) >= DAY);
    let at = since.map_or(week, |since| Some(since.taken_at))?;
    let state = |row: &Row, one: &Translation| {
        let became = one.became(earlier(since, row, one), at);
        became.or_else(|| {
            one.has(TranslationProblem::Regressed)
                .then_some("regressed")
        })
    };
    let affected = |words, wanted| {
        let affected = translations.clone();
        let affected = affected.filter(|(row, one)| state(row, one) == Some(wanted));
        let affected = affected.map(|(row, one)| {
            let (ratio, gain) = (percent(one.ratio), gain(since, row, one));
            format!("{} {ratio}{gain}", whose(row, one))
        });
        let affected: Vec<_> = affected.collect();
        (affected.len(), words, named(affected, SOME))
    };
    let unlisted = since.map_or_else(Vec::new, |since| since.unlisted(view));
    let changes = counts([
        affected("fell", "regressed"),
        affected("became overdue", "overdue"),
        affected("no longer ready", "unready"),
        (unlisted.len(), "no longer listed", named(unlisted, SOME)),
        affected("became ready", "ready"),
    ]);
    let changes = changes.unwrap_or_else(|| {
        "nothing is known to have become ready or overdue, or to have fallen".to_owned()
    });
    Some(format!("Since {}: {changes}.", date(at, now)))
}
