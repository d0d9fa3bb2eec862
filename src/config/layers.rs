//! The layers: defaults, the file, the environment, the options, in this order; later ones win.

use super::{
    ConfigError, Options,
    entry::Entry,
    file,
    keys::{KEYS, PREFIX, Takes, sections},
    reader::Reader,
};
use crate::text::nearest;
use figment::Figment;
use std::ffi::OsString;

/// All layers merged, with what no key could have meant as mistakes.
///
/// # Errors
/// The file cannot be read at all.
pub(super) fn merge(
    options: &Options,
    environment: &[(OsString, OsString)],
) -> Result<Reader, ConfigError> {
    let mut mistakes = Vec::new();
    let file = options
        .config_file
        .as_deref()
        .map_or(Some(Vec::new()), |path| file::read(path, &mut mistakes));
    let variables = variables(environment, &mut mistakes);
    let Some(file) = file else {
        return Err(ConfigError(mistakes));
    };
    let defaults = KEYS
        .iter()
        .map(|key| Entry::new(key.path, key.default.into(), "default"))
        .collect();
    let flags = KEYS.iter().filter_map(|key| {
        let (typed, flag) = (options.flags.get(key.path)?, key.flag.as_ref()?);
        let text = if key.takes == Takes::List {
            typed.join(",")
        } else {
            typed.last()?.clone()
        };
        Some(Entry::new(key.path, text.into(), flag.name))
    });
    let layers = [
        defaults,
        preset(&options.defaults),
        file,
        variables,
        flags.collect(),
        preset(&options.overrides),
    ];
    let figment = layers
        .into_iter()
        .flatten()
        .fold(Figment::new(), Figment::merge);
    Ok(Reader {
        figment,
        has_unknown: !mistakes.is_empty(),
        mistakes,
        warnings: Vec::new(),
    })
}

fn preset(values: &[(&'static str, String)]) -> Vec<Entry> {
    values
        .iter()
        .map(|(path, value)| Entry::new(path, value.as_str().into(), "demo"))
        .collect()
}

fn variables(environment: &[(OsString, OsString)], mistakes: &mut Vec<String>) -> Vec<Entry> {
    let mut entries = Vec::new();
    for (name, value) in environment {
        let Some(name) = name.to_str().filter(|name| name.starts_with(PREFIX)) else {
            continue;
        };
        match (
            KEYS.iter().find(|key| key.variable() == name),
            value.to_str(),
        ) {
            (Some(_), Some("")) => {}
            (Some(key), Some(value)) => entries.push(Entry::new(key.path, value.into(), name)),
            (Some(key), None) => mistakes.push(format!(
                "{} ({name}): is not UTF-8; write it in UTF-8",
                key.path
            )),
            (None, _) => {
                mistakes.extend(unknown_variable(name).map(|problem| format!("{name}: {problem}")));
            }
        }
    }
    entries
}

/// Kubernetes injects variables with the prefix, none of which has two underscores in a row: they are not ours.
fn unknown_variable(name: &str) -> Option<String> {
    if let Some(key) = KEYS
        .iter()
        .find(|key| key.variable().replace("__", "_") == name)
    {
        return Some(format!(
            "section and key are joined by two underscores; write {}",
            key.variable()
        ));
    }
    let rest = name
        .strip_prefix(PREFIX)
        .filter(|rest| rest.contains("__"))?;
    let hint = if rest == "CONFIG__FILE" {
        "the configuration file is given by --config.file alone".to_owned()
    } else if let Some(variable) = nearest(
        rest,
        KEYS.iter()
            .map(|key| key.variable().split_off(PREFIX.len())),
    ) {
        format!("did you mean {PREFIX}{variable}?")
    } else {
        format!(
            "write {PREFIX}<SECTION>__<KEY>; the sections are {}",
            sections().join(", ")
        )
    };
    Some(format!("unknown variable; {hint}"))
}
