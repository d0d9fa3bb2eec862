//! Reads one key after the other, notes what is in force and where it came from, and collects what is wrong, so that
//! one run tells every mistake.

use super::{
    error::{Mistake, Source, short},
    keys::Key,
    layers::Layers,
};
use figment::value::{Num, Value};
use std::{fmt::Display, ops::RangeInclusive, path::PathBuf, str::FromStr, time::Duration};

/// No duration is longer: beyond it, arithmetic on clocks would overflow.
const LONGEST: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

/// A value in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    pub key: &'static str,
    /// As one would write it; secrets are hidden; empty where there is none.
    pub value: String,
    pub source: Source,
}

pub(super) struct Reader<'a> {
    layers: &'a Layers,
    pub(super) settings: Vec<Setting>,
    pub(super) mistakes: Vec<Mistake>,
    pub(super) warnings: Vec<String>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(layers: &'a Layers) -> Self {
        Self { layers, settings: Vec::new(), mistakes: Vec::new(), warnings: Vec::new() }
    }

    pub(super) fn get(&self, path: &'static str) -> Option<(Value, Source)> {
        self.layers.get(path)
    }

    pub(super) fn source(&self, path: &'static str) -> Source {
        self.get(path).map_or(Source::Default, |(_, source)| source)
    }

    pub(super) fn note(&mut self, key: &'static str, value: impl Display, source: Source) {
        self.settings.push(Setting { key, value: value.to_string(), source });
    }

    pub(super) fn mistake(&mut self, key: &str, source: Source, problem: impl Into<String>, hint: impl Into<String>) {
        self.mistakes.push(Mistake::of(key, Some(source), problem, hint));
    }

    /// The text of a single value; `None` where it is given nowhere, or empty and may be, or no single value.
    pub(super) fn text(&mut self, path: &'static str, hint: &str) -> Option<(String, Source)> {
        let (value, source) = self.get(path)?;
        match single(&value) {
            Ok(text) => Some((text.trim().to_owned(), source)),
            Err(kind) => {
                self.mistake(path, source, format!("is {kind}"), hint);
                None
            }
        }
    }

    /// A value that `parse` makes of its text; its error is the problem, without the key.
    pub(super) fn parsed<T: Display>(
        &mut self,
        path: &'static str,
        hint: &str,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Option<T> {
        let (text, source) = self.text(path, hint)?;
        let result = if text.is_empty() { Err("is empty".to_owned()) } else { parse(&text) };
        match result {
            Ok(value) => {
                self.note(path, &value, source);
                Some(value)
            }
            Err(problem) => {
                self.mistake(path, source, problem, hint);
                None
            }
        }
    }

    pub(super) fn switch(&mut self, path: &'static str) -> Option<bool> {
        self.parsed(path, "write true or false", |text| {
            text.parse().map_err(|_| format!("{} is neither true nor false", short(text)))
        })
    }

    pub(super) fn whole<T>(&mut self, path: &'static str, bounds: RangeInclusive<T>) -> Option<T>
    where
        T: FromStr + PartialOrd + Display,
    {
        let hint = format!("give a whole number from {} to {}", bounds.start(), bounds.end());
        self.parsed(path, &hint, |text| match text.parse() {
            Ok(number) if bounds.contains(&number) => Ok(number),
            _ if text.parse::<i128>().is_ok() => Err(format!("{text} is out of bounds")),
            _ => Err(format!("{} is no whole number", short(text))),
        })
    }

    pub(super) fn number(&mut self, path: &'static str, hint: &str, fits: impl Fn(f64) -> bool) -> Option<f64> {
        self.parsed(path, hint, |text| match text.parse() {
            Ok(number) if fits(number) => Ok(number),
            Ok(_) => Err(format!("{text} is out of bounds")),
            Err(_) => Err(format!("{} is no number", short(text))),
        })
    }

    pub(super) fn duration(&mut self, path: &'static str, shortest: Duration) -> Option<Duration> {
        let least = humantime::format_duration(shortest);
        let hint = format!("give at least {least} with its unit, such as 30s, 5m or 1h 30m");
        self.parsed(path, &hint, |text| match humantime::parse_duration(text) {
            Ok(duration) if duration < shortest => Err(format!("{} is too short", short(text))),
            Ok(duration) if duration > LONGEST => Err(format!("{} is longer than 100 years", short(text))),
            Ok(duration) => Ok(humantime::Duration::from(duration)),
            Err(_) if text.parse::<f64>().is_ok() => Err(format!("{} has no unit", short(text))),
            Err(_) => Err(format!("{} is no duration", short(text))),
        })
        .map(Into::into)
    }

    /// A path; `None` where none is given or it is empty. A relative one in the file starts at the file's folder, as
    /// Prometheus has it.
    pub(super) fn path(&mut self, path: &'static str) -> Option<PathBuf> {
        let found = self.text(path, "give the path of a file");
        let Some((text, source)) = found.filter(|(text, _)| !text.is_empty()) else {
            let source = self.source(path);
            self.note(path, "", source);
            return None;
        };
        let resolved = match &source {
            Source::File { path: file, .. } => file.parent().unwrap_or(&PathBuf::new()).join(&text),
            _ => PathBuf::from(&text),
        };
        self.note(path, resolved.display(), source);
        Some(resolved)
    }

    /// A list: in the file a YAML list of text, elsewhere one text that is split at commas.
    pub(super) fn list(
        &mut self,
        path: &'static str,
        hint: &str,
        split: fn(&str) -> Vec<String>,
    ) -> Option<(Vec<String>, Source)> {
        let Some((value, source)) = self.get(path) else { return Some((Vec::new(), Source::Default)) };
        let problem = match (&value, &source) {
            (Value::Array(_, items), _) => {
                let texts: Result<Vec<_>, _> =
                    items.iter().map(|item| item.as_str().map(str::to_owned).ok_or(item)).collect();
                match texts {
                    Ok(texts) => return Some((texts, source)),
                    Err(item) => format!("holds {} where text should be", kind(item)),
                }
            }
            (Value::Empty(..), _) => return Some((Vec::new(), source)),
            (value, Source::File { .. }) => format!("is {}, not a list", kind(value)),
            (value, _) => match value.as_str() {
                Some(text) => return Some((split(text), source)),
                None => format!("is {}, not a list", kind(value)),
            },
        };
        self.mistake(path, source, problem, hint);
        None
    }

    /// What is required and given nowhere.
    pub(super) fn missing(&mut self, path: &'static str) {
        let ways = Key::find(path).map(Key::ways).unwrap_or_default();
        self.mistakes.push(Mistake::of(path, None, "is required and given nowhere", format!("set it {ways}")));
    }
}

/// The text of a single value, or what the value is instead.
fn single(value: &Value) -> Result<String, &'static str> {
    match value {
        Value::String(_, text) => Ok(text.clone()),
        Value::Char(_, c) => Ok(c.to_string()),
        Value::Bool(_, switch) => Ok(switch.to_string()),
        Value::Num(_, Num::F32(number)) => Ok(number.to_string()),
        Value::Num(_, Num::F64(number)) => Ok(number.to_string()),
        Value::Num(_, number) => {
            let unsigned = number.to_u128().map(|number| number.to_string());
            Ok(unsigned.or_else(|| number.to_i128().map(|number| number.to_string())).unwrap_or_default())
        }
        Value::Empty(..) => Ok(String::new()),
        Value::Dict(..) | Value::Array(..) => Err(kind(value)),
    }
}

/// What a value is, without a word of it.
pub(super) fn kind(value: &Value) -> &'static str {
    match value {
        Value::String(..) | Value::Char(..) => "text",
        Value::Bool(..) => "a boolean",
        Value::Num(..) => "a number",
        Value::Empty(..) => "nothing",
        Value::Dict(..) => "a mapping",
        Value::Array(..) => "a list",
    }
}
