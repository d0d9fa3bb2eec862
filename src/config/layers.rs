//! The layers: defaults, the file, the environment, the options, in this order; later ones win.

use super::{
    ConfigError, DEMO_FILE, Options, file,
    keys::{KEYS, Key, PREFIX, TARGETS, sections},
    reader::Reader,
};
use crate::support::hint::{is_plain, nearest};
use figment::Metadata;
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
    let mut reader = Reader::with_defaults(KEYS);
    let mut read = file::read_text(&mut reader, &options.defaults, Path::new(DEMO_FILE));
    if let Some(path) = &options.config_file {
        read = file::read(&mut reader, path);
    }
    for (name, value) in environment {
        variable(&mut reader, &name.to_string_lossy(), value);
    }
    if read.is_none() {
        let mistakes = reader.mistakes;
        return Err(ConfigError { mistakes });
    }
    for (path, text) in &options.flags {
        if let Some(key) = Key::find(path)
            && let Some(flag) = &key.flag
        {
            reader.set(key, text, Metadata::named(flag.name));
        }
    }
    Ok(reader)
}

/// Sets the key of a variable above the earlier layers; a blank variable sets nothing.
fn variable(reader: &mut Reader, name: &str, value: &OsStr) {
    if value.to_string_lossy().trim().is_empty() {
        return;
    }
    let place = Metadata::named(name.to_owned());
    let key = KEYS.iter().find(|key| key.variable() == name);
    match (key, value.to_str()) {
        (None, _) => unknown(reader, name, &place),
        (Some(key), Some(text)) => reader.set(key, text, place),
        (Some(key), None) => {
            reader.note(key.path, &place, "is not UTF-8; write it in UTF-8");
        }
    }
}

/// Notes a variable that belongs to no key. Kubernetes injects variables with the prefix, but
/// without two underscores in a row; they are no mistake, unless they spell a key or a section.
fn unknown(reader: &mut Reader, name: &str, place: &Metadata) {
    let Some(rest) = name.strip_prefix(PREFIX) else {
        return;
    };
    let is_spelt = |path: &str| path.replace('.', "_").eq_ignore_ascii_case(rest);
    let is_section = sections().into_iter().chain([TARGETS]).any(is_spelt);
    if !is_section && !rest.contains("__") && !KEYS.iter().any(|key| is_spelt(key.path)) {
        return;
    }
    let near = nearest(rest, KEYS.iter().map(|key| key.path)).and_then(Key::find);
    let problem = if rest == "CONFIG__FILE" {
        "unknown variable; only --config.file names the configuration file".to_owned()
    } else if let Some(key) = near.filter(|_| !is_section) {
        format!("unknown variable; did you mean {}?", key.variable())
    } else {
        format!(
            "unknown variable; write {PREFIX}<SECTION>__<KEY>; the sections are {}; {TARGETS} can \
             only be set in the file",
            sections().join(", ")
        )
    };
    if is_plain(rest) {
        reader.note("", place, problem);
    } else {
        reader.note("", &Metadata::named(format!("{PREFIX}…")), problem);
    }
}
