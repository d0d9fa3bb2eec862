//! Extracts values from the merged layers and collects what is wrong, so that one run shows every mistake.

use super::{
    Setting,
    mistake::{Mistake, Source},
    schema::{KEYS, Key, TARGETS, Takes},
};
use figment::{Figment, value::Value};
use globset::{GlobBuilder, GlobSet};
use std::{
    collections::HashMap, mem, ops::RangeInclusive, path::PathBuf, str::FromStr, time::Duration,
};

/// The merged layers: a text for each key. What is read from a key with a mistake stands for nothing.
#[derive(Default)]
pub struct Reader {
    figment: Figment,
    sources: HashMap<&'static str, Source>,
    /// The entries of [`TARGETS`], and where they stand.
    pub targets: Vec<(Source, Self)>,
    pub mistakes: Vec<Mistake>,
    /// Whether a name was unknown, so that a key that seems to be missing may be misspelt.
    pub has_unknown: bool,
}

impl Reader {
    /// Puts the value of a key above those before. A list is split, and other text trimmed, except a secret.
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

    /// Where the value in force came from.
    pub fn source(&self, path: &str) -> Source {
        self.sources.get(path).cloned().unwrap_or(Source::Default)
    }

    /// Notes what is wrong with the value in force of a key, and what to do; without a hint, that is to give what the key
    /// expects.
    pub fn mistake(&mut self, path: &str, what: impl Into<String>, hint: impl Into<String>) {
        self.mistakes.push(Mistake {
            key: Key::find(path),
            ..Mistake::new(self.source(path), what, hint)
        });
    }

    /// The default if it is not set.
    pub fn text(&self, path: &str) -> String {
        let set = self.figment.extract_inner(path);
        set.unwrap_or_else(|_| Key::find(path).map_or("", |key| key.default).to_owned())
    }

    pub fn list(&self, path: &str) -> Vec<String> {
        items(&self.text(path))
    }

    /// Where a path leads; `None` if it is not set. In the file, a relative one begins at the folder of the file.
    pub fn file(&self, path: &str) -> Option<PathBuf> {
        let written = Some(self.text(path)).filter(|written| !written.is_empty())?;
        Some(match self.source(path) {
            Source::File(file, _) => file.with_file_name(written),
            _ => written.into(),
        })
    }

    /// What `parse` makes of the text of a key. That it makes nothing of it is noted.
    pub fn parsed<T: Default>(&mut self, path: &str, parse: impl FnOnce(&str) -> Option<T>) -> T {
        let text = self.text(path);
        parse(&text).unwrap_or_else(|| {
            self.mistake(path, format!("is {}", short(&text)), "");
            T::default()
        })
    }

    pub fn number<T: FromStr + Default + PartialOrd>(
        &mut self,
        path: &str,
        bounds: RangeInclusive<T>,
    ) -> T {
        self.parsed(path, |text| {
            text.parse().ok().filter(|number| bounds.contains(number))
        })
    }

    pub fn duration(&mut self, path: &str, bounds: RangeInclusive<Duration>) -> Duration {
        let duration = self.parsed(path, |text| {
            let duration = humantime::parse_duration(text).ok()?;
            bounds.contains(&duration).then_some(duration)
        });
        // Nobody means a month.
        let text = self.text(path);
        if !duration.is_zero() && text.contains('M') {
            let what = format!("is {}, in months", short(&text));
            self.mistake(path, what, "write a lowercase m for minutes");
        }
        duration
    }

    pub fn switch(&mut self, path: &str) -> bool {
        self.parsed(path, |text| Value::from(text).to_bool_lossy())
    }

    /// Globs of which `*` stays within a segment: on codes of languages, or else on owner/repo.
    pub fn globs(&mut self, path: &str) -> GlobSet {
        let (patterns, mut set) = (self.list(path), GlobSet::builder());
        // Without globs, the set of a target matches all.
        if patterns.is_empty() && path.starts_with(TARGETS) && self.sources.contains_key(path) {
            self.mistake(path, "is empty, so that it matches nothing", "");
        }
        for pattern in patterns {
            let holds = format!("holds the glob {pattern:?}");
            // It matches one character, which is no owner/repo and no code.
            let is_class = pattern.starts_with('[') && pattern.find(']') == Some(pattern.len() - 1);
            let has_slash = pattern.contains('/') || pattern.contains("**");
            match GlobBuilder::new(&pattern).literal_separator(true).build() {
                _ if is_class || pattern.contains([' ', '"', '\'']) => {
                    let what = ", which contains a blank or a quote, or has brackets around it";
                    self.mistake(path, holds + what, "");
                }
                Ok(_) if !has_slash && !path.ends_with("languages") => self.mistake(
                    path,
                    holds + ", which contains no slash, so it matches no owner/repo",
                    "append /* to match all repositories of an owner",
                ),
                Ok(glob) => drop(set.add(glob)),
                Err(error) => self.mistake(path, format!("{holds}: {}", error.kind()), ""),
            }
        }
        set.build().unwrap_or_else(|error| {
            self.mistake(path, format!("is too large: {error}"), "");
            GlobSet::empty()
        })
    }

    /// Every key with its value in force, and the targets.
    pub fn settings(&self) -> Vec<Setting> {
        let mut settings = Vec::new();
        for key in KEYS {
            let value = match self.file(key.path) {
                Some(_) if key.takes == Takes::Secret => "<hidden>".to_owned(),
                Some(file) if key.takes == Takes::File => file.display().to_string(),
                _ => self.text(key.path),
            };
            settings.push(Setting {
                key: key.path,
                value: value.escape_debug().to_string(),
                source: self.source(key.path),
            });
        }
        settings.push(Setting {
            key: TARGETS,
            value: self.text(TARGETS),
            source: self.source(TARGETS),
        });
        settings
    }
}

/// The items of a list that is written as one text. A comma within the braces of a glob is the glob's own.
fn items(text: &str) -> Vec<String> {
    let mut depth = 0_usize;
    let items = text.split(|c| {
        depth = depth.saturating_sub(usize::from(c == '}')) + usize::from(c == '{');
        c == ',' && depth == 0
    });
    items
        .map(|item| item.trim().to_owned())
        .filter(|item| !item.is_empty())
        .collect()
}

/// A single value for people: quoted, unless it is so long that it might contain a key because of wrong indentation.
pub fn short(value: &str) -> String {
    match value.chars().count() {
        0..=16 => format!("{value:?}"),
        length => format!("a text of {length} characters"),
    }
}

/// Whether a name that nobody knows may be shown: to YAML, `{key:abc}` is one name, which may be a
/// secret.
pub fn is_plain(name: &str) -> bool {
    let is_of_names = |c: char| c.is_ascii_alphabetic() || matches!(c, '_' | '-' | '.');
    name.len() <= 40 && name.chars().all(is_of_names)
}
