//! The configuration file as a layer: YAML, with the line of each name. Each value is taken as it
//! is written, so that `010` keeps its zero and `no` is a language.

use super::{
    layers::{ConfigError, Layer, Layers, TARGETS},
    sections::{keys, names_of},
};
use crate::{domain::targets::TargetEntry, support::yaml};
use figment::value::{Dict, Empty, Value};
use serde::de::IgnoredAny;
use serde_saphyr::{
    from_str,
    granit_parser::{Event, ParseResult, Parser, ScalarStyle},
};
use std::path::Path;

/// Reads the next node of a file and its place, and notes the places of the nodes in it by their
/// paths; `None` at the end of a list, a mapping or the file.
fn node<'a>(
    events: &mut impl Iterator<Item = ParseResult<'a>>,
    path: &str,
    layer: &mut Layer,
) -> Option<(String, Value)> {
    let (event, span) = events.next()?.ok()?;
    let place = format!("{}:{}", layer.file.display(), span.start.line());
    let (value, tag) = match event {
        Event::Scalar(text, ScalarStyle::Plain, _, tag)
            if ["", "~", "null", "Null", "NULL"].contains(&&*text) =>
        {
            (Empty::None.into(), tag)
        }
        Event::Scalar(text, _, _, tag) => (text.into_owned().into(), tag),
        Event::SequenceStart(_, _, tag) => {
            let mut items = Vec::new();
            while let path = join(path, &numbered(items.len()))
                && let Some((place, item)) = node(events, &path, layer)
            {
                layer.places.insert(path, place);
                items.push(item);
            }
            (items.into(), tag)
        }
        Event::MappingStart(_, _, tag) => {
            let mut entries = Dict::new();
            while let Some((place, name)) = node(events, path, layer) {
                let name = name.into_string().unwrap_or("…".to_owned());
                let path = join(path, &name);
                entries.insert(name, node(events, &path, layer)?.1);
                layer.places.insert(path, place);
            }
            (entries.into(), tag)
        }
        Event::SequenceEnd | Event::MappingEnd => return None,
        Event::Alias(_) => (false.into(), None),
        _ => return node(events, path, layer),
    };
    // No key takes a switch, so that an alias and a value with a tag are mistakes.
    Some((place, if tag.is_none() { value } else { false.into() }))
}

/// Returns the name of an entry of targets. Names have the order of the entries.
fn numbered(number: usize) -> String {
    format!("{number:06}")
}

fn join(path: &str, name: &str) -> String {
    format!("{path}.{name}").trim_start_matches('.').to_owned()
}

fn is_list(names: [&str; 2]) -> bool {
    let mut keys = keys().chain(TargetEntry::KEYS);
    keys.any(|key| key.is_list && key.names() == names)
}

impl Layers {
    /// Adds the text of a file.
    ///
    /// # Errors
    /// Fails if the text is not a YAML mapping.
    pub fn merge_file(&mut self, text: &str, file: &Path) -> Result<(), ConfigError> {
        let text = text.trim_start_matches('\u{feff}');
        from_str::<IgnoredAny>(text).map_err(|error| {
            let (what, hint) = yaml::explain(&error);
            let line = yaml::line(&error);
            ConfigError(vec![format!("{}:{line}: {what}; {hint}", file.display())])
        })?;
        let mut layer = Layer {
            file: file.to_owned(),
            ..Layer::default()
        };
        if let Some((place, sections)) = node(&mut Parser::new_from_str(text), "", &mut layer) {
            layer.places.insert(String::new(), place);
            layer.values = self.read("", "", sections, &mut layer);
        }
        self.merge(layer);
        Ok(())
    }

    /// Reads a section, an entry of targets, or the whole file, whose names are sections.
    fn read(&mut self, section: &str, path: &str, value: Value, layer: &mut Layer) -> Dict {
        let (mut read, names) = (Dict::new(), names_of(section));
        let entries = match value {
            Value::Dict(_, entries) if path != TARGETS => entries,
            Value::Empty(..) if path == section => return read,
            _ => {
                let remedy = match section {
                    TARGETS => "give a list of mappings such as `- {languages: [de], ratio: 0.95}`",
                    _ => "write its names below it, indented, each as `name: value`",
                };
                let names = names.join(", ");
                let place = &layer.places[path];
                let section = if section.is_empty() {
                    "the file"
                } else {
                    section
                };
                self.mistake(format!(
                    "{section} ({place}): is no mapping; {remedy}: {names}"
                ));
                return read;
            }
        };
        for (name, value) in entries {
            let path = join(path, &name);
            let value = match value {
                _ if !names.contains(&&*name) => {
                    self.unknown(&layer.places[&path], section, &name);
                    continue;
                }
                Value::Array(_, items) if path == TARGETS => {
                    let items = items.into_iter().enumerate().map(|(number, item)| {
                        let number = numbered(number);
                        let path = join(TARGETS, &number);
                        (number, self.read(TARGETS, &path, item, layer).into())
                    });
                    items.collect::<Dict>().into()
                }
                value if section.is_empty() => self.read(&name, &path, value, layer).into(),
                Value::Empty(..) => continue,
                Value::String(_, text) => layer.value(&path, &text),
                Value::Array(_, items) if is_list([section, &*name]) => {
                    let texts = items.into_iter().map(Value::into_string);
                    let texts = texts.map(|text| text.filter(|text| !text.trim().is_empty()));
                    match texts.collect::<Option<Vec<_>>>() {
                        Some(texts) => layer.value(&path, &texts.join(", ")),
                        None => false.into(),
                    }
                }
                // No key takes a switch, so that this is a mistake.
                _ => false.into(),
            };
            read.insert(name, value);
        }
        read
    }
}
