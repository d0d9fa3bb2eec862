//! The layers of the configuration, which figment merges, and the mistakes in them.
//!
//! serde reads the sections from the merged values. A mistake is noted by its path and kind, and
//! the default takes its place, until there is none: one run finds all mistakes.

use super::sections::{Sections, keys, names_of};
use crate::support::{
    hint::{is_plain, nearest},
    keys::Key,
};
use figment::{
    Error, Figment, Metadata, Profile, Provider,
    value::{Dict, Map, Value},
};
use serde_json::json;
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Display,
    mem,
    path::PathBuf,
};

/// The place of a value that no layer sets.
pub const DEFAULT: &str = "default";

/// The only section that is a list. No variable or option sets it.
pub const TARGETS: &str = "targets";

/// The defaults, the file (which `file.rs` reads), the environment or the options.
#[derive(Debug, Default)]
pub struct Layer {
    pub values: Dict,
    /// By path: the file and line, the variable or the option; none of a default.
    pub places: BTreeMap<String, String>,
    /// Relative paths begin at the folder of this file.
    pub file: PathBuf,
    /// The mistakes in names.
    pub mistakes: Vec<String>,
    /// Texts that no message shows: the API key, and a path of its file that may be the key, pasted
    /// there by mistake.
    pub secrets: Vec<String>,
}

impl Layer {
    /// Makes a layer from the texts of keys, each with its place.
    pub fn of<'a>(texts: impl Iterator<Item = (&'a Key, &'a str, &'a str)>) -> Self {
        let mut layer = Self::default();
        for (key, text, place) in texts {
            let ([section, name], value) = (key.names(), layer.value(key.path, text));
            let section = layer.values.entry(section.to_owned());
            if let Value::Dict(_, keys) = section.or_insert_with(|| Dict::new().into()) {
                keys.insert(name.to_owned(), value);
            }
            layer.places.insert(key.path.to_owned(), place.to_owned());
        }
        layer
    }

    /// Returns the value of a text.
    pub fn value(&mut self, path: &str, text: &str) -> Value {
        let text = text.trim();
        let file = self.file.with_file_name(text);
        if text.is_empty() {
            return text.into();
        }
        let is_path = text.starts_with('/') || file.exists();
        if path == "api.key" || path == "api.key_file" && !is_path {
            self.secrets.push(text.to_owned());
        }
        if path.ends_with("file") {
            return file.display().to_string().into();
        }
        text.into()
    }

    /// Notes an unknown section, or key of a section.
    pub fn unknown(&mut self, place: &str, section: &str, name: &str) {
        let known = names_of(section);
        let prefix = match section {
            "" => String::new(),
            section => format!("{section}."),
        };
        let mut keys = keys();
        let (near, elsewhere) = if name.contains('.') {
            (None, nearest(name, keys))
        } else {
            (
                nearest(name, &known),
                keys.find(|key| key.names()[1] == name),
            )
        };
        let hint = match (near, elsewhere.map(Key::names)) {
            (Some(near), _) => format!("did you mean \"{prefix}{near}\"?"),
            (None, Some([section, key])) => {
                format!("write \"{key}:\" indented below the section \"{section}:\"")
            }
            (None, None) => format!("the keys here are {}", known.join(", ")),
        };
        // YAML reads `{key:abc}` as one name.
        let name = if is_plain(name) { name } else { "…" };
        self.mistakes
            .push(format!("{place}: unknown key \"{prefix}{name}\"; {hint}"));
    }
}

impl Provider for Layer {
    fn metadata(&self) -> Metadata {
        let places = self.places.clone();
        let place = move |_: &Profile, path: &[&str]| places[&path.join(".")].clone();
        Metadata::default().interpolater(place)
    }

    fn data(&self) -> Result<Map<Profile, Dict>, Error> {
        Ok(Profile::Default.collect(self.values.clone()))
    }
}

/// All mistakes in a configuration. No text of them holds anything that might be the API key.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{0}")]
pub struct ConfigError(pub String);

/// The merged layers, and the mistakes in them.
#[derive(Debug, Default)]
pub struct Layers {
    figment: Figment,
    secrets: Vec<String>,
    pub mistakes: Vec<String>,
    /// The paths of the values with a mistake.
    mistaken: BTreeSet<String>,
}

