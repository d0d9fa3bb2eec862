//! The layers: defaults, the file, the environment, the options, in this order; later ones win.

use super::{
    ConfigError, Options,
    file::{self, File, TARGETS},
    keys::{KEYS, Key, PREFIX, Takes, sections},
    mistake::{Mistake, Source},
    reader::Reader,
};
use crate::text::nearest;
use figment::value::Value;
use std::{ffi::OsString, path::Path};

/// The value of a key in one layer: a text, or for a list its items.
pub(super) struct Entry {
    pub key: &'static Key,
    pub value: Value,
    pub source: Source,
}

impl Entry {
    /// The text for a list is split; other text is trimmed, except a secret.
    pub fn new(key: &'static Key, text: &str, source: Source) -> Self {
        let value = match key.takes {
            Takes::List => split(text).into(),
            Takes::Secret => text.into(),
            _ => text.trim().into(),
        };
        Self { key, value, source }
    }
}

/// The items of a list that is written as one text. A comma within the braces of a glob is the glob's own.
fn split(text: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    let items = text.split(|c| {
        depth = depth.saturating_sub(usize::from(c == '}')) + usize::from(c == '{');
        c == ',' && depth == 0
    });
    items
        .map(str::trim)
        .filter(|item| !item.is_empty())
        .collect()
}

/// All layers merged. What is wrong with single values or names is among the mistakes of the reader.
///
/// # Errors
/// The file cannot be read at all.
pub(super) fn merge(
    options: &Options,
    environment: &[(OsString, OsString)],
) -> Result<Reader, ConfigError> {
    let mut mistakes = Vec::new();
    let variables = variables(environment, &mut mistakes);
    let file = match &options.config_file {
        None => Ok(File::default()),
        Some(path) => file::read(path, &mut mistakes),
    };
    let preset = match options.defaults.get(TARGETS) {
        None => Ok(File::default()),
        Some(text) => file::values(text, Path::new("default"), &mut mistakes),
    };
    let (file, preset) = match (file, preset) {
        (Ok(file), Ok(preset)) => (file, preset),
        (Err(mistake), _) | (_, Err(mistake)) => {
            mistakes.push(mistake);
            return Err(ConfigError(mistakes));
        }
    };
    let mut read = Reader::new(mistakes);
    read.targets = file.targets.or(preset.targets).unwrap_or_default();
    let default = |key: &'static Key| {
        let text = options
            .defaults
            .get(key.path)
            .map_or(key.default, String::as_str);
        Entry::new(key, text, Source::Default)
    };
    read.merge(KEYS.iter().map(default).collect());
    read.merge(file.entries);
    read.merge(variables);
    read.merge(flags(options));
    Ok(read)
}

fn flags(options: &Options) -> Vec<Entry> {
    let mut entries = Vec::new();
    for key in KEYS {
        if let (Some(flag), Some(typed)) = (&key.flag, options.flags.get(key.path)) {
            let text = match key.takes {
                Takes::List => typed.join(","),
                _ => typed.last().cloned().unwrap_or_default(),
            };
            entries.push(Entry::new(key, &text, Source::Option(flag.name)));
        }
    }
    entries
}

fn variables(environment: &[(OsString, OsString)], mistakes: &mut Vec<Mistake>) -> Vec<Entry> {
    let mut entries = Vec::new();
    for (name, value) in environment {
        let Some(name) = name.to_str().filter(|name| name.starts_with(PREFIX)) else {
            continue;
        };
        let source = Source::Variable(name.to_owned());
        let key = KEYS.iter().find(|key| key.variable() == name);
        match (key, value.to_str()) {
            (None, _) => mistakes.extend(unknown(name, source)),
            (Some(key), None) => {
                mistakes.push(Mistake::new(
                    Some(key),
                    source,
                    "is not UTF-8",
                    "write it in UTF-8",
                ));
            }
            // Blank is not set.
            (Some(_), Some(value)) if value.trim().is_empty() => {}
            (Some(key), Some(value)) => entries.push(Entry::new(key, value, source)),
        }
    }
    entries
}

/// A variable that belongs to no key. Kubernetes injects some with the prefix, none of which has two underscores in a row:
/// they are not ours.
fn unknown(name: &str, source: Source) -> Option<Mistake> {
    let one_underscore = |key: &&Key| key.variable().replace("__", "_") == name;
    if let Some(key) = KEYS.iter().find(one_underscore) {
        let what = "section and key are joined by two underscores";
        return Some(Mistake::new(
            None,
            source,
            what,
            format!("write {}", key.variable()),
        ));
    }
    let rest = name
        .strip_prefix(PREFIX)
        .filter(|rest| rest.contains("__"))?;
    let paths = KEYS.iter().map(|key| key.path);
    let hint = match nearest(rest, paths).and_then(Key::find) {
        _ if rest == "CONFIG__FILE" => {
            "the configuration file is given by --config.file alone".to_owned()
        }
        Some(key) => format!("did you mean {}?", key.variable()),
        None => format!(
            "write {PREFIX}<SECTION>__<KEY>; the sections are {}",
            sections().join(", ")
        ),
    };
    Some(Mistake::new(None, source, "unknown variable", hint))
}
