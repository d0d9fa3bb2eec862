//! `targets`: a list in the file alone. Each mistake in it names the line.

use super::{
    file::{Lines, kind},
    mistake::{Mistake, Source},
    reader::quoted,
};
use crate::{
    clock::Clock,
    model::Timestamp,
    targets::{Entry, Target, TargetRatio, Targets, globs, parse_due},
    text::nearest,
};
use figment::value::{Dict, Value};
use globset::GlobSet;
use std::path::Path;

const MEMBERS: [&str; 4] = ["repositories", "languages", "ratio", "due"];
const LIST: &str =
    "write a list below it, such as `- {languages: [de, \"pt-*\"], ratio: 0.95, due: 2026-12-24}`";
const RATIO: &str = "give a ratio from 0 to 1, such as 0.95";
const DUE: &str =
    "give a date such as 2026-12-24, or a time with its offset such as 2026-12-24T18:00:00Z";
const GLOBS: &str = "give a list of globs in quotes; leave it out to match all";

/// The targets of a file, and how they are written.
#[derive(Default)]
pub(super) struct TargetList {
    pub targets: Targets,
    pub source: Option<Source>,
    /// Of each entry what it says, for people.
    pub shown: Vec<String>,
    /// What is valid but probably not intended.
    pub warnings: Vec<Mistake>,
}

/// What is wrong with the value of a member, and what to do.
type Wrong = (String, String);

impl TargetList {
    /// Where it begins.
    pub fn source(&self) -> Source {
        self.source.clone().unwrap_or(Source::Default)
    }

    /// Reads the list. What is wrong with it is added to `mistakes`.
    pub fn read(&mut self, value: Value, path: &Path, lines: &Lines, mistakes: &mut Vec<Mistake>) {
        let source = |name: &str| Source::File(path.to_owned(), lines.get(name).copied());
        self.source = Some(source("targets"));
        let Value::Array(_, items) = value else {
            let what = format!("targets is {}", kind(&value));
            mistakes.push(Mistake::new(None, source("targets"), what, LIST));
            return;
        };
        for (index, item) in items.into_iter().enumerate() {
            let place = |member: &str| source(&format!("targets.{index}.{member}"));
            let Value::Dict(_, members) = item else {
                let what = format!("entry {} of targets is {}", index + 1, kind(&item));
                mistakes.push(Mistake::new(None, source("targets"), what, LIST));
                continue;
            };
            let first = members.keys().map(|member| place(member)).next();
            let mut entry = Entry {
                source: first.unwrap_or_else(|| source("targets")).to_string(),
                repositories: None,
                languages: None,
                target: Target::default(),
            };
            self.shown.push(shown(&members));
            for (member, value) in members {
                if let Err((what, hint)) = set(&mut entry, &member, &value) {
                    mistakes.push(Mistake::new(None, place(&member), what, hint));
                }
            }
            let now = Clock::system().now();
            if let Some(due) = entry.target.due.filter(|due| *due < now) {
                let what = format!("targets.due is past: {due}");
                let hint = "what is not ready is shown as missed; give a later date, or remove it";
                let warning = Mistake::new(None, place("due"), what, hint);
                self.warnings.push(warning);
            }
            self.targets.0.push(entry);
        }
    }
}

/// Sets a member of an entry.
fn set(entry: &mut Entry, member: &str, value: &Value) -> Result<(), Wrong> {
    match member {
        _ if matches!(value, Value::Empty(..)) => {}
        "repositories" => entry.repositories = Some(set_of(member, value)?),
        "languages" => entry.languages = Some(set_of(member, value)?),
        "ratio" => entry.target.ratio = ratio(value)?,
        "due" => entry.target.due = Some(due(value)?),
        _ => {
            let hint = match nearest(member, MEMBERS) {
                Some(near) => format!("did you mean \"{near}\"?"),
                None => format!("an entry has {}", MEMBERS.join(", ")),
            };
            return Err((format!("unknown key {} in targets", quoted(member)), hint));
        }
    }
    Ok(())
}

fn set_of(member: &str, value: &Value) -> Result<GlobSet, Wrong> {
    let wrong = |what: String| (format!("targets.{member} {what}"), GLOBS.to_owned());
    let items = match value {
        Value::Array(_, items) => items.as_slice(),
        one => std::slice::from_ref(one),
    };
    let mut patterns = Vec::new();
    for item in items {
        match item.as_str() {
            Some(pattern) => patterns.push(pattern),
            None => return Err(wrong(format!("holds {}", kind(item)))),
        }
    }
    if patterns.is_empty() {
        return Err(wrong("is empty, so that it matches nothing".to_owned()));
    }
    let no_name = |pattern: &&&str| !pattern.contains('/') && !pattern.contains("**");
    if let ("repositories", Some(pattern)) = (member, patterns.iter().find(no_name)) {
        let what = format!("the glob {} contains no slash", quoted(pattern));
        let hint = "append /* to match all repositories of an owner";
        return Err((format!("targets.{member}: {what}"), hint.to_owned()));
    }
    globs(&patterns).map_err(|error| {
        let pattern = quoted(error.glob().unwrap_or_default());
        wrong(format!("holds the glob {pattern}: {}", error.kind()))
    })
}

fn ratio(value: &Value) -> Result<TargetRatio, Wrong> {
    let wrong = |what: &str, hint: String| (format!("targets.ratio is {what}"), hint);
    let Ok(number) = value.deserialize::<f64>() else {
        return Err(wrong(kind(value), RATIO.to_owned()));
    };
    TargetRatio::new(number).ok_or_else(|| {
        let hint = if (1.0..=100.0).contains(&number) {
            format!("write {}: it is a ratio, not a percentage", number / 100.0)
        } else {
            RATIO.to_owned()
        };
        wrong(&number.to_string(), hint)
    })
}

fn due(value: &Value) -> Result<Timestamp, Wrong> {
    let wrong = |what: String| (format!("targets.due is {what}"), DUE.to_owned());
    let text = value
        .as_str()
        .ok_or_else(|| wrong(kind(value).to_owned()))?;
    parse_due(text.trim()).ok_or_else(|| wrong(quoted(text)))
}

/// An entry as it was written.
fn shown(members: &Dict) -> String {
    let mut shown = Vec::new();
    for (name, value) in members {
        // It holds text, numbers and lists alone.
        let value = serde_json::to_string(value).unwrap_or_default();
        shown.push(format!("{name}: {value}"));
    }
    shown.join(", ")
}
