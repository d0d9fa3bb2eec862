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
    de::{MapAccess, SeqAccess, Visitor, value::SeqAccessDeserializer},
};
use serde_saphyr::Spanned;
use std::{fmt, fs, iter, path::Path};

/// A node of the document.
enum Node {
    Mapping(Mapping),
    /// A number or boolean, as text and as what YAML makes of it.
    Bare(String, Value),
    Value(Value),
}

/// The nodes with their names, in order.
type Mapping = Vec<(Spanned<String>, Node)>;

/// The values of the file at `path`; `None` if it cannot be read or is not YAML. That, and what matches no key, is added
/// to `mistakes`, none of which quotes a value of the file: it may be the key.
pub(super) fn read(path: &Path, mistakes: &mut Vec<String>) -> Option<Vec<Entry>> {
    let document = parse(path).map_err(|mistake| mistakes.push(mistake)).ok()?;
    let place = |name: &Spanned<String>| format!("{}:{}", path.display(), name.referenced.line());
    let mut entries = Vec::new();
    for (section, content) in document {
        let problem = match content {
            _ if !sections().contains(&section.value.as_str()) => unknown(None, &section.value),
            Node::Mapping(keys) => {
                for (name, node) in keys {
                    match Key::find(&format!("{}.{}", section.value, name.value)) {
                        Some(key) => entries.extend(entry(key, node, place(&name))),
                        None => mistakes.push(
                            place(&name) + ": " + &unknown(Some(&section.value), &name.value),
                        ),
                    }
                }
                continue;
            }
            Node::Value(Value::Empty(..)) => continue,
            Node::Value(_) | Node::Bare(..) => {
                let hint = "write its keys below it, indented, each as `key: value`";
                format!("the section \"{}\" is not a mapping; {hint}", section.value)
            }
        };
        mistakes.push(place(&section) + ": " + &problem);
    }
    Some(entries)
}

/// The sections of the file with their contents.
fn parse(path: &Path) -> Result<Mapping, String> {
    let name = path.display();
    let text = fs::read_to_string(path).map_err(|error| {
        let hint = os_hint(&error).unwrap_or("give a YAML file that exists and can be read");
        format!("--config.file: cannot read {name}: {error}; {hint}")
    })?;
    let options = serde_saphyr::options! { with_snippet: false };
    match serde_saphyr::from_str_with_options(&text, options) {
        Ok(Node::Mapping(sections)) => Ok(sections),
        Ok(Node::Value(Value::Empty(..))) => Ok(Mapping::new()),
        Ok(_) => {
            let hint = format!(
                "write sections ({}) with their keys indented below",
                sections().join(", ")
            );
            Err(format!("{name}: is not a mapping; {hint}"))
        }
        Err(error) => {
            let line = error
                .location()
                .map(|location| location.line())
                .filter(|line| *line > 0);
            let line = line.map(|line| format!(":{line}")).unwrap_or_default();
            Err(format!(
                "{name}{line}: {}",
                complaint(error.without_snippet())
            ))
        }
    }
}

/// The value for a key; `None` for null, which is not set.
fn entry(key: &Key, node: Node, place: String) -> Option<Entry> {
    let value = match (node, key.takes) {
        (Node::Value(Value::Empty(..)), _) => return None,
        (Node::Bare(text, _), Takes::Number | Takes::Switch) => text.into(),
        (Node::Bare(_, value) | Node::Value(value), _) => value,
        // A mistake, whatever is in it.
        (Node::Mapping(_), _) => Dict::new().into(),
    };
    Some(Entry::new(key.path, value, Source::File(place.into())))
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
    let all = || KEYS.iter().filter_map(|key| key.path.split_once('.'));
    let (kind, known) = match section {
        None => ("section", sections()),
        Some(section) => (
            "key",
            all()
                .filter(|(its, _)| *its == section)
                .map(|(_, key)| key)
                .collect(),
        ),
    };
    let path =
        |name: &str| section.map_or_else(|| name.to_owned(), |section| format!("{section}.{name}"));
    let meant = match all()
        .find(|(section, key)| name == *key || name.split_once('.') == Some((section, key)))
    {
        Some((section, key)) => Some(format!(
            "write \"{key}:\" indented below the section \"{section}:\""
        )),
        None => nearest(name, known.iter()).map(|near| format!("did you mean \"{}\"?", path(near))),
    };
    let shown = match section {
        _ if can_be_shown(name, meant.is_some()) => format!(" \"{}\"", path(name)),
        Some(section) => format!(" in the section {section}"),
        None => String::new(),
    };
    format!(
        "unknown {kind}{shown}; {}",
        meant.unwrap_or_else(|| format!("the {kind}s are {}", known.join(", ")))
    )
}

/// Whether an unknown name cannot be part of a secret: to YAML, `{key:abc}` is one name.
fn can_be_shown(name: &str, is_near: bool) -> bool {
    let plain = |c: char| {
        c.is_ascii_alphabetic() || matches!(c, '_' | '-' | '.') || (is_near && c.is_ascii_digit())
    };
    name.len() <= 40 && name.chars().all(plain)
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

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Node, A::Error> {
        Vec::<Value>::deserialize(SeqAccessDeserializer::new(seq))
            .map(|items| Node::Value(items.into()))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Node, A::Error> {
        iter::from_fn(|| map.next_entry().transpose())
            .collect::<Result<_, _>>()
            .map(Node::Mapping)
    }
}
