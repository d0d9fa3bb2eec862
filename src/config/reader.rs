//! A layer, or the merged layers, from which the sections read their values. All mistakes are
//! collected, so that one run shows them together.

use super::{
    Setting,
    api_key::{HIDDEN, may_be_key},
    keys::{Key, TARGETS},
    values::{Takes, items},
};
use figment::{Figment, providers::Serialized};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::{
    fmt::Display,
    mem,
    path::{Path, PathBuf},
};

/// The source of a value that no layer sets.
pub const DEFAULT: &str = "default";

/// The values of a layer, or the active ones, and the mistakes found.
#[derive(Default)]
pub struct Reader {
    /// Each key once.
    pub settings: Vec<Setting>,
    /// The entries of `targets`, each with its place.
    pub targets: Vec<(String, Self)>,
    /// The mistakes that concern no active value, such as unknown names.
    pub mistakes: Vec<String>,
}

impl Setting {
    /// Notes a mistake in the value, the problem and its remedy, unless it already has one.
    pub fn mistake(&mut self, problem: impl Display) {
        let text = format!("{} ({}): {problem}", self.key.path, self.source);
        self.mistake.get_or_insert(text);
    }

    /// Notes a value that the key does not take.
    pub fn refuse(&mut self, problem: &str) {
        let expected = self.key.takes.expected();
        self.mistake(format_args!("{problem}; give {expected}"));
    }
}

impl Reader {
    /// Returns a layer of the defaults of `keys`.
    pub fn defaults(keys: impl IntoIterator<Item = &'static Key>) -> Self {
        let mut layer = Self::default();
        for key in keys {
            layer.set(key, key.default, DEFAULT.to_owned(), Path::new(""));
        }
        layer
    }

    /// Merges `layers`, of which the first has all keys: later ones win.
    pub fn merge(layers: impl IntoIterator<Item = Self>) -> Self {
        let mut merged = Self::default();
        let mut figment = Figment::new();
        for layer in layers {
            for one in &layer.settings {
                let value = (&one.value, &one.source, &one.mistake);
                figment = figment.merge(Serialized::default(one.key.path, value));
            }
            let mut paths = layer.settings.iter().map(|one| one.key.path);
            if paths.any(|path| path == TARGETS.path) {
                merged.targets = layer.targets;
            }
            if merged.settings.is_empty() {
                merged.settings = layer.settings;
            }
            merged.mistakes.extend(layer.mistakes);
        }
        for one in &mut merged.settings {
            (one.value, one.source, one.mistake) = figment
                .extract_inner(one.key.path)
                .expect("each layer holds a setting as such a tuple");
        }
        merged
    }

    /// Returns the active value of a key.
    pub fn setting(&mut self, path: &str) -> &mut Setting {
        let mut settings = self.settings.iter_mut();
        let setting = settings.find(|setting| setting.key.path == path);
        setting.expect("a test finds each path in the table of keys")
    }

    /// Sets a key in this layer. A relative path begins at the folder of `file`.
    pub fn set(
        &mut self,
        key: &'static Key,
        text: &str,
        source: String,
        file: &Path,
    ) -> &mut Setting {
        let mut setting = Setting {
            key,
            value: String::new(),
            source,
            mistake: None,
        };
        let trimmed = text.trim();
        setting.value = match key.takes {
            Takes::List(_) => items(text).join(", "),
            Takes::Secret => text.to_owned(),
            Takes::File if !trimmed.is_empty() => {
                let path = file.parent().unwrap_or(file).join(trimmed);
                if may_be_key(Path::new(trimmed), &path) {
                    // The first start finds no state file.
                    let or = match key.path {
                        "state.file" => "one that ends in .json",
                        _ => "of a file that exists",
                    };
                    setting.mistake(format_args!(
                        "the file {HIDDEN} does not exist; give a path from / on, or {or}"
                    ));
                }
                path.display().to_string()
            }
            _ => trimmed.to_owned(),
        };
        self.settings.push(setting);
        self.settings.last_mut().expect("a setting was pushed")
    }

    /// Returns the active text of a key.
    pub fn text(&mut self, path: &str) -> String {
        self.setting(path).value.clone()
    }

    /// Parses the active text of a key, or notes the mistake in it.
    pub fn parse<T>(
        &mut self,
        path: &str,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Option<T> {
        let setting = self.setting(path);
        let parsed = parse(&setting.value);
        let value = parsed.map_err(|problem| setting.refuse(&problem)).ok();
        value.filter(|_| setting.mistake.is_none())
    }

    /// Returns the active value of a key, or notes the mistake in it. An empty text is `None` for a
    /// key that may have no value.
    pub fn get<T: DeserializeOwned>(&mut self, path: &str) -> Option<T> {
        let key = self.setting(path).key;
        let value = self.parse(path, |text| match text {
            "" if key.default.is_empty() => Ok(Value::Null),
            text => key.takes.parse(text),
        });
        serde_json::from_value(value?).ok()
    }

    /// Returns the path of a file, if it is set.
    pub fn file(&mut self, path: &str) -> Option<PathBuf> {
        let path = self.parse(path, |text| Ok(PathBuf::from(text)))?;
        (!path.as_os_str().is_empty()).then_some(path)
    }

    /// Takes all mistakes.
    pub fn mistakes(&mut self) -> Vec<String> {
        let mut mistakes = mem::take(&mut self.mistakes);
        let settings = self.settings.iter_mut();
        mistakes.extend(settings.filter_map(|setting| setting.mistake.take()));
        mistakes
    }
}
