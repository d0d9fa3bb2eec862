//! The configuration file: YAML, with the line of each name. No mistake in it quotes a value, which
//! may be the API key.

use super::{
    mistake::{Mistake, Source},
    reader::Reader,
    schema::{KEYS, Key, TARGETS, Takes, keys_of, sections},
    values::is_plain,
};
use crate::support::escape::{nearest, os_hint};
use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, Visitor},
};
use serde_json::Value;
use serde_saphyr::{Error, Spanned, from_str, with_deserializer_from_str};
use std::{collections::BTreeMap, fmt, fs, io::ErrorKind, path::Path};

/// Puts the file at `path` above the layers before.
///
/// # Errors
/// The file cannot be read or is not YAML.
pub fn read(reader: &mut Reader, path: &Path) -> Result<(), Mistake> {
    let text = fs::read_to_string(path).map_err(|error| {
        let hint = match error.kind() {
            ErrorKind::InvalidData => "save it as UTF-8",
            _ => os_hint(&error).unwrap_or("give a YAML file that exists and can be read"),
        };
        Mistake::new(
            Source::Named("--config.file".to_owned()),
            format!("cannot read {}: {error}", path.display()),
            hint,
        )
    })?;
    read_text(reader, &text, path)
}

/// Puts the text of a file above the layers before.
///
/// # Errors
/// The text is not YAML.
pub fn read_text(reader: &mut Reader, text: &str, path: &Path) -> Result<(), Mistake> {
    // The parser that keeps lines stops at a section of another type than expected, so the types
    // are read before.
    let read = from_str(text).and_then(|mut values: BTreeMap<String, Value>| {
        // Another order of the same names is no change.
        values.values_mut().for_each(Value::sort_all_objects);
        let file = File {
            path,
            reader,
            values,
        };
        with_deserializer_from_str(text, |yaml| yaml.deserialize_map(file))
    });
    read.map_err(|error| {
        let line = error.location().map_or(1, |location| location.line());
        let (what, hint) = explain(error.without_snippet());
        Mistake::new(Source::File(path.to_owned(), line), what, hint)
    })
}

/// Returns the problem of invalid YAML and its remedy, without a word of the file.
fn explain(error: &Error) -> (&'static str, &'static str) {
    match error {
        Error::DuplicateMappingKey { .. } => (
            "is not valid YAML: a name appears twice in one mapping",
            "remove one of the two",
        ),
        Error::MultipleDocuments { .. } => ("begins a second document", "keep one document"),
        Error::UnknownAnchor { .. } => (
            "is not valid YAML: an alias has no anchor",
            "put the value in quotes if it begins with an asterisk",
        ),
        Error::NonFiniteFloat { .. } => ("holds a number that is not finite", "give a finite one"),
        Error::Unexpected { .. } => (
            "is no mapping of keys",
            "write sections (api, poll, filter, links, state, web, log, targets) with their keys \
             below them, indented, each as `key: value`",
        ),
        _ => (
            "is not valid YAML: something is malformed",
            "look at this line and the one before it: indentation (blanks, not tabs), a missing \
             colon, quote or bracket",
        ),
    }
}

/// A name in the file.
#[derive(Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(from = "Spanned<String>")]
struct Name {
    text: String,
    line: u64,
}

impl From<Spanned<String>> for Name {
    fn from(name: Spanned<String>) -> Self {
        Self {
            line: name.referenced.line(),
            text: name.value,
        }
    }
}

const ENTRIES: &str =
    "write entries such as `- {languages: [de, \"pt-*\"], ratio: 0.95, due: 2026-12-24}` below it";

/// Hands the names and values of the file to the reader.
struct File<'a> {
    path: &'a Path,
    reader: &'a mut Reader,
    /// The value of each name at the top.
    values: BTreeMap<String, Value>,
}

