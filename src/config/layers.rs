//! The layers: defaults, the file, the environment, the options, in this order; later ones win.

use super::{
    ConfigError, DEMO_FILE, Options, file,
    keys::{KEYS, Key, PREFIX, TARGETS, removed, sections},
    reader::Reader,
};
use crate::support::hint::nearest;
use figment::Metadata;
use std::{
    ffi::{OsStr, OsString},
    path::Path,
};

/// Merges all layers. Notes unknown names, and values that are not text.
///
/// # Errors
/// The file cannot be read at all.
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

/// Notes a variable that belongs to no key. Kubernetes injects variables with the
/// prefix but without two underscores in a row; they are no mistake.
fn unknown(reader: &mut Reader, name: &str, place: &Metadata) {
    let Some(rest) = name.strip_prefix(PREFIX) else {
        return;
    };
    let is_spelt = |path: &str| path.replace('.', "_").eq_ignore_ascii_case(rest);
    let removed = removed(&rest.replace("__", ".").to_lowercase());
    let (what, hint) = if let Some(key) = KEYS.iter().find(|key| is_spelt(key.path)) {
        let what = "section and key are joined by two underscores";
        (what, format!("write {}", key.variable()))
    } else if is_spelt(TARGETS) {
        let hint = "write them into the file of --config.file";
        ("targets cannot be a variable", hint.to_owned())
    } else if sections().into_iter().any(is_spelt) {
        let hint = format!("write {name}__<KEY>, a variable for each key");
        ("names a section, not a key", hint)
    } else if let Some(why) = removed {
        ("is gone", format!("remove it: {why}"))
    } else if rest == "CONFIG__FILE" {
        let hint = "the configuration file is given by --config.file alone";
        ("unknown variable", hint.to_owned())
    } else if rest.contains("__") {
        let near = nearest(rest, KEYS.iter().map(|key| key.path)).and_then(Key::find);
        let hint = match near {
            Some(key) => format!("did you mean {}?", key.variable()),
            None => format!(
                "write {PREFIX}<SECTION>__<KEY>; the sections are {}",
                sections().join(", ")
            ),
        };
        ("unknown variable", hint)
    } else {
        return;
    };
    reader.note("", place, format_args!("{what}; {hint}"));
}
