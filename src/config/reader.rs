//! Reads values from the merged layers and collects the mistakes, so that one run shows them all.

use super::{
    Setting,
    api_key::may_be_key,
    keys::{KEYS, Key, TARGETS},
    mistake::{ConfigError, Files, Mistake},
    values::{Takes, Wrong, items},
};
use figment::{
    Figment, Metadata, Profile, Provider,
    error::Result as FigmentResult,
    providers::Serialized,
    value::{Dict, Empty, Map, magic::RelativePathBuf},
};
use serde::de::DeserializeOwned;
use std::{mem, path::PathBuf};

/// The place of a default.
pub const DEFAULT: &str = "default";

/// A value and its place, as a provider: figment's metadata belong to a provider.
struct Placed<'a> {
    path: &'a str,
    text: &'a str,
    place: Metadata,
}

impl Provider for Placed<'_> {
    fn metadata(&self) -> Metadata {
        self.place.clone()
    }

    fn data(&self) -> FigmentResult<Map<Profile, Dict>> {
        Serialized::default(self.path, self.text).data()
    }
}

/// The merged layers.
#[derive(Default)]
pub struct Reader {
    figment: Figment,
    /// The entries of [`TARGETS`], and where they stand.
    pub targets: Vec<(Metadata, Self)>,
    pub mistakes: Vec<Mistake>,
}

impl Reader {
    /// Returns the defaults of keys.
    pub fn with_defaults(keys: &[Key]) -> Self {
        let mut reader = Self::default();
        for key in keys {
            reader.put(key.path, key.default, Metadata::named(DEFAULT));
        }
        reader
    }

    /// Puts the value of a key above those before. A list is split, and other text trimmed, except
    /// a secret.
    pub fn set(&mut self, key: &Key, text: &str, place: Metadata) {
        let text = match key.takes {
            Takes::List(..) => items(text).join(", "),
            Takes::Secret => text.to_owned(),
            _ => text.trim().to_owned(),
        };
        self.put(key.path, &text, place);
    }

    /// Puts a text as it is above those before.
    pub fn put(&mut self, path: &str, text: &str, place: Metadata) {
        self.figment = mem::take(&mut self.figment).merge(Placed { path, text, place });
    }

    /// Returns the place of the active value of a key.
    pub fn place(&self, path: &str) -> Metadata {
        self.figment
            .find_metadata(path)
            .cloned()
            .unwrap_or_else(|| Metadata::named(DEFAULT))
    }

    /// Notes a mistake in the active value of a key.
    pub fn mistake(&mut self, path: &str, what: impl Into<String>, hint: impl Into<String>) {
        let place = self.place(path);
        let wrong = Wrong(what.into(), hint.into());
        let mistake = Key::find(path).map(|key| Mistake::of_value(key, &place, wrong));
        self.mistakes.extend(mistake);
    }

    /// Notes that a required key is not set, unless it is set to a value of another type.
    pub fn missing(&mut self, path: &str, what: &str, hint: &str) {
        if !self
            .mistakes
            .iter()
            .any(|mistake| mistake.path.starts_with(path))
        {
            self.mistake(path, what, hint);
        }
    }

    /// Returns the active text of a key.
    pub fn text(&self, path: &str) -> String {
        self.figment.extract_inner(path).unwrap_or_default()
    }

    /// Parses the active text of a key, or notes the mistake in it.
    pub fn parse<T>(
        &mut self,
        path: &str,
        parse: impl FnOnce(&str) -> Result<T, Wrong>,
    ) -> Option<T> {
        let parsed = parse(&self.text(path));
        parsed
            .map_err(|Wrong(what, hint)| self.mistake(path, what, hint))
            .ok()
    }

    /// Returns the active value of a key, or notes the mistake in it. An empty text is `None` for a
    /// key that may have no value.
    pub fn get<T: DeserializeOwned>(&mut self, path: &str) -> Option<T> {
        let key = Key::find(path)?;
        self.parse(path, |text| {
            let value = if text.is_empty() && key.default.is_empty() {
                Empty::Unit.into()
            } else {
                key.takes.parse(text)?
            };
            Ok(value
                .deserialize()
                .map_err(|_| "has a value of another type")?)
        })
    }

    /// Returns the path of a file; `None` if it is not set. In the configuration file, a relative
    /// path begins at the folder of that file.
    pub fn file(&self, path: &str) -> Option<PathBuf> {
        let file: RelativePathBuf = self.figment.extract_inner(path).ok()?;
        let is_set = !file.original().as_os_str().is_empty();
        is_set.then(|| file.relative())
    }

    /// Returns the error that shows all mistakes.
    pub fn error(self) -> ConfigError {
        // A mistake in the name of a file is its only one.
        let file = |path| {
            let is_wrong = self.mistakes.iter().any(|mistake| mistake.path == path);
            self.file(path).filter(|_| !is_wrong)
        };
        ConfigError {
            files: Files {
                ca: file("api.ca_file"),
                state: file("state.file"),
                web_config: file("web.config_file"),
            },
            mistakes: self.mistakes,
        }
    }

    /// Returns each key with its active value as it was written, and the targets.
    pub fn settings(&self) -> Vec<Setting> {
        let setting = |path, value: String| Setting {
            key: path,
            value: value.escape_debug().to_string(),
            source: self.place(path).name.into_owned(),
        };
        let mut settings = Vec::new();
        for key in KEYS {
            let value = match (&key.takes, self.file(key.path)) {
                (Takes::Secret, Some(_)) => "<hidden>".to_owned(),
                (Takes::File, Some(file)) if may_be_key(&self.text(key.path)) && !file.exists() => {
                    "<hidden: might be the key>".to_owned()
                }
                (Takes::File, Some(file)) => file.display().to_string(),
                _ => self.text(key.path),
            };
            settings.push(setting(key.path, value));
        }
        settings.push(setting(TARGETS, self.text(TARGETS)));
        settings
    }
}
