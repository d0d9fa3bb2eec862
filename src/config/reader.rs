//! Extracts the keys and collects what is wrong, so that one run shows every mistake.

use super::{
    ConfigError, Setting,
    keys::{KEYS, Key, Takes},
};
use figment::{
    Figment, Source,
    error::{Actual, Kind},
    value::magic::RelativePathBuf,
};
use serde::Deserialize;
use std::{
    fmt::Display,
    ops::RangeInclusive,
    path::{Path, PathBuf},
    str::FromStr,
    time::Duration,
};

pub(super) struct Reader {
    pub figment: Figment,
    pub mistakes: Vec<String>,
    pub warnings: Vec<String>,
    /// Whether a name was unknown, so that a key that seems to be missing may be misspelt.
    pub has_unknown: bool,
}

impl Reader {
    /// `value`, if nothing was wrong with any key.
    pub fn finish<T>(&mut self, value: Option<T>) -> Result<T, ConfigError> {
        value
            .filter(|_| self.mistakes.is_empty())
            .ok_or_else(|| ConfigError(std::mem::take(&mut self.mistakes)))
    }

    /// Where the value in force came from.
    pub fn source(&self, path: &str) -> String {
        match self
            .figment
            .find_metadata(path)
            .and_then(|metadata| metadata.source.as_ref())
        {
            Some(Source::File(path)) => path.display().to_string(),
            source => source.map(ToString::to_string).unwrap_or_default(),
        }
    }

    /// Notes what is wrong with the value in force of a key, and what to do.
    pub fn mistake(&mut self, path: &str, what: impl Display) {
        self.mistakes
            .push(format!("{path} ({}): {what}", self.source(path)));
    }

    /// Notes what is probably not intended by the value in force of a key.
    pub fn warning(&mut self, path: &str, what: impl Display) {
        self.warnings
            .push(format!("{path} ({}): {what}", self.source(path)));
    }

    /// Whether all of these keys are empty, as what is not set is.
    pub fn are_unset(&self, paths: &[&str]) -> bool {
        paths.iter().all(|path| {
            self.figment
                .find_value(path)
                .is_ok_and(|value| value.as_str() == Some(""))
        })
    }

    /// Notes that one of `paths` must be set, if none is.
    pub fn require(&mut self, paths: &[&str], hint: impl Display) {
        if self.are_unset(paths) && !self.has_unknown {
            self.mistakes.push(format!(
                "{}: is required, but not set; {hint}",
                paths.join(" or ")
            ));
        }
    }

    /// `None` if a key is of another type, which is noted.
    pub fn extract<'a, T: Deserialize<'a>>(&mut self, path: &str, expected: &str) -> Option<T> {
        let error = match self.figment.extract_inner(path) {
            Ok(value) => return Some(value),
            Err(error) => error,
        };
        // figment's own message, and the values in its kinds, could show the API key.
        let found = match error.kind {
            Kind::InvalidType(Actual::Seq, _) => "a list",
            Kind::InvalidType(Actual::Map, _) => "a mapping",
            Kind::InvalidType(Actual::Bool(_), _) => "a boolean; put text in quotes",
            Kind::InvalidType(Actual::Unit | Actual::Option, _) => "nothing",
            _ => "a number; put text in quotes",
        };
        self.mistake(path, format!("must be {expected}, not {found}"));
        None
    }

    /// As it was written.
    fn raw(&self, path: &str) -> String {
        self.figment.extract_inner(path).unwrap_or_default()
    }

    /// `None` if it is empty, as what is not set is.
    pub fn text(&mut self, path: &str, expected: &str) -> Option<String> {
        self.extract::<String>(path, expected)
            .filter(|text| !text.is_empty())
    }

