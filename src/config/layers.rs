//! The layers: defaults, the file, the environment, the options, in this order; later ones win.

use super::{
    Options,
    entry::Entry,
    error::ConfigError,
    file,
    keys::{KEYS, Key, PREFIX, Takes, sections},
};
use crate::text::nearest;
use figment::Figment;
use std::ffi::OsString;

/// All layers merged, and what no key could have meant.
///
/// # Errors
/// The file cannot be read at all.
pub(super) fn merge(
    options: &Options,
    environment: &[(OsString, OsString)],
) -> Result<(Figment, Vec<String>), ConfigError> {
    let mut mistakes = Vec::new();
    let defaults = KEYS.iter().filter(|key| !key.default.is_empty()).map(|key| (key.path, key.default.to_owned()));
    let mut entries = preset(defaults, "default");
    entries.extend(preset(options.defaults.iter().cloned(), "demo"));
    let file = options.config_file.as_deref().map_or(Ok(Vec::new()), |path| file::read(path, &mut mistakes));
    let variables = variables(environment, &mut mistakes);
    match file {
        Ok(file) => entries.extend(file),
        Err(mistake) => {
            mistakes.insert(0, mistake);
            return Err(ConfigError(mistakes));
        }
    }
    entries.extend(variables);
    entries.extend(options.flags.iter().filter_map(|(path, typed)| flag(path, typed)));
    entries.extend(preset(options.overrides.iter().cloned(), "demo"));
    Ok((entries.into_iter().fold(Figment::new(), Figment::merge), mistakes))
}

fn preset(values: impl IntoIterator<Item = (&'static str, String)>, source: &str) -> Vec<Entry> {
    let entry = |(path, value): (&str, String)| Some(Entry::new(Key::find(path)?, value.into(), source.into()));
    values.into_iter().filter_map(entry).collect()
}

fn flag(path: &str, typed: &[String]) -> Option<Entry> {
    let key = Key::find(path)?;
    let value = match key.takes {
        Takes::List => typed.iter().filter(|text| !text.is_empty()).map(String::as_str).collect::<Vec<_>>().into(),
        _ => typed.last()?.as_str().into(),
    };
    Some(Entry::new(key, value, key.flag.as_ref()?.name.into()))
}

fn variables(environment: &[(OsString, OsString)], mistakes: &mut Vec<String>) -> Vec<Entry> {
    let mut entries = Vec::new();
    for (name, value) in environment {
        let Some(name) = name.to_str().filter(|name| name.starts_with(PREFIX)) else { continue };
        match (KEYS.iter().find(|key| key.variable() == name), value.to_str()) {
            (Some(_), Some("")) => {}
            (Some(key), Some(value)) => entries.push(Entry::new(key, value.into(), name.into())),
            (Some(key), None) => {
                mistakes.push(format!("{} ({name}): is not UTF-8; write its value in UTF-8", key.path));
            }
            (None, _) => mistakes.extend(unknown_variable(name).map(|problem| format!("{name}: {problem}"))),
        }
    }
    entries
}

/// Kubernetes injects variables with the prefix, none of which has two underscores in a row: they are not ours.
fn unknown_variable(name: &str) -> Option<String> {
    let rest = &name[PREFIX.len()..];
    if let Some(key) = KEYS.iter().find(|key| key.path.replace('.', "_").to_ascii_uppercase() == rest) {
        return Some(format!("section and key are joined by two underscores; write {}", key.variable()));
    }
    if !rest.contains("__") {
        return None;
    }
    let hint = if rest == "CONFIG__FILE" {
        "the configuration file is given by --config.file alone".to_owned()
    } else if let Some(variable) = nearest(rest, KEYS.iter().map(|key| key.variable().split_off(PREFIX.len()))) {
        format!("did you mean {PREFIX}{variable}?")
    } else {
        format!("write {PREFIX}<SECTION>__<KEY>; the sections are {}", sections().join(", "))
    };
    Some(format!("unknown variable; {hint}"))
}
