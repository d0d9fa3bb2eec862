//! The configuration file: YAML, read once, with the line of each name. No mistake in it quotes a value, which may be the
//! API key.

use super::{
    keys::{KEYS, Key, Takes, keys_of, sections},
    layers::Entry,
    mistake::{Mistake, Source},
    targets::TargetList,
};
use crate::text::{nearest, os_hint};
use figment::value::{Dict, Empty, Value};
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::{Spanned, with_deserializer_from_str_with_options};
use std::{collections::HashMap, fmt, fs, path::Path};

/// The only part of a file that is a list.
pub(super) const TARGETS: &str = "targets";

/// The line of each name of a file, by its path: `poll`, `poll.interval`. An item of a list is named by its index.
pub(super) type Lines = HashMap<String, u64>;

/// What a file specifies.
#[derive(Default)]
pub(super) struct File {
    pub entries: Vec<Entry>,
    /// `None` if it has none.
    pub targets: Option<TargetList>,
}

/// The values of the file at `path`. What is wrong with one, and what matches no key, is added to `mistakes`.
///
/// # Errors
/// It cannot be read or is not YAML.
pub(super) fn read(path: &Path, mistakes: &mut Vec<Mistake>) -> Result<File, Mistake> {
    let text = fs::read_to_string(path).map_err(|error| {
        Mistake::new(
            None,
            Source::Option("--config.file"),
            format!("cannot read {}: {error}", path.display()),
            os_hint(&error).unwrap_or("give a YAML file that exists and can be read"),
        )
    })?;
    values(&text, path, mistakes)
}

/// The values of the text of a file.
///
/// # Errors
/// It is not YAML.
pub(super) fn values(
    text: &str,
    path: &Path,
    mistakes: &mut Vec<Mistake>,
) -> Result<File, Mistake> {
    let mut lines = Lines::new();
    let document = parse(text, path, &mut lines)?;
    let source = |name: &str| Source::File(path.to_owned(), lines.get(name).copied());
    let mut file = File::default();
    for (section, content) in document {
        match content {
            Value::Empty(..) if section == TARGETS => {}
            content if section == TARGETS => {
                let list = file.targets.get_or_insert_default();
                list.read(content, path, &lines, mistakes);
            }
            _ if !sections().contains(&section.as_str()) => {
                mistakes.push(unknown(source(&section), None, &section));
            }
            Value::Empty(..) => {}
            Value::Dict(_, keys) => {
                for (name, value) in keys {
                    let path = format!("{section}.{name}");
                    match Key::find(&path) {
                        None => mistakes.push(unknown(source(&path), Some(&section), &name)),
                        Some(key) => match entry(key, value, source(&path)) {
                            Ok(entry) => file.entries.extend(entry),
                            Err(mistake) => mistakes.push(mistake),
                        },
                    }
                }
            }
            _ => mistakes.push(Mistake::new(
                None,
                source(&section),
                format!("the section \"{section}\" is not a mapping"),
                "write its keys below it, indented, each as `key: value`",
            )),
        }
    }
    Ok(file)
}

/// The sections of the file.
fn parse(text: &str, path: &Path, lines: &mut Lines) -> Result<Dict, Mistake> {
    let path = |line| Source::File(path.to_owned(), line);
    let options = serde_saphyr::options! { with_snippet: false };
    let parsed = with_deserializer_from_str_with_options(text, options, |deserializer| {
        let name = String::new();
        Node { name, lines }.deserialize(deserializer)
    });
    match parsed {
        Ok(Value::Dict(_, sections)) => Ok(sections),
        Ok(Value::Empty(..)) => Ok(Dict::new()),
        Ok(_) => {
            let sections = sections().join(", ");
            let hint = format!("write sections ({sections}) with their keys indented below");
            Err(Mistake::new(None, path(None), "is not a mapping", hint))
        }
        Err(error) => {
            let line = error.location().map(|location| location.line());
            let (what, hint) = explain(error.without_snippet());
            Err(Mistake::new(
                None,
                path(line.filter(|line| *line > 0)),
                what,
                hint,
            ))
        }
    }
}

