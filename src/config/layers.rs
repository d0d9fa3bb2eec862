//! The layers of the configuration, which figment merges, and the mistakes in them.
//!
//! serde reads the sections from the merged values. A mistake is noted by its path and kind, and the
//! default takes its place, until there is none: one run finds all mistakes.

use super::{
    ConfigError,
    api_key::may_be_key,
    file::NO_MAPPING,
    sections::{KEYS, Key, PREFIX, section_names},
    text::joined,
};
use crate::support::hint::{is_plain, nearest};
use figment::{
    Error, Figment, Metadata, Profile, Provider,
    error::Kind,
    value::{Dict, Map, Value},
};
use serde::de::DeserializeOwned;
use serde_json::json;
use std::{ffi::OsStr, fmt::Display, path::Path};

/// The place of a value that no layer sets.
pub const DEFAULT: &str = "default";

/// The only section that is a list. No variable or option sets it.
pub const TARGETS: &str = "targets";

/// A value of a layer.
#[derive(Debug, Clone)]
struct Setting {
    section: String,
    name: String,
    value: Value,
    /// The file and line, the variable or the option that set it, or [`DEFAULT`].
    place: String,
}

impl Provider for Setting {
    fn metadata(&self) -> Metadata {
        Metadata::named(self.place.clone())
    }

    fn data(&self) -> Result<Map<Profile, Dict>, Error> {
        let keys = Dict::from([(self.name.clone(), self.value.clone())]);
        Ok(Profile::Default.collect(Dict::from([(self.section.clone(), keys.into())])))
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
    pub targets_place: String,
    /// Texts that no message shows: the API key, and a path that may be it.
    pub secrets: Vec<String>,
    /// Each with the path of its key; without one if it concerns no active value.
    pub mistakes: Vec<(String, String)>,
}

impl Layers {
    /// Returns the layer of the defaults.
    pub fn of(keys: &[Key]) -> Self {
        let mut layers = Self::default();
        for key in keys {
            let [section, name] = key.names();
            layers.set(section, name, key.default.into(), DEFAULT);
        }
        layers
    }

    /// Sets a key. A relative path begins at the folder of the file that sets it.
    pub fn set(&mut self, section: &str, name: &str, mut value: Value, place: &str) {
        if let Value::String(_, text) = &mut value
            && !text.trim().is_empty()
        {
            let path = Path::new(place).with_file_name(text.trim());
            let is_hidden = name == "key_file" && may_be_key(Path::new(text.trim()), &path);
            if is_hidden || name == "key" {
                self.secrets.push(text.clone());
            } else if name.ends_with("file") {
                *text = path.display().to_string();
            }
        }
        let (section, name, place) = (section.to_owned(), name.to_owned(), place.to_owned());
        self.settings.push(Setting {
            section,
            name,
            value,
            place,
        });
    }

    /// Reads a type from the values, or from those of a section. A default takes the place of a value
    /// with a mistake.
    pub fn extract<T: DeserializeOwned>(&mut self, at: &str) -> T {
        loop {
            self.figment = self.settings.iter().fold(Figment::new(), Figment::merge);
            let error = match self.figment.focus(at).extract() {
                Ok(extracted) => return extracted,
                Err(error) => error,
            };
            let names: Vec<_> = error.path.iter().map(String::as_str).collect();
            let [section, name] = match *names {
                [section, name, ..] => [section, name],
                [name] => [at, name],
                [] => [at, ""],
            };
            self.explain(section, name, &error);
            let wrong = |one: &Setting| one.section == section && one.name == name;
            self.settings
                .retain(|one| one.place == DEFAULT || !wrong(one));
        }
    }

    /// Notes a mistake, with nothing of the error that may be the API key.
    fn explain(&mut self, section: &str, name: &str, error: &Error) {
        let place = error
            .metadata
            .as_ref()
            .map_or(DEFAULT, |metadata| &metadata.name);
        match &error.kind {
            Kind::UnknownField(_, known) if name.is_empty() => {
                let known = known.join(", ");
                self.mistake(format!("{section} ({place}): {NO_MAPPING}: {known}"));
            }
            Kind::UnknownField(_, known) => self.unknown(place, section, name, known),
            kind => {
                let path = format!("{section}.{name}");
                self.note(&path, kind);
            }
        }
    }

