//! The layers of the configuration, which figment merges, and the mistakes in them.
//!
//! serde reads the sections from the merged values. A mistake is noted by its path and kind, and
//! the default takes its place, until there is none: one run finds all mistakes.

use super::sections::{KEYS, Key, PREFIX, names_of};
use crate::support::hint::{is_plain, nearest};
use figment::{
    Error, Figment, Metadata, Profile, Provider,
    providers::Serialized,
    value::{Dict, Empty, Map, Value},
};
use serde::de::DeserializeOwned;
use serde_json::json;
use std::{fmt::Display, path::Path};

/// The place of a value that no layer sets.
pub const DEFAULT: &str = "default";

/// The only section that is a list. No variable or option sets it.
pub const TARGETS: &str = "targets";

/// A value of a layer.
#[derive(Debug, Clone)]
struct Setting {
    /// The section and the name, joined by a dot.
    path: String,
    value: Value,
    /// The file and line, the variable or the option that set it, or [`DEFAULT`].
    place: String,
}

impl Provider for Setting {
    fn metadata(&self) -> Metadata {
        Metadata::named(self.place.clone())
    }

    fn data(&self) -> Result<Map<Profile, Dict>, Error> {
        Serialized::default(&self.path, &self.value).data()
    }
}

/// The values of all layers, and the mistakes in them.
#[derive(Debug, Default)]
pub struct Layers {
    /// Later ones win.
    settings: Vec<Setting>,
    figment: Figment,
    /// The entries of [`TARGETS`], each with its place.
    pub targets: Vec<(String, Self)>,
    /// Texts that no message shows: the API key, and the path of its file, which may be the key,
    /// pasted there by mistake.
    pub secrets: Vec<String>,
    /// Each with the path of its key; without one if it concerns no active value.
    pub mistakes: Vec<(String, String)>,
}

impl Layers {
    /// Returns layers with the defaults of `keys` alone.
    pub fn of(keys: &[Key]) -> Self {
        let mut layers = Self::default();
        for key in keys {
            layers.set(key.path, key.default.into(), DEFAULT);
        }
        layers
    }

    /// Sets a key; an empty text means none. A relative path begins at the folder of the file that
    /// sets it.
    pub fn set(&mut self, path: &str, mut value: Value, place: &str) {
        if let Value::String(_, text) = &mut value {
            *text = text.trim().to_owned();
            if text.is_empty() {
                value = Empty::None.into();
            } else {
                if ["api.key", "api.key_file"].contains(&path) {
                    self.secrets.push(text.clone());
                }
                if path.ends_with("file") {
                    let path = Path::new(place).with_file_name(&text);
                    *text = path.display().to_string();
                }
            }
        }
        self.settings.push(Setting {
            path: path.to_owned(),
            value,
            place: place.to_owned(),
        });
    }

    /// Reads a type from the values, or from those of a section. A default takes the place of a
    /// value with a mistake.
    pub fn extract<T: DeserializeOwned>(&mut self, at: &str) -> T {
        loop {
            self.figment = self.settings.iter().fold(Figment::new(), Figment::merge);
            let error = match self.figment.focus(at).extract() {
                Ok(extracted) => return extracted,
                Err(error) => error,
            };
            let path = format!("{at}.{}", error.path.join("."));
            let path = path.trim_start_matches('.');
            debug_assert_ne!(self.place(path), DEFAULT, "no default is a mistake: {path}");
            self.note(path, error.kind);
            self.settings
                .retain(|one| one.place == DEFAULT || one.path != path);
        }
    }

    /// Notes an unknown section, or key of a section.
    pub fn unknown(&mut self, place: &str, section: &str, name: &str) {
        let known = names_of(section);
        let prefix = match section {
            "" => String::new(),
            section => format!("{section}."),
        };
        let mut keys = KEYS.iter();
        let elsewhere = keys.find(|key| key.names()[1] == name || key.path == name);
        let hint = match (nearest(name, &known), elsewhere.map(Key::names)) {
            (Some(near), _) => format!("did you mean \"{prefix}{near}\"?"),
            (None, Some([section, key])) => {
                format!("write \"{key}:\" indented below the section \"{section}:\"")
            }
            (None, None) => format!("the keys here are {}", known.join(", ")),
        };
        // YAML reads `{key:abc}` as one name.
        let is_shown = is_plain(name) && !self.is_secret(name);
        let name = if is_shown { name } else { "…" };
        self.mistake(format!("{place}: unknown key \"{prefix}{name}\"; {hint}"));
    }

