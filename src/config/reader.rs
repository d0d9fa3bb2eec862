//! Extracts values from the merged layers and collects what is wrong, so that one run shows every mistake.

use super::{
    ConfigError, Setting,
    file::TARGETS,
    keys::{KEYS, Key, Takes},
    layers::Entry,
    mistake::{Mistake, Source},
    targets::TargetList,
};
use figment::{Figment, providers::Serialized};
use std::{
    collections::HashMap,
    ops::{RangeBounds, RangeInclusive},
    path::{Path, PathBuf},
    str::FromStr,
    time::Duration,
};

/// The merged layers. What is read from a key with a mistake stands for nothing: [`Reader::finish`] refuses it.
pub(super) struct Reader {
    figment: Figment,
    sources: HashMap<&'static str, Source>,
    pub targets: TargetList,
    pub mistakes: Vec<Mistake>,
    /// Whether a name was unknown, so that a key that seems to be missing may be misspelt.
    pub has_unknown: bool,
}

impl Reader {
    pub fn new(mistakes: Vec<Mistake>) -> Self {
        Self {
            figment: Figment::new(),
            sources: HashMap::new(),
            targets: TargetList::default(),
            has_unknown: !mistakes.is_empty(),
            mistakes,
        }
    }

    /// Puts a layer above those before.
    pub fn merge(&mut self, layer: Vec<Entry>) {
        let mut sections = HashMap::<_, HashMap<_, _>>::new();
        for Entry { key, value, source } in layer {
            let (section, name) = key.split();
            sections.entry(section).or_default().insert(name, value);
            self.sources.insert(key.path, source);
        }
        let layer = Serialized::defaults(sections);
        self.figment = std::mem::take(&mut self.figment).merge(layer);
    }

    /// `value`, if nothing was wrong with any key.
    pub fn finish<T>(&mut self, value: Option<T>) -> Result<T, ConfigError> {
        match value {
            Some(value) if self.mistakes.is_empty() => Ok(value),
            _ => Err(ConfigError(std::mem::take(&mut self.mistakes))),
        }
    }

    /// Where the value in force came from.
    pub fn source(&self, path: &str) -> Source {
        self.sources.get(path).cloned().unwrap_or(Source::Default)
    }

    /// Notes what is wrong with the value in force of a key, and what to do; without a hint, that is to give what the key
    /// expects.
    pub fn mistake(&mut self, path: &str, what: impl Into<String>, hint: impl Into<String>) {
        let (key, source) = (Key::find(path), self.source(path));
        self.mistakes.push(Mistake::new(key, source, what, hint));
    }

    /// Empty if it is not set.
    pub fn text(&self, path: &str) -> String {
        self.figment.extract_inner(path).unwrap_or_default()
    }

    pub fn list(&self, path: &str) -> Vec<String> {
        self.figment.extract_inner(path).unwrap_or_default()
    }

    /// Where a path leads; `None` if it is not set. In the file, a relative one begins at the folder of the file.
    pub fn file(&self, path: &str) -> Option<PathBuf> {
        let written = self.text(path);
        let folder = match self.sources.get(path) {
            Some(Source::File(file, _)) => file.parent(),
            _ => None,
        };
        let folder = folder.unwrap_or(Path::new(""));
        (!written.is_empty()).then(|| folder.join(written))
    }

    /// What `parse` makes of the text of a key. That it makes nothing of it is noted.
    pub fn parsed<T>(&mut self, path: &str, parse: impl FnOnce(&str) -> Option<T>) -> Option<T> {
        let text = self.text(path);
        let value = parse(&text);
        if value.is_none() {
            self.mistake(path, format!("is {}", short(&text)), "");
        }
        value
    }

    pub fn number<T: FromStr + Default + PartialOrd>(
        &mut self,
        path: &str,
        bounds: impl RangeBounds<T>,
    ) -> T {
        let number = self.parsed(path, |text| {
            text.parse().ok().filter(|number| bounds.contains(number))
        });
        number.unwrap_or_default()
    }

    /// `M` is no minute, but a month, which nobody means.
    pub fn duration(&mut self, path: &str, bounds: RangeInclusive<Duration>) -> Duration {
        let duration = self.parsed(path, |text| {
            let duration = humantime::parse_duration(text).ok()?;
            bounds.contains(&duration).then_some(duration)
        });
        let text = self.text(path);
        if duration.is_some() && text.contains('M') {
            let what = format!("{} is in months", short(&text));
            self.mistake(path, what, "write a lowercase m for minutes");
        }
        duration.unwrap_or_default()
    }

    /// One of the words of `choices`; the first if it is a mistake.
    pub fn choice<T: Copy>(&mut self, path: &str, choices: &[(&str, T)]) -> T {
        let chosen = self.parsed(path, |text| {
            let mut choices = choices.iter();
            choices.find(|(word, _)| text.eq_ignore_ascii_case(word))
        });
        chosen.unwrap_or(&choices[0]).1
    }

    pub fn switch(&mut self, path: &str) -> bool {
        let words = [
            ("false", false),
            ("true", true),
            ("no", false),
            ("yes", true),
            ("off", false),
            ("on", true),
        ];
        self.choice(path, &words)
    }

    /// Every key with its value in force.
    pub fn settings(&self) -> Vec<Setting> {
        let setting = |key: &Key| Setting {
            key: key.path,
            value: self.shown(key).escape_debug().to_string(),
            source: self.source(key.path),
        };
        let mut settings: Vec<_> = KEYS.iter().map(setting).collect();
        settings.push(Setting {
            key: TARGETS,
            value: self.targets.shown.join("; "),
            source: self.targets.source(),
        });
        settings
    }

    fn shown(&self, key: &Key) -> String {
        match (key.takes, self.file(key.path)) {
            (Takes::List, _) => self.list(key.path).join(", "),
            (Takes::Secret, Some(_)) => "<hidden>".to_owned(),
            (Takes::File, Some(file)) => file.display().to_string(),
            _ => self.text(key.path),
        }
    }
}

/// A single value for people: quoted, unless it is so long that it might contain a key because of wrong indentation.
pub(super) fn short(value: &str) -> String {
    match value.chars().count() {
        0..=16 => format!("{value:?}"),
        length => format!("a text of {length} characters"),
    }
}

/// An item of a list for people: quoted, without control characters, not too long.
pub(super) fn quoted(item: &str) -> String {
    let start: String = item.chars().take(60).collect();
    let rest = if start.len() < item.len() { "…" } else { "" };
    format!("{start:?}{rest}")
}
