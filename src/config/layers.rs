//! The layers of the configuration, which figment merges, and the mistakes in them.
//!
//! serde reads the sections from the merged values. A mistake is noted by its path and kind, and
//! the default takes its place, until there is none: one run finds all mistakes.

use super::sections::{keys, names_of};
use crate::support::{
    hint::{is_plain, nearest},
    keys::Key,
};
use figment::{
    Error, Figment, Metadata, Profile, Provider,
    value::{Dict, Map, Value},
};
use serde::de::DeserializeOwned;
use serde_json::json;
use std::{collections::BTreeMap, fmt::Display, mem, path::PathBuf};

/// The place of a value that no layer sets.
pub const DEFAULT: &str = "default";

/// The only section that is a list. No variable or option sets it.
pub const TARGETS: &str = "targets";

/// The defaults, the file, the environment or the options.
#[derive(Debug, Default)]
pub struct Layer {
    pub values: Dict,
    /// By path: the file and line, the variable or the option; none of a default.
    pub places: BTreeMap<String, String>,
    /// Relative paths begin at the folder of this file.
    pub file: PathBuf,
    /// Texts that no message shows: the API key, and a path of its file that may be the key, pasted
    /// there by mistake.
    pub secrets: Vec<String>,
}

impl Layer {
    fn set(&mut self, key: &Key, text: &str, place: &str) {
        let ([section, name], value) = (key.names(), self.value(key.path, text));
        let section = self.values.entry(section.to_owned());
        if let Value::Dict(_, keys) = section.or_insert_with(|| Dict::new().into()) {
            keys.insert(name.to_owned(), value);
        }
        self.places.insert(key.path.to_owned(), place.to_owned());
    }

    /// Returns the value of a text.
    pub fn value(&mut self, path: &str, text: &str) -> Value {
        let (text, file) = (text.trim(), self.file.with_file_name(text.trim()));
        let is_path = text.starts_with('/') || file.exists();
        if text.is_empty() {
            return text.into();
        }
        if path == "api.key" || path == "api.key_file" && !is_path {
            self.secrets.push(text.to_owned());
        }
        if path.ends_with("file") {
            return file.display().to_string().into();
        }
        text.into()
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
#[error("{}", .0.join("\n"))]
pub struct ConfigError(pub Vec<String>);

/// The merged layers, and the mistakes in them.
#[derive(Debug, Default)]
pub struct Layers {
    figment: Figment,
    secrets: Vec<String>,
    /// Each with the path of its key; without one if it concerns no active value.
    pub mistakes: Vec<(String, String)>,
}

impl Layers {
    /// Adds a layer, which wins over those before it.
    pub fn merge(&mut self, layer: Layer) {
        self.secrets.extend_from_slice(&layer.secrets);
        self.figment = mem::take(&mut self.figment).merge(layer);
    }

    /// Adds a layer from the texts of keys, each with its place.
    pub fn merge_texts<'a>(&mut self, texts: impl Iterator<Item = (&'a Key, &'a str, &'a str)>) {
        let mut layer = Layer::default();
        texts.for_each(|(key, text, place)| layer.set(key, text, place));
        self.merge(layer);
    }

