//! The merged layers, from which the sections read their values. All mistakes are collected, so
//! that one run shows them together.

use super::{
    Setting,
    api_key::{HIDDEN, may_be_key},
    keys::{KEYS, Key, TARGETS},
    mistake::Mistake,
    values::{Takes, items},
};
use figment::{
    Figment, Metadata, Profile, Provider,
    error::Result as FigmentResult,
    providers::Serialized,
    value::{Dict, Empty, Map, magic::RelativePathBuf},
};
use serde::de::DeserializeOwned;
use std::{fmt::Display, mem, path::PathBuf};

/// The source of a value that no layer sets.
pub const DEFAULT: &str = "default";

/// A value and the place that it came from, as a provider: figment's metadata belong to a provider.
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

/// The merged layers, and the mistakes found so far.
#[derive(Default)]
pub struct Reader {
    figment: Figment,
    /// The entries of [`TARGETS`], each with its place.
    pub targets: Vec<(Metadata, Self)>,
    pub mistakes: Vec<Mistake>,
}

impl Reader {
    /// Returns a reader of the defaults of `keys`.
    pub fn with_defaults(keys: &[Key]) -> Self {
        let mut reader = Self::default();
        for key in keys {
            reader.put(key.path, key.default, Metadata::named(DEFAULT));
        }
        reader
    }

    /// Sets a key above the earlier layers. Normalizes lists, and trims other text except secrets.
    pub fn set(&mut self, key: &Key, text: &str, place: Metadata) {
        let text = match key.takes {
            Takes::List(..) => items(text).join(", "),
            Takes::Secret => text.to_owned(),
            _ => text.trim().to_owned(),
        };
        self.put(key.path, &text, place);
    }

    /// Sets a path above the earlier layers, to the text as it is.
    pub fn put(&mut self, path: &str, text: &str, place: Metadata) {
        self.figment = mem::take(&mut self.figment).merge(Placed { path, text, place });
    }

    /// Returns the place of the active value of a key.
    pub fn place(&self, path: &str) -> Metadata {
        let place = self.figment.find_metadata(path).cloned();
        place.unwrap_or_else(|| Metadata::named(DEFAULT))
    }

    /// Notes a mistake: the problem and its remedy. The path is empty if a name is wrong.
    pub fn note(&mut self, path: &'static str, place: &Metadata, problem: impl Display) {
        self.mistakes.push(Mistake::new(path, place, problem));
    }

    /// Notes a value that a key does not take.
    pub fn refuse(&mut self, key: &Key, place: &Metadata, problem: &str) {
        let expected = key.takes.expected();
        self.note(key.path, place, format_args!("{problem}; give {expected}"));
    }

    /// Notes a mistake in the active value of a key: the problem and its remedy.
    pub fn mistake(&mut self, path: &'static str, problem: impl Display) {
        self.note(path, &self.place(path), problem);
    }

    /// Notes that a required key is not set, unless it or its section is of another type.
    pub fn missing(&mut self, path: &'static str, problem: &str) {
        let mut mistakes = self.mistakes.iter();
        let of_path =
            |other: &str| path.split('.').next() == Some(other) || other.starts_with(path);
        if !mistakes.any(|mistake| of_path(mistake.path)) {
            self.mistake(path, problem);
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
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Option<T> {
        let parsed = parse(&self.text(path));
        let refuse = |problem: String| {
            if let Some(key) = Key::find(path) {
                self.refuse(key, &self.place(path), &problem);
            }
        };
        parsed.map_err(refuse).ok()
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
            let value = value.deserialize();
            value.map_err(|_| "has a value of another type".to_owned())
        })
    }

    /// Returns the path of a file, if it is set. In the configuration file, a relative path begins
    /// at the folder of that file.
    pub fn relative_path(&self, path: &str) -> Option<RelativePathBuf> {
        let file: RelativePathBuf = self.figment.extract_inner(path).ok()?;
        (!file.original().as_os_str().is_empty()).then_some(file)
    }

    /// Returns the path of a file, if it is set, or notes that it may be the API key.
    pub fn file(&mut self, path: &'static str) -> Option<PathBuf> {
        let file = self.relative_path(path)?;
        if may_be_key(file.original(), &file.relative()) {
            let hint = match path {
                "state.file" => {
                    "write it from / on, or with an extension such as that of state.json"
                }
                _ => "give the path of a file that exists",
            };
            self.mistake(path, format!("the file {HIDDEN} does not exist; {hint}"));
            return None;
        }
        Some(file.relative())
    }

    /// Returns each key with its active value as it was written, and the targets.
    pub fn settings(&self) -> Vec<Setting> {
        let setting = |path, value: String| Setting {
            key: path,
            value,
            source: self.place(path).name.into_owned(),
        };
        let mut settings = Vec::new();
        for key in KEYS {
            let file = self.relative_path(key.path);
            let value = match (&key.takes, file) {
                (Takes::Secret, Some(_)) => super::HIDDEN.to_owned(),
                (Takes::File, Some(file)) => file.relative().display().to_string(),
                _ => self.text(key.path),
            };
            settings.push(setting(key.path, value));
        }
        settings.push(setting(TARGETS, self.text(TARGETS)));
        settings
    }
}