    /// Notes an unknown section, or key of a section.
    pub fn unknown(&mut self, place: &str, section: &str, name: &str, known: &[&str]) {
        let prefix = if section.is_empty() {
            section
        } else {
            &format!("{section}.")
        };
        let mut keys = KEYS.iter().filter(|_| section != TARGETS);
        let elsewhere = keys.find(|key| key.names()[1] == name || key.path == name);
        let near = nearest(name, known);
        let hint = match (elsewhere.map(Key::names), near) {
            (Some([section, key]), _) => {
                format!("write \"{key}:\" indented below the section \"{section}:\"")
            }
            (None, Some(near)) => format!("did you mean \"{prefix}{near}\"?"),
            (None, None) => format!("the keys here are {}", known.join(", ")),
        };
        let is_like = |near: &&str| name.len() < near.len() + 3;
        // YAML reads `{key:abc}` as one name.
        let is_shown = is_plain(name)
            || is_plain(&name.replace(char::is_numeric, "")) && near.is_some_and(is_like);
        let name = if is_shown && !self.is_secret(name) {
            name
        } else {
            "…"
        };
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
        if self.has_mistake(path) {
            return;
        }
        let (text, mut problem) = (self.text(path), problem.to_string());
        // Without a key, a text of several words may be a line that has swallowed the next.
        let is_line = self.secrets.is_empty() && text.contains(char::is_whitespace);
        if path != "api.key" && (is_line || self.is_secret(&text)) {
            let (_, hint) = problem.rsplit_once("; ").unwrap_or_default();
            problem = format!("is not shown, since it may hold the API key; {hint}");
        }
        let mistake = format!("{path} ({}): {problem}", self.place(path));
        self.mistakes.push((path.to_owned(), mistake));
    }

    pub fn has_mistake(&self, path: &str) -> bool {
        self.mistakes.iter().any(|(one, _)| one == path)
    }

    /// Returns the place of the value of a key.
    pub fn place(&self, path: &str) -> String {
        let metadata = self.figment.find_metadata(path);
        metadata.map_or(DEFAULT.to_owned(), |metadata| metadata.name.to_string())
    }

    /// Returns the text of a key; empty if it has none.
    pub fn text(&self, path: &str) -> String {
        let value = self.figment.find_value(path).ok();
        value.as_ref().and_then(joined).unwrap_or_default()
    }

    /// Sets the key of a variable; a blank variable sets nothing.
    pub fn read_variable(&mut self, variable: &str, value: &OsStr) {
        if value.to_string_lossy().trim().is_empty() {
            return;
        }
        if let Some(key) = KEYS.iter().find(|key| key.variable() == variable) {
            let [section, name] = key.names();
            match value.to_str() {
                Some(text) => self.set(section, name, text.into(), variable),
                None => self.mistakes.push((
                    key.path.to_owned(),
                    format!("{} ({variable}): is not UTF-8; write it in UTF-8", key.path),
                )),
            }
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
        let keys: Vec<_> = set
            .map(|one| format!("{}: {}", one.name, written(&one.value)))
            .collect();
        format!("{{{}}}", keys.join(", "))
    }

    /// Returns the value of a key as a file has it.
    pub fn written(&self, path: &str) -> String {
        self.figment
            .find_value(path)
            .as_ref()
            .map_or(String::new(), written)
    }

    /// Returns all mistakes: first those that concern no value, then by key.
    pub fn error(mut self) -> ConfigError {
        let position = |path: &str| KEYS.iter().position(|key| key.path == path);
        self.mistakes.sort_by_key(|(path, _)| position(path));
        ConfigError(
            self.mistakes
                .into_iter()
                .map(|(_, mistake)| mistake)
                .collect(),
        )
    }
}

/// Returns a value as a file has it: numbers, times and switches are bare, since other programs read
/// them as such.
fn written(value: &Value) -> String {
    match value {
        Value::String(_, text) if is_bare(text) => text.clone(),
        value => json!(value).to_string(),
    }
}

fn is_bare(text: &str) -> bool {
    let is_number = text.starts_with(|c: char| c.is_ascii_digit());
    is_number && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '.')
        || ["true", "false"].contains(&text)
}

/// Returns the remedy for a variable that belongs to no key. Kubernetes injects variables with the
/// prefix, but without two underscores in a row; they are no mistake, unless they spell a key or a
/// section.
fn meant(rest: &str) -> Option<String> {
    let paths = || KEYS.iter().map(|key| key.path);
    let is_spelt = |path: &str| path.replace('.', "_").eq_ignore_ascii_case(rest);
    if !rest.contains("__") && !paths().chain(section_names()).any(is_spelt) {
        return None;
    }
    Some(match nearest(rest, KEYS) {
        _ if rest == "CONFIG__FILE" => "only --config.file names the configuration file".to_owned(),
        Some(key) => format!("did you mean {}?", key.variable()),
        None => format!(
            "write {PREFIX}<SECTION>__<KEY>; the sections are {}, of which the file alone sets \
             {TARGETS}",
            section_names().join(", "),
        ),
    })
}
