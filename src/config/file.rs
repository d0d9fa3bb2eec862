//! The configuration file: YAML, with the line of each name. Each value is taken as it is written,
//! so that `010` keeps its zero and `no` is a language.

use super::{
    layers::{Layers, TARGETS},
    sections::{KEYS, TARGET_KEYS, section_names},
};
use crate::support::yaml;
use figment::value::{Empty, Value};
use serde::de::IgnoredAny;
use serde_saphyr::{
    from_str,
    granit_parser::{Event, ParseResult, Parser, ScalarStyle},
};
use std::iter;

/// The mistake of a section that is no mapping, and its remedy.
pub const NO_MAPPING: &str = "is not a mapping; write the keys of a section below it, indented, each \
                              as `key: value`";

const TARGETS_TAKE: &str =
    "entries such as `- {languages: [de, \"pt-*\"], ratio: 0.95, due: 2026-12-24}`";

/// A value of the file.
enum Node {
    Value(Value),
    /// Items with their places.
    List(Vec<(String, Self)>),
    Mapping(Entries),
}

/// Names with their places, and values.
type Entries = Vec<(String, String, Node)>;

/// The events of the parser, and the name of the file.
struct Reader<'a, I>(I, &'a str);

impl<'a, I: Iterator<Item = ParseResult<'a>>> Reader<'_, I> {
    /// Reads the next value and its place; `None` at the end of a list, a mapping or the file.
    fn node(&mut self) -> Option<(String, Node)> {
        let (event, span) = self.0.next()?.ok()?;
        let node = match event {
            Event::Scalar(text, ScalarStyle::Plain, ..)
                if ["", "~", "null", "Null", "NULL"].contains(&&*text) =>
            {
                Node::Value(Empty::Unit.into())
            }
            Event::Scalar(text, ..) => Node::Value(text.into_owned().into()),
            Event::SequenceStart(..) => Node::List(iter::from_fn(|| self.node()).collect()),
            Event::MappingStart(..) => Node::Mapping(iter::from_fn(|| self.entry()).collect()),
            // No key takes a reference to another value.
            Event::Alias(_) => Node::Value(false.into()),
            Event::SequenceEnd | Event::MappingEnd => return None,
            _ => return self.node(),
        };
        Some((format!("{}:{}", self.1, span.start.line()), node))
    }

    fn entry(&mut self) -> Option<(String, String, Node)> {
        let (place, name) = self.node()?;
        let (_, value) = self.node()?;
        let name = match name {
            Node::Value(Value::String(_, name)) => name,
            _ => "…".to_owned(),
        };
        Some((place, name, value))
    }
}

/// Returns the value of a key. No key takes a mapping.
fn value(node: Node) -> Value {
    match node {
        Node::Value(value) => value,
        Node::List(items) => items
            .into_iter()
            .map(|(_, item)| value(item))
            .collect::<Vec<_>>()
            .into(),
        Node::Mapping(_) => false.into(),
    }
}

impl Layers {
    /// Adds the text of a file.
    ///
    /// # Errors
    /// Returns the mistake if the text is not a YAML mapping.
    pub fn read_file(&mut self, text: &str, file: &str) -> Result<(), String> {
        let text = text.trim_start_matches('\u{feff}');
        from_str::<IgnoredAny>(text).map_err(|error| {
            let (what, hint) = yaml::explain(&error);
            format!("{file}:{}: {what}; {hint}", yaml::line(&error))
        })?;
        let names = section_names();
        let sections = match Reader(Parser::new_from_str(text), file).node() {
            None | Some((_, Node::Value(Value::Empty(..)))) => Entries::new(),
            Some((_, Node::Mapping(sections))) => sections,
            Some((place, _)) => {
                let names = names.join(", ");
                return Err(format!("{place}: {NO_MAPPING}; the sections are {names}"));
            }
        };
        for (place, name, node) in sections {
            match node {
                _ if !names.contains(&&*name) => self.unknown(&place, "", &name, &names),
                Node::Value(Value::Empty(..)) => {}
                Node::List(entries) if name == TARGETS => self.read_targets(entries, place),
                _ if name == TARGETS => self.mistake(format!(
                    "{TARGETS} ({place}): is not a list of mappings; give {TARGETS_TAKE}"
                )),
                Node::Mapping(keys) => self.read_section(&name, keys),
                // As an unknown key, since it would replace the section of other layers.
                node => self.set(&name, "", value(node), &place),
            }
        }
        Ok(())
    }

    fn read_section(&mut self, section: &str, keys: Entries) {
        for (place, name, node) in keys {
            let value = value(node);
            let mut known = KEYS.iter().chain(TARGET_KEYS);
            // Null sets nothing.
            if value.to_empty().is_none() || !known.any(|key| key.names() == [section, &name]) {
                self.set(section, &name, value, &place);
            }
        }
    }

    fn read_targets(&mut self, entries: Vec<(String, Node)>, place: String) {
        self.targets.clear();
        self.targets_place = place;
        for (place, entry) in entries {
            let mut target = Self::of(TARGET_KEYS);
            if let Node::Mapping(keys) = entry {
                target.read_section(TARGETS, keys);
            } else {
                let problem = format!("is not a mapping; give {TARGETS_TAKE}");
                target.mistake(format!("{TARGETS} ({place}): {problem}"));
            }
            self.targets.push((place, target));
        }
    }
}