    /// Returns the key of a variable. Notes an unknown one.
    pub fn key_of(&mut self, variable: &str) -> Option<&'static Key> {
        let key = keys().find(|key| key.variable() == variable);
        if key.is_none()
            && let Some(rest) = variable.strip_prefix(Key::PREFIX)
            && let Some(hint) = meant(rest)
        {
            let rest = if is_plain(rest) { rest } else { "…" };
            self.mistake(format!("{}{rest}: unknown variable; {hint}", Key::PREFIX));
        }
        key
    }

    /// Reads a type from the values. A default takes the place of a value with a mistake.
    pub fn extract<T: DeserializeOwned>(&mut self) -> T {
        loop {
            let error = match self.figment.extract() {
                Ok(extracted) => return extracted,
                Err(error) => error,
            };
            let path = error.path.join(".");
            self.note(&path, error.kind);
            let key = keys().find(|key| key.path == path);
            let default = (path, key.map_or("", |key| key.default));
            self.figment = mem::take(&mut self.figment).merge(default);
        }
    }

    /// Notes an unknown section, or key of a section.
    pub fn unknown(&mut self, place: &str, section: &str, name: &str) {
        let known = names_of(section);
        let prefix = match section {
            "" => String::new(),
            section => format!("{section}."),
        };
        let (near, elsewhere) = if name.contains('.') {
            (None, nearest(name, keys()))
        } else {
            (
                nearest(name, &known),
                keys().find(|key| key.names()[1] == name),
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
        self.mistake(format!("{place}: unknown key \"{prefix}{name}\"; {hint}"));
    }

    /// Notes a mistake that concerns no value of a key.
    pub fn mistake(&mut self, mistake: String) {
        self.mistakes.push((String::new(), mistake));
    }

    /// Notes a mistake in the value of a key, unless it already has one.
    pub fn note(&mut self, path: &str, problem: impl Display) {
        if self.mistakes.iter().any(|(noted, _)| noted == path) {
            return;
        }
        let text = self.text(path);
        let mut secrets = self.secrets.iter();
        let is_secret =
            secrets.any(|secret| text == *secret || secret.len() >= 8 && text.contains(secret));
        let mut problem = problem.to_string();
        if path != "api.key" && is_secret {
            let (_, hint) = problem.rsplit_once("; ").unwrap_or_default();
            problem = format!("is not shown, since it may hold the API key; {hint}");
        }
        // The place of an entry of targets says more than its number.
        let names = path.split('.').filter(|name| name.parse::<u32>().is_err());
        let names: Vec<_> = names.collect();
        let mistake = format!("{} ({}): {problem}", names.join("."), self.place(path));
        self.mistakes.push((path.to_owned(), mistake));
    }

    /// Returns the place of the value of a key.
    pub fn place(&self, path: &str) -> String {
        let names: Vec<_> = path.split('.').collect();
        let metadata = self.figment.find_metadata(path);
        let place = metadata.map(|metadata| metadata.interpolate(&Profile::Default, &names));
        place.unwrap_or_default()
    }

    /// Returns the text of a key.
    pub fn text(&self, path: &str) -> String {
        self.figment.extract_inner(path).unwrap_or_default()
    }

    /// Returns each entry of [`TARGETS`] as a mapping in one line, with its place.
    pub fn targets(&self) -> Vec<(String, String)> {
        let entries: BTreeMap<String, BTreeMap<String, String>> =
            self.figment.extract_inner(TARGETS).unwrap_or_default();
        let entries = entries.iter().map(|(number, entry)| {
            let keys = entry
                .iter()
                .map(|(name, text)| format!("{name}: {}", written(text)));
            let keys = keys.collect::<Vec<_>>().join(", ");
            (
                format!("{{{keys}}}"),
                self.place(&format!("{TARGETS}.{number}")),
            )
        });
        entries.collect()
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

/// Returns the remedy for a variable that belongs to no key. Kubernetes injects variables with the
/// prefix, but without two underscores in a row; they are no mistake, unless they spell a key or a
/// section.
fn meant(rest: &str) -> Option<String> {
    let mut paths = keys().map(|key| key.path).chain(names_of(""));
    let is_spelt = |path: &str| path.replace('.', "_").eq_ignore_ascii_case(rest);
    if !rest.contains("__") && !paths.any(is_spelt) {
        return None;
    }
    let prefix = Key::PREFIX;
    Some(match nearest(rest, keys()) {
        _ if rest == "CONFIG__FILE" => "only --config.file names the configuration file".to_owned(),
        Some(key) => format!("did you mean {}?", key.variable()),
        None => format!("write {prefix}<SECTION>__<KEY>; the file alone sets {TARGETS}"),
    })
}