impl Layers {
    /// Adds a layer, which wins over those before it.
    pub fn merge(&mut self, mut layer: Layer) {
        self.mistakes.append(&mut layer.mistakes);
        self.secrets.append(&mut layer.secrets);
        self.figment = mem::take(&mut self.figment).merge(layer);
    }

    /// Reads the sections from the values. A default takes the place of a value with a mistake.
    pub fn extract(&mut self) -> Sections {
        loop {
            match self.figment.extract() {
                Ok(sections) => return sections,
                Err(Error { path, kind, .. }) => {
                    let path = path.join(".");
                    self.note(&path, kind);
                    let key = keys().find(|key| key.path == path);
                    let default = (path, key.map_or("", |key| key.default));
                    self.figment = mem::take(&mut self.figment).merge(default);
                }
            }
        }
    }

    /// Returns the result of a check of a key. Notes its error.
    pub fn check<T>(&mut self, path: &str, outcome: Result<T, impl Display>) -> Option<T> {
        outcome.map_err(|error| self.note(path, error)).ok()
    }

    /// Notes a mistake in the value of a key, unless it already has one.
    pub fn note(&mut self, path: &str, problem: impl Display) {
        if !self.mistaken.insert(path.to_owned()) {
            return;
        }
        let (text, mut problem) = (self.text(path), problem.to_string());
        let mut secrets = self.secrets.iter();
        let is_secret =
            secrets.any(|secret| text == *secret || secret.len() >= 8 && text.contains(secret));
        if is_secret && path != "api.key" {
            let (_, hint) = problem.rsplit_once("; ").unwrap_or_default();
            problem = format!("is not shown, since it may hold the API key; {hint}");
        }
        // The place of an entry of targets says more than its number.
        let name = path
            .replace(|c: char| c.is_ascii_digit(), "")
            .replace("..", ".");
        let place = self.place(path);
        self.mistakes.push(format!("{name} ({place}): {problem}"));
    }

    /// Returns the place of the value of a key.
    pub fn place(&self, path: &str) -> String {
        self.figment
            .find_metadata(path)
            .map(|metadata| metadata.interpolate(&Profile::Default, &[path]))
            .unwrap_or_default()
    }

    /// Returns the text of a key.
    pub fn text(&self, path: &str) -> String {
        self.figment.extract_inner(path).unwrap_or_default()
    }

    /// Renders each entry of [`TARGETS`] as a mapping in one line, with its place.
    pub fn targets(&self) -> Vec<String> {
        let entries: BTreeMap<String, BTreeMap<String, String>> =
            self.figment.extract_inner(TARGETS).unwrap_or_default();
        entries
            .iter()
            .map(|(number, entry)| {
                let keys: Vec<_> = entry
                    .iter()
                    .map(|(name, text)| format!("{name}: {}", written(text)))
                    .collect();
                let place = self.place(&format!("{TARGETS}.{number}"));
                format!("  - {{{}}}  # {place}\n", keys.join(", "))
            })
            .collect()
    }
}

/// Returns a text as a file has it.
pub fn written(text: &str) -> String {
    // Other programs read numbers, times and switches.
    let is_bare = !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || c == '.');
    if is_bare {
        text.to_owned()
    } else {
        json!(text).to_string()
    }
}

/// Returns the mistake in the name of a variable, unless it is blank. Kubernetes
/// injects variables with the prefix, but without two underscores in a row; they are no mistake,
/// unless they spell a key or a section.
pub fn unknown_variable((name, text): (&String, &String)) -> Option<String> {
    let (prefix, rest) = (Key::PREFIX, name.strip_prefix(Key::PREFIX)?);
    if text.trim().is_empty() || keys().any(|key| key.variable() == *name) {
        return None;
    }
    let mut paths = keys().map(|key| key.path).chain(names_of(""));
    let is_spelt = |path: &str| path.replace('.', "_").eq_ignore_ascii_case(rest);
    if !rest.contains("__") && !paths.any(is_spelt) {
        return None;
    }
    let hint = match nearest(rest, keys()) {
        _ if rest == "CONFIG__FILE" => "only --config.file names the configuration file".to_owned(),
        Some(key) => format!("did you mean {}?", key.variable()),
        None => format!("write {prefix}<SECTION>__<KEY>; the file alone sets {TARGETS}"),
    };
    let rest = if is_plain(rest) { rest } else { "…" };
    Some(format!("{prefix}{rest}: unknown variable; {hint}"))
}
