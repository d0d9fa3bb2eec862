//! The configuration file: YAML, with the line of each name. Each value is taken as it is written,
//! so that `010` keeps its zero and `no` is a language.

use super::{
    ConfigError,
    layers::{Layers, TARGETS},
    sections::{TARGET_KEYS, names_of},
};
use crate::support::yaml;
use figment::value::Value;
use serde::de::IgnoredAny;
use serde_saphyr::{
    from_str,
    granit_parser::{Event, ParseResult, Parser, ScalarStyle},
};
use std::iter;

const NO_MAPPING: &str = "is not a mapping; write the keys of a section below it, indented, each as \
                          `key: value`: ";

const TARGETS_TAKE: &str =
    "give entries such as `- {languages: [de, \"pt-*\"], ratio: 0.95, due: 2026-12-24}`";

/// A part of the file.
enum Node {
    Null,
    Text(String),
    List(Vec<(String, Self)>),
    Mapping(Entries),
    /// A reference to another part, which no key takes.
    Alias,
}

/// The places, names and values of a mapping.
type Entries = Vec<(String, String, Node)>;

impl Node {
    /// Returns a text, or the texts of a list with commas; `None` if there are other nodes, or an
    /// item is empty.
    fn text(self) -> Option<String> {
        match self {
            Self::Text(text) => Some(text),
            Self::List(items) => {
                let texts = items.into_iter().map(|(_, item)| item.text());
                let texts = texts.map(|text| text.filter(|text| !text.trim().is_empty()));
                Some(texts.collect::<Option<Vec<_>>>()?.join(", "))
            }
            _ => None,
        }
    }
}

/// Reads the next node of a file and its place; `None` at the end of a list, a mapping or the file.
fn node<'a>(
    events: &mut impl Iterator<Item = ParseResult<'a>>,
    file: &str,
) -> Option<(String, Node)> {
    let (event, span) = events.next()?.ok()?;
    let value = match event {
        Event::Scalar(text, ScalarStyle::Plain, ..)
            if ["", "~", "null", "Null", "NULL"].contains(&&*text) =>
        {
            Node::Null
        }
        Event::Scalar(text, ..) => Node::Text(text.into_owned()),
        Event::SequenceStart(..) => Node::List(iter::from_fn(|| node(events, file)).collect()),
        Event::MappingStart(..) => Node::Mapping(iter::from_fn(|| entry(events, file)).collect()),
        Event::Alias(_) => Node::Alias,
        Event::SequenceEnd | Event::MappingEnd => return None,
        _ => return node(events, file),
    };
    Some((format!("{file}:{}", span.start.line()), value))
}

fn entry<'a>(
    events: &mut impl Iterator<Item = ParseResult<'a>>,
    file: &str,
) -> Option<(String, String, Node)> {
    let ((place, name), (_, value)) = (node(events, file)?, node(events, file)?);
    Some((place, name.text().unwrap_or("…".to_owned()), value))
}

impl Layers {
    /// Adds the text of a file.
    ///
    /// # Errors
    /// Fails if the text is not a YAML mapping.
    pub fn read_file(&mut self, text: &str, file: &str) -> Result<(), ConfigError> {
        let text = text.trim_start_matches('\u{feff}');
        from_str::<IgnoredAny>(text).map_err(|error| {
            let (what, hint) = yaml::explain(&error);
            let line = yaml::line(&error);
            ConfigError(vec![format!("{file}:{line}: {what}; {hint}")])
        })?;
        let names = names_of("");
        let sections = match node(&mut Parser::new_from_str(text), file) {
            None | Some((_, Node::Null)) => Entries::new(),
            Some((_, Node::Mapping(sections))) => sections,
            Some((place, _)) => {
                let names = names.join(", ");
                return Err(ConfigError(vec![format!("{place}: {NO_MAPPING}{names}")]));
            }
        };
        for (place, section, node) in sections {
            match node {
                _ if !names.contains(&&*section) => self.unknown(&place, "", &section),
                Node::Null => {}
                Node::List(entries) if section == TARGETS => self.read_targets(entries),
                node if section == TARGETS => self.read_targets(vec![(place, node)]),
                Node::Mapping(keys) => self.read_section(&section, keys),
                _ => {
                    let names = names_of(&section).join(", ");
                    self.mistake(format!("{section} ({place}): {NO_MAPPING}{names}"));
                }
            }
        }
        Ok(())
    }

    fn read_section(&mut self, section: &str, keys: Entries) {
        let names = names_of(section);
        for (place, name, node) in keys {
            if !names.contains(&&*name) {
                self.unknown(&place, section, &name);
            } else if !matches!(node, Node::Null) {
                // No key takes a switch, so that this one is a mistake.
                let value = node.text().map_or(false.into(), Value::from);
                self.set(&format!("{section}.{name}"), value, &place);
            }
        }
    }

    fn read_targets(&mut self, entries: Vec<(String, Node)>) {
        self.targets.clear();
        for (place, entry) in entries {
            let mut target = Self::of(TARGET_KEYS);
            if let Node::Mapping(keys) = entry {
                target.read_section(TARGETS, keys);
            } else {
                target.mistake(format!(
                    "{TARGETS} ({place}): is not a mapping; {TARGETS_TAKE}"
                ));
            }
            self.targets.push((place, target));
        }
    }
}
