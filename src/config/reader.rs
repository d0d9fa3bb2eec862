//! Reads values from the merged layers and collects the mistakes, so that one run shows them all.

use super::{
    Setting,
    mistake::{Mistake, Source},
    schema::{KEYS, Key, TARGETS, Takes},
    values::items,
};
use figment::Figment;
use std::{collections::HashMap, mem, path::PathBuf};

/// The merged layers: a text for each key.
#[derive(Default)]
pub struct Reader {
    figment: Figment,
    sources: HashMap<&'static str, Source>,
    /// The entries of [`TARGETS`], and where they stand.
    pub targets: Vec<(Source, Self)>,
    pub mistakes: Vec<Mistake>,
    /// Set if a name is unknown: then a key that seems to be missing may be misspelt.
    pub has_unknown: bool,
}

impl Reader {
    /// Puts the value of a key above those before. A list is split, and other text trimmed, except
    /// a secret.
    pub fn set(&mut self, key: &'static Key, text: &str, source: Source) {
        let text = match key.takes {
            Takes::List => items(text).join(", "),
            Takes::Secret => text.to_owned(),
            _ => text.trim().to_owned(),
        };
        self.put(key.path, &text, source);
    }

    /// Puts a text as it is above those before.
    pub fn put(&mut self, path: &'static str, text: &str, source: Source) {
        self.figment = mem::take(&mut self.figment).merge((path, text));
        self.sources.insert(path, source);
    }

    /// Returns where the active value of a key came from.
    pub fn source(&self, path: &str) -> Source {
        self.sources.get(path).cloned().unwrap_or(Source::Default)
    }

    /// Notes a mistake in the active value of a key; without a hint, the hint is what the key
    /// expects.
    pub fn mistake(&mut self, path: &str, what: impl Into<String>, hint: impl Into<String>) {
        self.mistakes.push(Mistake {
            key: Key::find(path),
            ..Mistake::new(self.source(path), what, hint)
        });
    }

    /// Notes that a required key is not set, unless it seems to be misspelt.
    pub fn missing(&mut self, path: &str, what: &str, hint: &str) {
        if !self.has_unknown {
            self.mistake(path, what, hint);
        }
    }

    /// Returns the active text of a key, which is its default unless it is set.
    pub fn text(&self, path: &str) -> String {
        let set = self.figment.extract_inner(path);
        set.unwrap_or_else(|_| Key::find(path).map_or("", |key| key.default).to_owned())
    }

    /// Parses the active text of a key, or notes the mistake in it.
    pub fn get<T>(
        &mut self,
        path: &str,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Option<T> {
        let parsed = parse(&self.text(path));
        parsed.map_err(|what| self.mistake(path, what, "")).ok()
    }

    /// Returns the path of a file; `None` if it is not set. In the configuration file, a relative
    /// path begins at the folder of that file.
    pub fn file(&self, path: &str) -> Option<PathBuf> {
        let written = Some(self.text(path)).filter(|written| !written.is_empty())?;
        Some(match self.source(path) {
            Source::File(file, _) => file.with_file_name(written),
            _ => written.into(),
        })
    }

    /// Returns every key with its active value, and the targets.
    pub fn settings(&self) -> Vec<Setting> {
        let setting = |path, value| Setting {
            key: path,
            value,
            source: self.source(path),
        };
        let mut settings = Vec::new();
        for key in KEYS {
            let value = match self.file(key.path) {
                Some(_) if key.takes == Takes::Secret => "<hidden>".to_owned(),
                Some(file) if key.takes == Takes::File => file.display().to_string(),
                _ => self.text(key.path),
            };
            settings.push(setting(key.path, value.escape_debug().to_string()));
        }
        settings.push(setting(TARGETS, self.text(TARGETS)));
        settings
    }
}