    /// What `parse` makes of the text of a key; `None` if that is nothing, or if the key is no text, which is noted.
    fn parsed<T>(
        &mut self,
        path: &str,
        expected: &str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Option<T> {
        let text: String = self.extract(path, expected)?;
        let value = parse(&text);
        if value.is_none() {
            self.mistake(path, format!("must be {expected}, not {}", short(&text)));
        }
        value
    }

    /// A number that `fits`; 0 if it is a mistake, which is noted.
    pub fn number<T: FromStr + Default>(
        &mut self,
        path: &str,
        expected: &str,
        fits: impl FnOnce(&T) -> bool,
    ) -> T {
        self.parsed(path, expected, |text| text.parse().ok().filter(fits))
            .unwrap_or_default()
    }

    pub fn whole<T: FromStr + Default + PartialOrd + Display>(
        &mut self,
        path: &str,
        bounds: RangeInclusive<T>,
    ) -> T {
        let expected = format!("a whole number from {} to {}", bounds.start(), bounds.end());
        self.number(path, &expected, |number| bounds.contains(number))
    }

    pub fn duration(&mut self, path: &str, bounds: RangeInclusive<Duration>) -> Duration {
        let [least, most] =
            [bounds.start(), bounds.end()].map(|bound| humantime::format_duration(*bound));
        let expected =
            format!("a time from {least} to {most} with its unit, such as 30s, 5m or 1h 30m");
        let parse = |text: &str| {
            humantime::parse_duration(text)
                .ok()
                .filter(|duration| bounds.contains(duration))
        };
        let duration = self.parsed(path, &expected, parse);
        let text = self.raw(path);
        if duration.is_some() && text.contains('M') {
            self.warning(
                path,
                format!(
                    "{} is in months; write a lowercase m for minutes",
                    short(&text)
                ),
            );
        }
        duration.unwrap_or_default()
    }

    /// One of the words of `choices`; the first if it is a mistake, which is noted.
    pub fn choice<T: Copy>(&mut self, path: &str, expected: &str, choices: &[(&str, T)]) -> T {
        let find = |text: &str| {
            choices
                .iter()
                .find(|(word, _)| text.eq_ignore_ascii_case(word))
        };
        self.parsed(path, expected, find).unwrap_or(&choices[0]).1
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
        self.choice(path, "true or false", &words)
    }

    /// A path as it was written and where it leads; `None` if it is empty.
    pub fn file(&mut self, path: &str) -> Option<RelativePathBuf> {
        let found = self.extract(path, "the path of a file");
        found.filter(|found: &RelativePathBuf| found.original() != Path::new(""))
    }

    pub fn path(&mut self, path: &str) -> Option<PathBuf> {
        self.file(path).map(|file| file.relative())
    }

    /// Every key with its value in force, none of which is a mistake.
    pub fn settings(&mut self) -> Vec<Setting> {
        let setting = |key: &Key| Setting {
            key: key.path,
            value: self.shown(key),
            source: self.source(key.path),
        };
        KEYS.iter().map(setting).collect()
    }

    fn shown(&mut self, key: &Key) -> String {
        let value = match key.takes {
            Takes::Secret if self.raw(key.path).is_empty() => String::new(),
            Takes::Secret => "<hidden>".to_owned(),
            Takes::File => self
                .path(key.path)
                .map(|path| path.display().to_string())
                .unwrap_or_default(),
            Takes::List => self
                .figment
                .extract_inner::<Vec<String>>(key.path)
                .unwrap_or_default()
                .join(", "),
            _ => self.raw(key.path),
        };
        value.escape_debug().to_string()
    }
}

/// A single value for people: quoted, unless it is so long that it might contain a key because of wrong indentation.
pub(super) fn short(value: &str) -> String {
    let length = value.chars().count();
    if length > 16 {
        format!("a text of {length} characters")
    } else {
        format!("{value:?}")
    }
}

/// An item of a list for people: quoted, without control characters, not too long.
pub(super) fn quoted(item: &str) -> String {
    let start: String = item.chars().take(60).collect();
    if start.len() < item.len() {
        format!("{start:?}…")
    } else {
        format!("{start:?}")
    }
}
