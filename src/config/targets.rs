//! `targets`: a list in the file alone. Each mistake in it names the line.

use super::{
    file::{Name, texts},
    mistake::{Mistake, Source},
    reader::Reader,
};
use crate::{
    targets::{Entry, Target, Targets, parse_due},
    text::nearest,
};
use globset::{GlobBuilder, GlobSet};
use serde_json::Value;
use serde_saphyr::Spanned;
use std::{collections::BTreeMap, path::Path};

/// The only part of a file that is a list.
pub const TARGETS: &str = "targets";

const MEMBERS: [&str; 4] = ["repositories", "languages", "ratio", "due"];
const RATIO: &str = "give a ratio from 0 to 1, such as 0.95";
const DUE: &str =
    "give a date such as 2026-12-24, or a time with its offset such as 2026-12-24T18:00:00Z";
const GLOBS: &str = "give a list of globs in quotes; leave it out to match all";

/// Reads the list that begins in a line of the file at `path`.
pub fn read(
    reader: &mut Reader,
    path: &Path,
    line: u64,
    entries: Vec<Spanned<BTreeMap<Name, Value>>>,
) {
    let source = |line| Source::File(path.to_owned(), line);
    let (mut targets, mut shown) = (Vec::new(), Vec::new());
    for members in entries {
        let mut entry = Entry {
            source: source(members.referenced.line()).to_string(),
            repositories: GlobSet::empty(),
            languages: GlobSet::empty(),
            target: Target::default(),
        };
        let mut written = Vec::new();
        for (Name { text, line }, value) in &members.value {
            written.push(format!("{text}: {value}"));
            set(&mut entry, text, value, |what, hint| {
                let what = format!("{TARGETS}.{text} {what}");
                let mistake = Mistake::new(source(*line), what, hint);
                reader.mistakes.push(mistake);
            });
        }
        shown.push(written.join(", "));
        targets.push(entry);
    }
    reader.put(TARGETS, &shown.join("; "), source(line));
    reader.targets = Targets(targets);
}

/// Sets a member of an entry, or says what is wrong with it and what to do.
fn set(entry: &mut Entry, member: &str, value: &Value, mut wrong: impl FnMut(String, &str)) {
    let is = format!("is {value}");
    match member {
        _ if value.is_null() => {}
        "repositories" => entry.repositories = globs_of(value, true, wrong),
        "languages" => entry.languages = globs_of(value, false, wrong),
        "ratio" => match value.as_f64() {
            Some(ratio) if (0.0..=1.0).contains(&ratio) => entry.target.ratio = ratio,
            Some(percent) if (1.0..=100.0).contains(&percent) => {
                let hint = format!("write {}: it is a ratio, not a percentage", percent / 100.0);
                wrong(is, &hint);
            }
            _ => wrong(is, RATIO),
        },
        "due" => match value.as_str().and_then(parse_due) {
            None => wrong(is, DUE),
            due => entry.target.due = due,
        },
        _ => {
            let hint = match nearest(member, MEMBERS) {
                Some(near) => format!("did you mean \"{near}\"?"),
                None => format!("an entry has {}", MEMBERS.join(", ")),
            };
            wrong("is unknown".to_owned(), &hint);
        }
    }
}

fn globs_of(value: &Value, of_repositories: bool, mut wrong: impl FnMut(String, &str)) -> GlobSet {
    let items = match value {
        Value::Array(items) => items.as_slice(),
        one => std::slice::from_ref(one),
    };
    match texts(items).as_deref() {
        Err(kind) => wrong(format!("holds {kind}"), GLOBS),
        Ok([]) => wrong("is empty, so that it matches nothing".to_owned(), GLOBS),
        Ok(patterns) => return globs(patterns, of_repositories, GLOBS, wrong),
    }
    GlobSet::empty()
}

/// Globs of which `*` stays within a segment: on owner/repo, or on codes. What is wrong with them is said with a hint, which is
/// `hint` unless another one helps more.
pub fn globs(
    patterns: &[impl AsRef<str>],
    of_repositories: bool,
    hint: &str,
    mut wrong: impl FnMut(String, &str),
) -> GlobSet {
    let mut set = GlobSet::builder();
    for pattern in patterns.iter().map(AsRef::as_ref) {
        let holds = format!("holds the glob {pattern:?}");
        let is_list = pattern.starts_with('[') && pattern.find(']') == Some(pattern.len() - 1);
        match GlobBuilder::new(pattern).literal_separator(true).build() {
            _ if is_list || pattern.contains([' ', '"', '\'']) => wrong(
                format!(
                    "{holds}, which contains a blank, a quote or brackets around it, so it matches nothing"
                ),
                hint,
            ),
            Ok(_) if of_repositories && !pattern.contains('/') && !pattern.contains("**") => wrong(
                format!("{holds}, which contains no slash, so it matches no owner/repo"),
                "append /* to match all repositories of an owner",
            ),
            Ok(glob) => drop(set.add(glob)),
            Err(error) => wrong(format!("{holds}: {}", error.kind()), hint),
        }
    }
    set.build().unwrap_or_else(|error| {
        wrong(format!("is too large: {error}"), hint);
        GlobSet::empty()
    })
}
