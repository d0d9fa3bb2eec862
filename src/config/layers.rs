//! The layers: defaults, the file, the environment, the options, in this order; later ones win.

use super::{
    ConfigError, DEMO_FILE, Options, file,
    mistake::{Mistake, Source},
    reader::Reader,
    schema::{KEYS, Key, PREFIX, TARGETS, sections},
};
use crate::support::escape::nearest;
use std::{
    ffi::{OsStr, OsString},
    path::Path,
};

/// All layers merged. What is wrong with single values or names is among the mistakes of the reader.
///
/// # Errors
/// The file cannot be read at all.
pub fn merge(
    options: &Options,
    environment: &[(OsString, OsString)],
) -> Result<Reader, ConfigError> {
    let mut reader = Reader::default();
    let mut read = file::read_text(&mut reader, &options.defaults, Path::new(DEMO_FILE));
    if let Some(path) = &options.config_file {
        read = read.and_then(|()| file::read(&mut reader, path));
    }
    for (name, value) in environment {
        variable(&mut reader, &name.to_string_lossy(), value);
    }
    if let Err(mistake) = read {
        reader.mistakes.push(mistake);
        return Err(ConfigError(reader.mistakes));
    }
    for (path, text) in &options.flags {
        if let Some(key) = Key::find(path)
            && let Some(flag) = &key.flag
        {
            reader.set(key, text, Source::Named(flag.name.to_owned()));
        }
    }
    reader.has_unknown = !reader.mistakes.is_empty();
    Ok(reader)
}

/// A blank variable is not set.
fn variable(reader: &mut Reader, name: &str, value: &OsStr) {
    if value.to_string_lossy().trim().is_empty() {
        return;
    }
    let source = Source::Named(name.to_owned());
    let key = KEYS.iter().find(|key| key.variable() == name);
    match (key, value.to_str()) {
        (None, _) => reader.mistakes.extend(unknown(name, source)),
        (Some(key), Some(text)) => reader.set(key, text, source),
        (key, None) => reader.mistakes.push(Mistake {
            key,
            ..Mistake::new(source, "is not UTF-8", "write it in UTF-8")
        }),
    }
}

/// What is wrong with a variable that belongs to no key. Kubernetes injects some with the prefix, none of which has two
/// underscores in a row: they are not ours.
fn unknown(name: &str, source: Source) -> Option<Mistake> {
    let one_underscore = |key: &&Key| key.variable().replace("__", "_") == name;
    if let Some(key) = KEYS.iter().find(one_underscore) {
        let what = "section and key are joined by two underscores";
        let hint = format!("write {}", key.variable());
        return Some(Mistake::new(source, what, hint));
    }
    let rest = name.strip_prefix(PREFIX)?;
    if sections().contains(&&*rest.to_ascii_lowercase()) {
        let what = "names a section, not a key";
        let hint = format!("write {name}__<KEY>, a variable for each key");
        return Some(Mistake::new(source, what, hint));
    }
    if rest.eq_ignore_ascii_case(TARGETS) {
        let what = "targets cannot be a variable";
        return Some(Mistake::new(
            source,
            what,
            "write them into the file of --config.file",
        ));
    }
    if !rest.contains("__") {
        return None;
    }
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
    Some(Mistake::new(source, "unknown variable", hint))
}
