//! The configuration file: YAML, with the line of each name. Each value is taken as it is written,
//! so that `010` keeps its zero and `no` is a language. No mistake quotes a value, which may be the
//! API key.

use super::{
    api_key::{HIDDEN, may_be_key},
    keys::{KEYS, Key, TARGET_KEYS, TARGETS, keys_of, sections},
    reader::Reader,
    values::Takes,
};
use crate::support::{
    hint::{is_plain, nearest},
    yaml,
};
use serde::de::IgnoredAny;
use serde_saphyr::{
    from_str,
    granit_parser::{Event, ParseResult, Parser, ScalarStyle},
};
use std::{fs, iter, path::Path};

/// A value of the file.
enum Node {
    Null,
    Text(String),
    /// Items with their lines.
    List(Vec<(usize, Self)>),
    Mapping(Entries),
    /// A reference to another value, which no key takes.
    Alias,
}

/// Names with their lines, and values. A name that is not text is empty.
type Entries = Vec<(usize, String, Node)>;

/// Reads the next value and its line; `None` at the end of a list, a mapping or the file.
fn node(events: &mut dyn Iterator<Item = ParseResult<'_>>) -> Option<(usize, Node)> {
    let (event, span) = events.next()?.ok()?;
    let node = match event {
        Event::Scalar(text, ScalarStyle::Plain, ..)
            if ["", "~", "null", "Null", "NULL"].contains(&&*text) =>
        {
            Node::Null
        }
        Event::Scalar(text, ..) => Node::Text(text.into_owned()),
        Event::SequenceStart(..) => Node::List(iter::from_fn(|| node(events)).collect()),
        Event::MappingStart(..) => Node::Mapping(iter::from_fn(|| entry(events)).collect()),
        Event::Alias(_) => Node::Alias,
        Event::SequenceEnd | Event::MappingEnd => return None,
        _ => return node(events),
    };
    Some((span.start.line(), node))
}

fn entry(events: &mut dyn Iterator<Item = ParseResult<'_>>) -> Option<(usize, String, Node)> {
    let (line, name) = node(events)?;
    let (_, value) = node(events)?;
    match name {
        Node::Text(name) => Some((line, name, value)),
        _ => Some((line, String::new(), value)),
    }
}

/// Adds the file at `path` to a layer.
///
/// # Errors
/// Returns the mistake if the file cannot be read or is not a YAML mapping.
pub fn read(reader: &mut Reader, path: &Path) -> Result<(), String> {
    let text = fs::read_to_string(path).map_err(|error| {
        let name = if may_be_key(path, path) {
            HIDDEN.into()
        } else {
            path.to_string_lossy()
        };
        let hint = "give the path of a readable YAML file in UTF-8";
        format!("--config.file: cannot read {name}: {error}; {hint}")
    })?;
    read_text(reader, &text, path)
}

/// Adds the text of a file to a layer.
///
/// # Errors
/// Returns the mistake if the text is not a YAML mapping.
pub fn read_text(reader: &mut Reader, text: &str, path: &Path) -> Result<(), String> {
    let text = text.trim_start_matches('\u{feff}');
    from_str::<IgnoredAny>(text).map_err(|error| {
        let (what, hint) = yaml::explain(&error);
        format!("{}:{}: {what}; {hint}", path.display(), yaml::line(&error))
    })?;
    let entries = match node(&mut Parser::new_from_str(text)) {
        None | Some((_, Node::Null)) => return Ok(()),
        Some((_, Node::Mapping(entries))) => entries,
        Some((line, _)) => {
            let (path, sections) = (path.display(), sections().join(", "));
            return Err(format!(
                "{path}:{line}: is not a mapping; {KEYS_BELOW}; the sections are {sections}"
            ));
        }
    };
    for (line, name, node) in entries {
        let place = format!("{}:{line}", path.display());
        let is_targets = name == TARGETS.path;
        match node {
            _ if !sections().contains(&&*name) => reader.unknown(&place, "", &name),
            Node::Null => {}
            Node::List(entries) if is_targets => reader.set_targets(entries, place, path),
            _ if is_targets => {
                let targets = reader.set(&TARGETS, "", place, path);
                targets.refuse("is not a list of mappings");
            }
            Node::Mapping(entries) => reader.set_section(&name, entries, path),
            _ => {
                let mistake = format!("{name} ({place}): is not a mapping; {KEYS_BELOW}");
                reader.mistakes.push(mistake);
            }
        }
    }
    Ok(())
}

