//! The configuration file: YAML, with the line of each name. No mistake in it quotes a value, which
//! may be the API key.

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
use figment::Metadata;
use serde::{
    Deserialize, Deserializer,
    de::{Error, MapAccess, SeqAccess, Visitor},
};
use serde_saphyr::{Spanned, from_str};
use std::{fmt, fs, path::Path};

type Entries = Vec<(Spanned<String>, Node)>;

/// A value of the file. Names and the items of lists have their lines.
enum Node {
    Null,
    Text(String),
    /// The text of a boolean or a number.
    Bare(String),
    List(Vec<Spanned<Self>>),
    Mapping(Entries),
}

impl Node {
    /// Names the type of a value that its key does not take.
    fn kind(&self) -> &'static str {
        match self {
            Self::Null | Self::Text(_) => "empty",
            Self::Bare(_) => "not text in quotes",
            Self::List(_) => "a list",
            Self::Mapping(_) => "a mapping",
        }
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(yaml: D) -> Result<Self, D::Error> {
        yaml.deserialize_any(NodeVisitor)
    }
}

struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("YAML")
    }

    fn visit_unit<E: Error>(self) -> Result<Node, E> {
        Ok(Node::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Node, E> {
        Ok(Node::Bare(value.to_string()))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Node, E> {
        Ok(Node::Bare(value.to_string()))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Node, E> {
        Ok(Node::Bare(value.to_string()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Node, E> {
        Ok(Node::Bare(value.to_string()))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Node, E> {
        Ok(Node::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Node, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Node::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Node, A::Error> {
        let mut mapping = Vec::new();
        while let Some(entry) = entries.next_entry()? {
            mapping.push(entry);
        }
        Ok(Node::Mapping(mapping))
    }
}

/// Adds the file at `path` as the topmost layer. Notes the mistake and returns `None` if the file
/// cannot be read or is not a YAML mapping.
pub fn read(reader: &mut Reader, path: &Path) -> Option<()> {
    let text = fs::read_to_string(path).map_err(|error| {
        let name = if may_be_key(path, path) {
            HIDDEN.to_owned()
        } else {
            path.display().to_string()
        };
        let hint = "give the path of a readable YAML file in UTF-8";
        let problem = format!("cannot read {name}: {error}; {hint}");
        reader.note("", &Metadata::named("--config.file"), problem);
    });
    read_text(reader, &text.ok()?, path)
}

/// Adds the text of a file as the topmost layer. Notes the mistake and returns `None` if the text
/// is not a YAML mapping.
pub fn read_text(reader: &mut Reader, text: &str, path: &Path) -> Option<()> {
    let place = |line| Metadata::from(format!("{}:{line}", path.display()), path);
    let root = from_str::<Spanned<Node>>(text).map_err(|error| {
        let (what, hint) = yaml::explain(text, &error);
        reader.note(
            "",
            &place(yaml::line(&error)),
            format_args!("{what}; {hint}"),
        );
    });
    let root = root.ok()?;
    let known = [sections(), vec![TARGETS]].concat();
    let entries = match root.value {
        Node::Null => return Some(()),
        Node::Mapping(entries) => entries,
        _ => {
            let sections = known.join(", ");
            let problem = format!("is not a mapping; {KEYS_BELOW}; the sections are {sections}");
            reader.note("", &place(root.referenced.line()), problem);
            return None;
        }
    };
    for (name, node) in entries {
        let (name, at) = (name.value, place(name.referenced.line()));
        let Some(&section) = known.iter().find(|section| **section == name) else {
            reader.unknown(&at, "", &name, &known);
            continue;
        };
        match node {
            Node::Null => {}
            Node::List(entries) if section == TARGETS => reader.set_targets(entries, at, &place),
            _ if section == TARGETS => {
                reader.note(
                    TARGETS,
                    &at,
                    format!("is not a list of mappings; {ENTRIES}"),
                );
            }
            Node::Mapping(entries) => reader.set_section(section, entries, &place),
            _ => reader.note(section, &at, format!("is not a mapping; {KEYS_BELOW}")),
        }
    }
    Some(())
}

const KEYS_BELOW: &str = "write the keys of a section below it, indented, each as `key: value`";
const ENTRIES: &str =
    "write each entry as `- {languages: [de, \"pt-*\"], ratio: 0.95, due: 2026-12-24}`";

impl Reader {
    /// Sets the keys of a section above the earlier layers; null sets nothing.
    fn set_section(&mut self, section: &str, entries: Entries, place: &dyn Fn(u64) -> Metadata) {
        let prefix = format!("{section}.");
        for (name, node) in entries {
            let (name, place) = (name.value, place(name.referenced.line()));
            let Some(key) = Key::find(&format!("{prefix}{name}")) else {
                self.unknown(&place, &prefix, &name, &keys_of(section));
                continue;
            };
            match text(node, &key.takes) {
                Ok(Some(text)) => self.set(key, &text, place),
                Ok(None) => {}
                Err(problem) => self.refuse(key, &place, &problem),
            }
        }
    }

    /// Reads each entry of [`TARGETS`] into a reader of its own.
    fn set_targets(
        &mut self,
        entries: Vec<Spanned<Node>>,
        at: Metadata,
        place: &dyn Fn(u64) -> Metadata,
    ) {
        let mut shown = Vec::new();
        for (number, entry) in (1..).zip(entries) {
            let place_of_entry = place(entry.referenced.line());
            let Node::Mapping(entries) = entry.value else {
                let problem = format!("entry {number} is not a mapping; {ENTRIES}");
                self.note(TARGETS, &place_of_entry, problem);
                continue;
            };
            let mut target = Self::with_defaults(TARGET_KEYS);
            target.set_section(TARGETS, entries, place);
            let settings = TARGET_KEYS.iter().filter_map(|key| {
                let text = Some(target.text(key.path)).filter(|text| !text.is_empty())?;
                Some(format!("{}: {}", key.split().1, key.yaml(&text)))
            });
            shown.push(format!("{{{}}}", settings.collect::<Vec<_>>().join(", ")));
            self.targets.push((place_of_entry, target));
        }
        self.put(TARGETS, &format!("[{}]", shown.join(", ")), at);
    }

    /// Notes a name that is not among the `known` ones. The prefix is empty for sections; for keys
    /// it is their section with a dot.
    fn unknown(&mut self, place: &Metadata, prefix: &str, name: &str, known: &[&str]) {
        let path = format!("{prefix}{name}");
        let kind = if prefix.is_empty() { "section" } else { "key" };
        let misplaced = KEYS
            .iter()
            .find(|key| key.split().1 == name || key.path == name);
        let near = nearest(name, known);
        // An entry of targets resembles links, but is no section.
        let misplaced = misplaced.filter(|_| !prefix.starts_with(TARGETS));
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
        self.note("", place, format_args!("{what}; {hint}"));
    }
}

/// Returns the text of a value, `None` for null, or the problem with a value of another type than
/// its key takes.
fn text(node: Node, takes: &Takes) -> Result<Option<String>, String> {
    match (node, takes) {
        (Node::Null, _) => Ok(None),
        (Node::Text(text), _) => Ok(Some(text)),
        (Node::Bare(text), takes) if takes.is_bare() => Ok(Some(text)),
        (Node::List(items), Takes::List(..)) => {
            let mut texts = Vec::new();
            for (number, item) in (1..).zip(items) {
                match item.value {
                    Node::Text(text) if !text.trim().is_empty() => texts.push(text),
                    other => return Err(format!("item {number} is {}", other.kind())),
                }
            }
            Ok(Some(texts.join(",")))
        }
        (other, _) => Err(format!("is {}", other.kind())),
    }
}