    /// Returns true for a text that is, or contains, something that no message shows.
    pub fn is_secret(&self, text: &str) -> bool {
        let mut secrets = self.secrets.iter();
        secrets.any(|one| text == one || one.len() >= 8 && text.contains(one))
    }

    /// Notes a mistake that concerns no value of a key.
    pub fn mistake(&mut self, mistake: String) {
        self.mistakes.push((String::new(), mistake));
    }

    /// Notes a mistake in the value of a key, unless it already has one.
    pub fn note(&mut self, path: &str, problem: impl Display) {
        if self.mistakes.iter().any(|(one, _)| one == path) {
            return;
        }
        let (text, mut problem) = (self.text(path), problem.to_string());
        // Without a key, a text of several words may be a line that has swallowed the next.
        let is_line = self.secrets.is_empty() && text.contains(char::is_whitespace);
        if !path.starts_with("api.key") && (is_line || self.is_secret(&text)) {
            let (_, hint) = problem.rsplit_once("; ").unwrap_or_default();
            problem = format!("is not shown, since it may hold the API key; {hint}");
        }
        let mistake = format!("{path} ({}): {problem}", self.place(path));
        self.mistakes.push((path.to_owned(), mistake));
    }

    /// Returns the place of the value of a key.
    pub fn place(&self, path: &str) -> String {
        let metadata = self.figment.find_metadata(path);
        metadata.map_or(DEFAULT.to_owned(), |metadata| metadata.name.to_string())
    }

    /// Returns the text of a key; empty if it has none.
    pub fn text(&self, path: &str) -> String {
        let value = self.figment.find_value(path).ok();
        value.and_then(Value::into_string).unwrap_or_default()
    }

    /// Sets the key of a variable; a blank variable sets nothing.
    pub fn read_variable(&mut self, variable: &str, value: &str) {
        if value.trim().is_empty() {
            return;
        }
        if let Some(key) = KEYS.iter().find(|key| key.variable() == variable) {
            self.set(key.path, value.into(), variable);
        } else if let Some(rest) = variable.strip_prefix(PREFIX)
            && let Some(hint) = meant(rest)
        {
            let rest = if is_plain(rest) { rest } else { "…" };
            self.mistake(format!("{PREFIX}{rest}: unknown variable; {hint}"));
        }
    }

    /// Returns the values above the defaults as a mapping in one line.
    pub fn in_one_line(&self) -> String {
        let set = self.settings.iter().filter(|one| one.place != DEFAULT);
        let keys = set.map(|one| {
            let (_, name) = one.path.split_once('.').unwrap_or_default();
            format!("{name}: {}", self.written(&one.path))
        });
        format!("{{{}}}", keys.collect::<Vec<_>>().join(", "))
    }

    /// Returns the value of a key as a file has it.
    pub fn written(&self, path: &str) -> String {
        let text = self.text(path);
        // Other programs read numbers, times and switches.
        let is_bare = !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || c == '.');
        if is_bare {
            text
        } else {
            json!(text).to_string()
        }
    }
}

/// Returns the remedy for a variable that belongs to no key. Kubernetes injects variables with the
/// prefix, but without two underscores in a row; they are no mistake, unless they spell a key or a
/// section.
fn meant(rest: &str) -> Option<String> {
    let paths = || KEYS.iter().map(|key| key.path);
    let is_spelt = |path: &str| path.replace('.', "_").eq_ignore_ascii_case(rest);
    if !rest.contains("__") && !paths().chain(names_of("")).any(is_spelt) {
        return None;
    }
    Some(match nearest(rest, KEYS) {
        _ if rest == "CONFIG__FILE" => "only --config.file names the configuration file".to_owned(),
        Some(key) => format!("did you mean {}?", key.variable()),
        None => format!("write {PREFIX}<SECTION>__<KEY>; the file alone sets {TARGETS}"),
    })
}