const KEYS_BELOW: &str = "write the keys of a section below it, indented, each as `key: value`";

impl Reader {
    /// Sets the keys of a section; null sets nothing.
    fn set_section(&mut self, section: &str, entries: Entries, path: &Path) {
        for (line, name, node) in entries {
            let place = format!("{}:{line}", path.display());
            let Some(key) = Key::find(&format!("{section}.{name}")) else {
                self.unknown(&place, section, &name);
                continue;
            };
            let text = match (node, &key.takes) {
                (Node::Null, _) => continue,
                (Node::Text(text), _) => Ok(text),
                (Node::List(items), Takes::List(_)) => list(items),
                _ => Err("is a list, a mapping or an alias"),
            };
            let setting = self.set(key, text.as_deref().unwrap_or_default(), place, path);
            if let Err(problem) = text {
                setting.refuse(problem);
            }
        }
    }

    /// Reads each entry of [`TARGETS`] into a reader of its own.
    fn set_targets(&mut self, entries: Vec<(usize, Node)>, place: String, path: &Path) {
        let mut shown = Vec::new();
        for (line, entry) in entries {
            let place = format!("{}:{line}", path.display());
            let mut target = Self::default();
            if let Node::Mapping(entries) = entry {
                target.set_section(TARGETS.path, entries, path);
            } else {
                let expected = TARGETS.takes.expected();
                let mistake = format!("targets ({place}): is not a mapping; give {expected}");
                target.mistakes.push(mistake);
            }
            let target = Self::merge([Self::defaults(TARGET_KEYS), target]);
            let set = target.settings.iter().filter(|one| !one.value.is_empty());
            let set = set.map(|one| format!("{}: {}", one.key.split().1, one.key.yaml(&one.value)));
            shown.push(format!("{{{}}}", set.collect::<Vec<_>>().join(", ")));
            self.targets.push((place, target));
        }
        self.set(&TARGETS, &format!("[{}]", shown.join(", ")), place, path);
    }

    /// Notes an unknown key of the section, or an unknown section if `section` is empty.
    fn unknown(&mut self, place: &str, section: &str, name: &str) {
        let (known, prefix) = match section {
            "" => (sections(), String::new()),
            section => (keys_of(section), format!("{section}.")),
        };
        let elsewhere = KEYS
            .iter()
            // An entry of targets resembles links, but is no section.
            .filter(|_| section != TARGETS.path)
            .find(|key| key.split().1 == name || key.path == name);
        let hint = match (elsewhere.map(Key::split), nearest(name, &known)) {
            (Some((section, key)), _) => {
                format!("write \"{key}:\" indented below the section \"{section}:\"")
            }
            (None, Some(near)) => format!("did you mean \"{prefix}{near}\"?"),
            (None, None) => format!("the keys here are {}", known.join(", ")),
        };
        let name = if is_plain(name) { name } else { "…" };
        let mistake = format!("{place}: unknown key \"{prefix}{name}\"; {hint}");
        self.mistakes.push(mistake);
    }
}

fn list(items: Vec<(usize, Node)>) -> Result<String, &'static str> {
    let texts = items.into_iter().map(|(_, item)| match item {
        Node::Text(text) if !text.trim().is_empty() => Ok(text),
        _ => Err("has an item that is empty or no text"),
    });
    Ok(texts.collect::<Result<Vec<_>, _>>()?.join(","))
}
