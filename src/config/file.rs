//! The configuration file as a layer: YAML, with the line of each name. Each value is taken as it
//! is written, so that `010` keeps its zero and `no` is a language.

use super::{
    layers::{ConfigError, Layer, TARGETS},
    sections::{keys, names_of},
};
use crate::{
    domain::targets::TargetEntry,
    support::{keys::Key, yaml},
};
use figment::value::{Dict, Empty, Value};
use serde::de::IgnoredAny;
use serde_saphyr::{
    from_str,
    granit_parser::{Event, Parser, ScalarStyle, StrInput},
};
use std::path::Path;

/// The rest of a file.
type Events<'a> = Parser<'a, StrInput<'a>>;

/// The path of a name, and of the value of an unknown one.
const NO_KEY: &str = "…";

impl Layer {
    /// Makes a layer from the text of a file.
    ///
    /// # Errors
    /// Fails if the text is not YAML.
    pub fn of_file(text: &str, file: &Path) -> Result<Self, ConfigError> {
        let text = text.trim_start_matches('\u{feff}');
        from_str::<IgnoredAny>(text).map_err(|error| {
            let (line, problem) = (yaml::line(&error), yaml::explain(&error));
            ConfigError(format!("{}:{line}: {problem}", file.display()))
        })?;
        let mut layer = Self {
            file: file.to_owned(),
            ..Self::default()
        };
        if let Some((_, Value::Dict(_, sections))) = layer.node("", &mut Parser::new_from_str(text))
        {
            layer.values = sections;
        }
        Ok(layer)
    }

    /// Reads the next node of the file, which is the value of `path`, and its place. Notes the
    /// places of the values in it, and mistakes. Returns `None` at the end of a list, a mapping or
    /// the file.
    fn node(&mut self, path: &str, events: &mut Events<'_>) -> Option<(String, Value)> {
        let (event, span) = events.next()?.ok()?;
        let place = format!("{}:{}", self.file.display(), span.start.line());
        let (value, tag) = match event {
            Event::Scalar(text, ScalarStyle::Plain, _, tag)
                if ["", "~", "null", "Null", "NULL"].contains(&&*text) =>
            {
                (Empty::None.into(), tag)
            }
            Event::Scalar(text, _, _, tag) => (self.value(path, &text), tag),
            Event::SequenceStart(_, _, tag) => (self.list(path, events), tag),
            Event::MappingStart(_, _, tag) => (self.mapping(path, events)?, tag),
            Event::SequenceEnd | Event::MappingEnd => return None,
            Event::Alias(_) => (false.into(), None),
            _ => return self.node(path, events),
        };
        // No key takes a switch, so that an alias and a value with a tag are mistakes.
        let value = if tag.is_none() { value } else { false.into() };
        let section = section_of(path);
        let known = names_of(section);
        let is_right = match value {
            Value::Dict(..) => true,
            Value::Empty(..) if section == path => true,
            _ => known.is_empty(),
        };
        if is_right {
            return Some((place, value));
        }
        let remedy = match section {
            TARGETS => "give a list of mappings such as `- {languages: [de], ratio: 0.95}`",
            _ => "write its names below it, indented, each as `name: value`",
        };
        let name = if path.is_empty() { "the file" } else { section };
        let mistake = format!("{name} ({place}): is no mapping; {remedy}");
        let names = known.join(", ");
        self.mistakes.push(format!("{mistake}: {names}"));
        Some((place, Dict::new().into()))
    }

    /// Reads the rest of a mapping.
    fn mapping(&mut self, path: &str, events: &mut Events<'_>) -> Option<Value> {
        let (mut entries, known) = (Dict::new(), names_of(section_of(path)));
        while let Some((place, name)) = self.node(NO_KEY, events) {
            let name = name.into_string().unwrap_or(NO_KEY.to_owned());
            let is_known = known.contains(&&*name);
            if !is_known && !known.is_empty() {
                self.unknown(&place, section_of(path), &name);
            }
            let path = match path {
                _ if !is_known => NO_KEY.to_owned(),
                "" => name.clone(),
                path => format!("{path}.{name}"),
            };
            let (_, value) = self.node(&path, events)?;
            if is_known && !matches!(value, Value::Empty(..)) {
                self.places.insert(path, place);
                entries.insert(name, value);
            }
        }
        Some(match path {
            TARGETS => false.into(),
            _ => entries.into(),
        })
    }

    /// Reads the rest of a list. The entries of targets become a mapping, whose names have their
    /// order.
    fn list(&mut self, path: &str, events: &mut Events<'_>) -> Value {
        let mut items = Dict::new();
        loop {
            let name = format!("{:06}", items.len());
            let entry = match path {
                TARGETS => format!("{TARGETS}.{name}"),
                _ => NO_KEY.to_owned(),
            };
            let Some((place, item)) = self.node(&entry, events) else {
                break;
            };
            self.places.insert(entry, place);
            items.insert(name, item);
        }
        let takes_list = |key: &Key| {
            let [section, name] = key.names();
            key.is_list && path.starts_with(section) && path.ends_with(name)
        };
        if path == TARGETS {
            return items.into();
        }
        let texts = items
            .into_values()
            .map(|item| item.into_string().filter(|text| !text.is_empty()));
        match texts.collect::<Option<Vec<_>>>() {
            Some(texts) if keys().chain(TargetEntry::KEYS).any(takes_list) => {
                texts.join(", ").into()
            }
            _ => false.into(),
        }
    }
}

/// Returns the section whose names a mapping at `path` has: for an entry of targets the path without
/// its number. The whole file has an empty path.
fn section_of(path: &str) -> &str {
    path.trim_end_matches(|c: char| c == '.' || c.is_ascii_digit())
}
