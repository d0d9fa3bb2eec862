//! The configuration file: read once, into a value for each key with the line of its name.

use super::{
    entry::Entry,
    keys::{KEYS, Key, Takes, sections},
};
use crate::text::{nearest, os_hint};
use figment::{
    Source,
    value::{Dict, Empty, Value},
};
use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, SeqAccess, Visitor},
};
use serde_saphyr::Spanned;
use std::{fmt, fs, path::Path};

/// A node of the document.
enum Node {
    Mapping(Vec<(Spanned<String>, Node)>),
    /// A number or boolean, as text and as what YAML makes of it.
    Bare(String, Value),
    Value(Value),
}

/// The values of the file at `path`. What matches no key is added to `mistakes`.
///
/// # Errors
/// The file cannot be read or is not YAML. The message quotes nothing of the file, which may hold the key.
pub(super) fn read(path: &Path, mistakes: &mut Vec<String>) -> Result<Vec<Entry>, String> {
    let name = path.display();
    let text = fs::read_to_string(path).map_err(|error| {
        let hint = os_hint(&error).unwrap_or("give a YAML file that exists and can be read");
        format!("--config.file: cannot read {name}: {error}; {hint}")
    })?;
    let options = serde_saphyr::options! { with_snippet: false };
    let document = serde_saphyr::from_str_with_options::<Node>(&text, options).map_err(|error| {
        let line = error.location().map(|location| location.line()).filter(|line| *line > 0);
        let line = line.map(|line| format!(":{line}")).unwrap_or_default();
        format!("{name}{line}: {}", complaint(error.without_snippet()))
    })?;
    let Node::Mapping(sections) = document else {
        let empty = matches!(document, Node::Value(Value::Empty(..)));
        let hint = format!("write sections ({}) with their keys indented below", sections().join(", "));
        return if empty { Ok(Vec::new()) } else { Err(format!("{name}: is not a mapping; {hint}")) };
    };
    let mut entries = Vec::new();
    for (Spanned { value: section, referenced, .. }, content) in sections {
        let place = format!("{name}:{}", referenced.line());
        match content {
            _ if !self::sections().contains(&&*section) => {
                mistakes.push(format!("{place}: {}", unknown(None, &section)));
            }
            Node::Mapping(keys) => {
                for (Spanned { value: key, referenced, .. }, node) in keys {
                    let place = format!("{name}:{}", referenced.line());
                    match Key::find(&format!("{section}.{key}")) {
                        Some(key) => entries.extend(entry(key, node, place)),
                        None => mistakes.push(format!("{place}: {}", unknown(Some(&section), &key))),
                    }
                }
            }
            Node::Value(Value::Empty(..)) => {}
            Node::Value(_) | Node::Bare(..) => {
                let hint = "write its keys below it, indented, each as `key: value`";
                mistakes.push(format!("{section} ({place}): is a section, but not a mapping; {hint}"));
            }
        }
    }
    Ok(entries)
}

/// The value for a key; `None` for null, which is not set.
fn entry(key: &'static Key, node: Node, place: String) -> Option<Entry> {
    let value = match (node, key.takes) {
        (Node::Bare(text, _), Takes::Number | Takes::Switch) => text.into(),
        (node, _) => Value::from(node),
    };
    (!matches!(value, Value::Empty(..))).then(|| Entry::new(key, value, Source::File(place.into())))
}

/// What is wrong and what to do, without anything from the file.
fn complaint(error: &serde_saphyr::Error) -> &'static str {
    use serde_saphyr::Error;
    match error {
        Error::DuplicateMappingKey { .. } => {
            "is not valid YAML: a name appears twice in one mapping; remove one of the two"
        }
        Error::MultipleDocuments { .. } => "begins a second document; keep one document",
        Error::UnknownAnchor { .. } => {
            "is not valid YAML: an alias has no anchor; put the value in quotes if it begins with an asterisk"
        }
        Error::NonFiniteFloat { .. } => "holds a number that is not finite; give a finite one",
        _ => {
            "is not valid YAML: something is malformed; look at this line and the one before it: indentation, a missing \
             colon, quote or bracket"
        }
    }
}

/// The message about an unknown section, or an unknown key of a section.
fn unknown(section: Option<&str>, name: &str) -> String {
    let (kind, known): (_, Vec<_>) = match section {
        None => ("section", sections()),
        Some(section) => ("key", KEYS.iter().filter(|key| key.section() == section).map(Key::name).collect()),
    };
    let path = |name: &str| section.map_or_else(|| name.to_owned(), |section| format!("{section}.{name}"));
    let meant = match KEYS.iter().find(|key| key.path == name || key.name() == name) {
        Some(key) => Some(format!("write \"{}:\" indented below the section \"{}:\"", key.name(), key.section())),
        None => nearest(name, known.iter()).map(|near| format!("did you mean \"{}\"?", path(near))),
    };
    let shown = if can_be_shown(name, meant.is_some()) {
        format!(" \"{}\"", path(name))
    } else {
        section.map(|section| format!(" in the section {section}")).unwrap_or_default()
    };
    format!("unknown {kind}{shown}; {}", meant.unwrap_or_else(|| format!("the {kind}s are {}", known.join(", "))))
}

/// Whether an unknown name cannot be part of a secret: to YAML, `{key:abc}` is one name.
fn can_be_shown(name: &str, is_near: bool) -> bool {
    let plain = |c: char| c.is_ascii_alphabetic() || matches!(c, '_' | '-' | '.') || (is_near && c.is_ascii_digit());
    name.len() <= 40 && name.chars().all(plain)
}

impl From<Node> for Value {
    fn from(node: Node) -> Self {
        match node {
            Node::Value(value) | Node::Bare(_, value) => value,
            // A mistake wherever it is a value: what is in it does not matter.
            Node::Mapping(_) => Dict::new().into(),
        }
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodeVisitor)
    }
}

struct NodeVisitor;

macro_rules! visit_bare {
    ($($method:ident: $type:ty),+) => {
        $(fn $method<E>(self, value: $type) -> Result<Node, E> {
            Ok(Node::Bare(value.to_string(), value.into()))
        })+
    };
}

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any YAML")
    }

    visit_bare! { visit_bool: bool, visit_i64: i64, visit_u64: u64, visit_i128: i128, visit_u128: u128, visit_f64: f64 }

    fn visit_str<E>(self, text: &str) -> Result<Node, E> {
        Ok(Node::Value(text.into()))
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::Value(Empty::Unit.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Node, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element::<Node>()? {
            items.push(Value::from(item));
        }
        Ok(Node::Value(items.into()))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Node, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(Node::Mapping(entries))
    }
}