impl<'de> Visitor<'de> for File<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("sections")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let known = [sections(), vec![TARGETS]].concat();
        while let Some(Name { text, line }) = map.next_key()? {
            let source = self.source(line);
            let is_targets = text == TARGETS;
            let mistake = match self.values.get(&text) {
                _ if !known.contains(&&*text) => Some(unknown(source, "", &text, &known)),
                None | Some(Value::Null) => None,
                Some(list @ Value::Array(entries)) if is_targets => {
                    let Some(wrong) = entries.iter().position(|entry| !entry.is_object()) else {
                        self.reader.targets = self.targets(map.next_value()?);
                        self.reader.put(TARGETS, &list.to_string(), source);
                        continue;
                    };
                    let what = format!("entry {} of targets is no mapping", wrong + 1);
                    Some(Mistake::new(source, what, ENTRIES))
                }
                _ if is_targets => Some(Mistake::new(source, "targets is no list", ENTRIES)),
                Some(Value::Object(_)) => {
                    for (name, value) in map.next_value::<BTreeMap<Name, Value>>()? {
                        let source = self.source(name.line);
                        set(self.reader, &text, &name.text, &value, source);
                    }
                    continue;
                }
                _ => Some(Mistake::new(
                    source,
                    format!("the section \"{text}\" is no mapping"),
                    "write its keys below it, indented, each as `key: value`",
                )),
            };
            map.next_value::<IgnoredAny>()?;
            self.reader.mistakes.extend(mistake);
        }
        Ok(())
    }
}

impl File<'_> {
    fn source(&self, line: u64) -> Source {
        Source::File(self.path.to_owned(), line)
    }

    /// Gives each entry a reader of its own, like a section.
    fn targets(&self, entries: Vec<Spanned<BTreeMap<Name, Value>>>) -> Vec<(Source, Reader)> {
        let mut targets = Vec::new();
        for entry in entries {
            let mut target = Reader::default();
            for (name, value) in &entry.value {
                set(
                    &mut target,
                    TARGETS,
                    &name.text,
                    value,
                    self.source(name.line),
                );
            }
            targets.push((self.source(entry.referenced.line()), target));
        }
        targets
    }
}

/// Puts the value of a name in a section above the layers before.
fn set(reader: &mut Reader, section: &str, name: &str, value: &Value, source: Source) {
    let prefix = format!("{section}.");
    let Some(key) = Key::find(&format!("{prefix}{name}")) else {
        let unknown = unknown(source, &prefix, name, &keys_of(section));
        return reader.mistakes.push(unknown);
    };
    let what = match (value, key.takes) {
        (Value::Null, _) => return,
        (Value::String(text), _) => return reader.set(key, text, source),
        (Value::Number(_) | Value::Bool(_), Takes::Number | Takes::Switch) => {
            return reader.set(key, &value.to_string(), source);
        }
        (Value::Array(items), Takes::List) => match texts(items) {
            Ok(items) => return reader.set(key, &items.join(","), source),
            Err(kind) => format!("holds {kind}"),
        },
        _ => format!("is {}", kind(value)),
    };
    reader.mistakes.push(Mistake {
        key: Some(key),
        ..Mistake::new(source, what, "")
    });
}

/// Returns the items of a list of texts, or the type of the first other item.
fn texts(items: &[Value]) -> Result<Vec<&str>, &'static str> {
    let mut texts = Vec::new();
    for item in items {
        match item.as_str() {
            Some(text) if text.trim().is_empty() => return Err("an empty item"),
            Some(text) => texts.push(text),
            None => return Err(kind(item)),
        }
    }
    Ok(texts)
}

/// Names the type of a value that its key does not take.
fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "a boolean, not text in quotes",
        Value::Number(_) => "a number, not text in quotes",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a mapping",
    }
}

/// Returns the mistake of a name that is not among the `known` ones. The prefix is empty for
/// sections, and a section with its dot for keys.
fn unknown(source: Source, prefix: &str, name: &str, known: &[&str]) -> Mistake {
    let kind = if prefix.is_empty() { "section" } else { "key" };
    let misplaced = KEYS
        .iter()
        .find(|key| key.split().1 == name || key.path == name);
    let near = nearest(name, known);
    // An entry of targets resembles links, but is no section.
    let misplaced = misplaced.filter(|_| near.is_none() || !prefix.starts_with(TARGETS));
    let hint = match (misplaced.map(Key::split), near) {
        (Some((section, key)), _) => {
            format!("write \"{key}:\" indented below the section \"{section}:\"")
        }
        (None, Some(near)) => format!("did you mean \"{prefix}{near}\"?"),
        (None, None) => format!("the {kind}s are {}", known.join(", ")),
    };
    let what = if is_plain(name) {
        format!("unknown {kind} \"{prefix}{name}\"")
    } else {
        format!("unknown {kind} {prefix}…")
    };
    Mistake::new(source, what, hint)
}
