//! The configuration file: YAML, with the line of each name. No mistake in it quotes a value, which
//! may be the API key.

use super::{
    keys::{KEYS, Key, TARGET_KEYS, TARGETS, keys_of, removed, sections},
    mistake::Mistake,
    reader::Reader,
    values::{Takes, is_plain},
};
use crate::support::{
    escape::{nearest, os_hint},
    yaml,
};
use figment::Metadata;
use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, Visitor},
};
use serde_json::Value;
use serde_saphyr::{Spanned, from_str, with_deserializer_from_str};
use std::{collections::BTreeMap, fmt, fs, io::ErrorKind, path::Path};

/// A name in the file.
#[derive(Default, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(from = "Spanned<String>")]
struct Name {
    line: u64,
    text: String,
}

impl From<Spanned<String>> for Name {
    fn from(name: Spanned<String>) -> Self {
        Self {
            line: name.referenced.line(),
            text: name.value,
        }
    }
}

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
        let what = format!("cannot read {}: {error}", path.display());
        Mistake::new(&Metadata::named("--config.file"), what, hint)
    })?;
    read_text(reader, &text, path)
}

/// Puts the text of a file above the layers before.
///
/// # Errors
/// The text is malformed YAML, or a section is no mapping.
pub fn read_text(reader: &mut Reader, text: &str, path: &Path) -> Result<(), Mistake> {
    let place = |line| Metadata::from(format!("{}:{line}", path.display()), path);
    let root: Value = from_str(text).map_err(|error| {
        let (what, hint) = yaml::explain(text, &error);
        Mistake::new(&place(yaml::line(&error)), what, hint)
    })?;
    if root.is_null() {
        return Ok(());
    }
    let mut section = Name::default();
    let sections = SectionVisitor {
        reader,
        place: &place,
        section: &mut section,
    };
    let read = with_deserializer_from_str(text, |yaml| yaml.deserialize_map(sections));
    read.map_err(|error| match section.text.as_str() {
        "" => Mistake::new(
            &place(yaml::line(&error)),
            "is no mapping of keys",
            format!(
                "{SECTIONS}; the sections are {}",
                super::keys::sections().join(", ")
            ),
        ),
        TARGETS => Mistake::new(
            &place(section.line),
            "targets is no list of mappings",
            ENTRIES,
        ),
        name => {
            let what = format!("the section \"{name}\" is no mapping");
            Mistake::new(&place(section.line), what, KEYS_BELOW)
        }
    })
}

const SECTIONS: &str = "write sections with their keys below them, indented, each as `key: value`";
const KEYS_BELOW: &str = "write its keys below it, indented, each as `key: value`";
const ENTRIES: &str =
    "write entries such as `- {languages: [de, \"pt-*\"], ratio: 0.95, due: 2026-12-24}` below it";

type Entries = BTreeMap<Name, Value>;

/// Hands the sections of the file to the reader.
struct SectionVisitor<'a> {
    reader: &'a mut Reader,
    /// Returns the place of a line.
    place: &'a dyn Fn(u64) -> Metadata,
    /// The section that is being read.
    section: &'a mut Name,
}

impl<'de> Visitor<'de> for SectionVisitor<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("sections")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let known = [sections(), vec![TARGETS]].concat();
        while let Some(name) = map.next_key()? {
            *self.section = name;
            let (section, at) = (&*self.section.text, (self.place)(self.section.line));
            if section == TARGETS {
                let entries: Option<Vec<Entries>> = map.next_value()?;
                self.reader
                    .set_targets(entries.unwrap_or_default(), &at, self.place);
            } else if known.contains(&section) {
                let entries: Option<Entries> = map.next_value()?;
                self.reader
                    .set_section(section, entries.unwrap_or_default(), self.place);
            } else {
                let mistake = unknown(&at, "", section, &known);
                self.reader.mistakes.push(mistake);
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
}

impl Reader {
    /// Puts the values of a section above the layers before; null is not set.
    fn set_section(&mut self, section: &str, entries: Entries, place: &dyn Fn(u64) -> Metadata) {
        for (Name { line, text: name }, value) in entries {
            let (prefix, place) = (format!("{section}."), place(line));
            let mistake = match Key::find(&format!("{prefix}{name}")) {
                None => unknown(&place, &prefix, &name, &keys_of(section)),
                Some(_) if value.is_null() => continue,
                Some(key) => match text(&value, &key.takes) {
                    Err(what) => Mistake::of_value(key, &place, what),
                    Ok(text) => {
                        self.set(key, &text, place);
                        continue;
                    }
                },
            };
            self.mistakes.push(mistake);
        }
    }

    /// Gives each entry of targets a reader of its own.
    fn set_targets(
        &mut self,
        entries: Vec<Entries>,
        at: &Metadata,
        place: &dyn Fn(u64) -> Metadata,
    ) {
        let mut shown = Vec::new();
        for entry in entries {
            let first = entry.keys().next();
            let at = first.map_or_else(|| at.clone(), |name| place(name.line));
            let mut target = Self::with_defaults(TARGET_KEYS);
            target.set_section(TARGETS, entry, place);
            let settings = TARGET_KEYS
                .iter()
                .map(|key| (key.split().1, target.text(key.path)));
            let settings = settings.filter(|(_, text)| !text.is_empty());
            let settings: Vec<_> = settings
                .map(|(name, text)| format!("{name}: {text}"))
                .collect();
            shown.push(format!("{{{}}}", settings.join("; ")));
            self.targets.push((at, target));
        }
        self.put(TARGETS, &shown.join(" "), at.clone());
    }
}

/// Returns the text of a value, or the problem with a value of another type than its key takes.
fn text(value: &Value, takes: &Takes) -> Result<String, String> {
    match (value, takes) {
        (Value::String(text), _) => Ok(text.clone()),
        (Value::Number(_) | Value::Bool(_), takes) if takes.is_bare() => Ok(value.to_string()),
        (Value::Array(items), Takes::List(..)) => {
            let text = |item: &Value| match item.as_str() {
                Some(text) if !text.trim().is_empty() => Ok(text.to_owned()),
                _ => Err(format!("holds {}", kind(item))),
            };
            let texts: Result<Vec<_>, _> = items.iter().map(text).collect();
            Ok(texts?.join(","))
        }
        _ => Err(format!("is {}", kind(value))),
    }
}

/// Names the type of a value that its key does not take.
fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "a boolean, not text in quotes",
        Value::Number(_) => "a number, not text in quotes",
        Value::String(_) => "an empty item",
        Value::Array(_) => "a list",
        Value::Object(_) => "a mapping",
    }
}

/// Returns the mistake of a name that is not among the `known` ones. The prefix is empty for
/// sections, and a section with its dot for keys.
fn unknown(place: &Metadata, prefix: &str, name: &str, known: &[&str]) -> Mistake {
    let path = format!("{prefix}{name}");
    if let Some(why) = removed(&path) {
        return Mistake::new(place, format!("{path} is gone: {why}"), "remove it");
    }
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
        format!("unknown {kind} \"{path}\"")
    } else {
        format!("unknown {kind} {prefix}…")
    };
    Mistake::new(place, what, hint)
}