/// What is wrong and what to do, without anything from the file.
fn explain(error: &serde_saphyr::Error) -> (&'static str, &'static str) {
    use serde_saphyr::Error;
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
        _ => (
            "is not valid YAML: something is malformed",
            "look at this line and the one before it: indentation (blanks, not tabs), a missing colon, quote or bracket",
        ),
    }
}

/// The value of a key; `None` if it is null, which is not set.
fn entry(key: &'static Key, value: Value, source: Source) -> Result<Option<Entry>, Mistake> {
    let what = match &value {
        Value::Empty(..) => return Ok(None),
        Value::String(_, text) => return Ok(Some(Entry::new(key, text, source))),
        Value::Array(_, items) if key.takes == Takes::List => {
            match items.iter().find(|item| item.as_str().is_none()) {
                None => return Ok(Some(Entry { key, value, source })),
                Some(item) => format!("holds {}", kind(item)),
            }
        }
        _ => format!("is {}", kind(&value)),
    };
    Err(Mistake::new(Some(key), source, what, ""))
}

/// What a value is that is not what its key takes.
pub(super) fn kind(value: &Value) -> &'static str {
    match value {
        Value::String(..) => "text",
        Value::Num(..) => "a number, not text in quotes",
        Value::Bool(..) => "a boolean, not text in quotes",
        Value::Array(..) => "a list",
        Value::Dict(..) => "a mapping",
        _ => "nothing",
    }
}

/// A name that is no section, or no key of `section`.
fn unknown(source: Source, section: Option<&str>, name: &str) -> Mistake {
    let (kind, prefix, known) = match section {
        None => (
            "section",
            String::new(),
            [sections(), vec![TARGETS]].concat(),
        ),
        Some(section) => ("key", format!("{section}."), keys_of(section)),
    };
    let misplaced = KEYS
        .iter()
        .find(|key| key.split().1 == name || key.path == name);
    let hint = match (misplaced.map(Key::split), nearest(name, &known)) {
        (Some((section, key)), _) => {
            format!("write \"{key}:\" indented below the section \"{section}:\"")
        }
        (None, Some(near)) => format!("did you mean \"{prefix}{near}\"?"),
        (None, None) => format!("the {kind}s are {}", known.join(", ")),
    };
    // To YAML, `{key:abc}` is one name, which may be a secret.
    let is_plain = |c: char| c.is_ascii_alphabetic() || matches!(c, '_' | '-' | '.');
    let what = if name.len() <= 40 && name.chars().all(is_plain) {
        format!("unknown {kind} \"{prefix}{name}\"")
    } else {
        format!("unknown {kind} {prefix}…")
    };
    Mistake::new(None, source, what, hint)
}

/// Reads a node of the document, and notes the lines of the names in it.
struct Node<'a> {
    /// Its own name with all above it; empty at the top.
    name: String,
    lines: &'a mut Lines,
}

impl Node<'_> {
    fn below(&mut self, name: impl fmt::Display) -> Node<'_> {
        let name = match self.name.as_str() {
            "" => name.to_string(),
            above => format!("{above}.{name}"),
        };
        let lines = &mut *self.lines;
        Node { name, lines }
    }
}

impl<'de> DeserializeSeed<'de> for Node<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

/// A key that takes a number or a switch gets the text of it, as a variable gives it; another gets what YAML makes of it.
macro_rules! visit_bare {
    ($($method:ident: $type:ty),+) => {
        $(fn $method<E>(self, value: $type) -> Result<Value, E> {
            Ok(match Key::find(&self.name) {
                Some(Key { takes: Takes::Number | Takes::Switch, .. }) => value.to_string().into(),
                _ => value.into(),
            })
        })+
    };
}

impl<'de> Visitor<'de> for Node<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any YAML")
    }

    visit_bare! { visit_bool: bool, visit_i64: i64, visit_u64: u64, visit_i128: i128, visit_u128: u128, visit_f64: f64 }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Empty::Unit.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut seq: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element_seed(self.below(items.len()))? {
            items.push(item);
        }
        Ok(items.into())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<Value, A::Error> {
        let mut values = Dict::new();
        while let Some(name) = map.next_key::<Spanned<String>>()? {
            let node = self.below(&name.value);
            let line = name.referenced.line();
            node.lines.insert(node.name.clone(), line);
            values.insert(name.value, map.next_value_seed(node)?);
        }
        Ok(values.into())
    }
}
