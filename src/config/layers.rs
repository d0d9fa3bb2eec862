//! The layers: defaults, the file, the environment, the options, in this order; later ones win.

use super::{
    ConfigError, DEMO_FILE, Options, file,
    keys::{KEYS, Key, PREFIX, TARGETS, sections},
    reader::Reader,
};
use crate::support::hint::{is_plain, nearest};
use std::{
    ffi::{OsStr, OsString},
    path::Path,
};

/// Merges all layers. Notes unknown names, and values that are not text.
///
/// # Errors
/// Fails if the file cannot be read at all.
pub fn merge(
    options: &Options,
    environment: &[(OsString, OsString)],
) -> Result<Reader, ConfigError> {
    let [mut demo, mut file, mut variables, mut flags] = <[Reader; 4]>::default();
    let mut read = file::read_text(&mut demo, &options.defaults, Path::new(DEMO_FILE));
    if let Some(path) = &options.config_file {
        read = file::read(&mut file, path);
    }
    for (name, value) in environment {
        variable(&mut variables, &name.to_string_lossy(), value);
    }
    for (path, text) in &options.flags {
        if let Some(key) = Key::find(path) {
            flags.set(key, text, key.flag.to_owned(), Path::new(""));
        }
    }
    let defaults = Reader::defaults(KEYS.iter().chain([&TARGETS]));
    let reader = Reader::merge([defaults, demo, file, variables, flags]);
    match read {
        Ok(()) => Ok(reader),
        Err(mistake) => Err(ConfigError([vec![mistake], reader.mistakes].concat())),
    }
}

/// Sets the key of a variable; a blank variable sets nothing.
fn variable(reader: &mut Reader, name: &str, value: &OsStr) {
    if value.to_string_lossy().trim().is_empty() {
        return;
    }
    if let Some(key) = KEYS.iter().find(|key| key.variable() == name) {
        let text = value.to_str();
        let setting = reader.set(
            key,
            text.unwrap_or_default(),
            name.to_owned(),
            Path::new(""),
        );
        if text.is_none() {
            setting.mistake("is not UTF-8; write it in UTF-8");
        }
    } else if let Some(rest) = name.strip_prefix(PREFIX)
        && let Some(hint) = meant(rest)
    {
        let name = if is_plain(rest) { rest } else { "…" };
        let mistake = format!("{PREFIX}{name}: unknown variable; {hint}");
        reader.mistakes.push(mistake);
    }
}

/// Returns the remedy for a variable that belongs to no key. Kubernetes injects variables with the
/// prefix, but without two underscores in a row; they are no mistake, unless they spell a key or a
/// section.
fn meant(rest: &str) -> Option<String> {
    let paths = || KEYS.iter().map(|key| key.path);
    let is_spelt = |path: &str| path.replace('.', "_").eq_ignore_ascii_case(rest);
    if !rest.contains("__") && !paths().chain(sections()).any(is_spelt) {
        return None;
    }
    Some(match nearest(rest, paths()).and_then(Key::find) {
        _ if rest == "CONFIG__FILE" => "only --config.file names the configuration file".to_owned(),
        Some(key) => format!("did you mean {}?", key.variable()),
        _ => format!(
            "write {PREFIX}<SECTION>__<KEY>; the sections are {}, of which the file alone sets {}",
            sections().join(", "),
            TARGETS.path
        ),
    })
}
