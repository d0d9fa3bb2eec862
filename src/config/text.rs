//! Values that parse themselves from text, and say what they take.

use crate::{
    domain::{links::Template, targets::parse_due},
    support::{clock::Timestamp, glob},
};
use globset::{Glob, GlobSet};
use humantime::{format_duration, parse_duration};
use secrecy::SecretString;
use serde::{Deserialize, Deserializer, de::Error};
use std::{ops::Deref, path::PathBuf, time::Duration};
use tracing::Level;
use url::{Position, Url};

/// A value that is written as text, within bounds: seconds of a time, or ones of a number.
#[derive(Debug, Clone, PartialEq)]
pub struct Parsed<T, const MIN: u32 = 0, const MAX: u32 = { u32::MAX }>(pub T);

pub const HOUR: u32 = 3600;
/// 365 days and 6 hours.
pub const YEAR: u32 = 8766 * HOUR;

/// A type that [`Parsed`] can hold.
pub trait Parse: Sized {
    /// The texts that are taken, before their bounds.
    const TAKES: &'static str;

    /// Parses a text, or returns the problem with it: a predicate.
    fn parse(text: &str) -> Result<Self, String>;

    /// Returns the number that has bounds.
    fn number(&self) -> Option<f64> {
        None
    }

    /// Shows a bound.
    fn bound(bound: u32) -> String {
        bound.to_string()
    }
}

impl<T, const MIN: u32, const MAX: u32> Deref for Parsed<T, MIN, MAX> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<'de, T: Parse, const MIN: u32, const MAX: u32> Deserialize<'de> for Parsed<T, MIN, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Option::<String>::deserialize(deserializer);
        let text =
            text.map_err(|_| "is a mapping, an alias, or a list with an empty item".to_owned());
        let value = text.and_then(|text| Self::parse_bounded(text.unwrap_or_default().trim()));
        value.map_err(|problem| Error::custom(format!("{problem}; give {}", Self::takes())))
    }
}

impl<T: Parse, const MIN: u32, const MAX: u32> Parsed<T, MIN, MAX> {
    /// Reads a text.
    ///
    /// # Errors
    /// Returns the problem with it: a predicate.
    pub fn parse_bounded(text: &str) -> Result<Self, String> {
        let value = T::parse(text)?;
        match value.number() {
            Some(number) if !(MIN.into()..=MAX.into()).contains(&number) => Err(is(text)),
            _ => Ok(Self(value)),
        }
    }

    /// Describes the texts that are taken.
    pub fn takes() -> String {
        match (T::bound(MIN), T::bound(MAX)) {
            _ if MAX == u32::MAX => T::TAKES.to_owned(),
            (least, most) => format!("{} from {least} to {most}", T::TAKES),
        }
    }
}

/// Returns the problem with a text, of which it quotes the first 100 characters.
fn is(text: &str) -> String {
    match text.char_indices().nth(100) {
        Some((end, _)) => format!("is {:?}…", &text[..end]),
        None => format!("is {text:?}"),
    }
}

/// Describes a URL without its user, query and fragment, which may hold a secret.
fn is_url(text: &str, problem: &str) -> String {
    let shown = text.rsplit('@').next().unwrap_or_default();
    let shown = shown.split(['?', '#']).next().unwrap_or_default();
    format!("{}, which {problem}", is(shown))
}

impl Parse for u32 {
    const TAKES: &'static str = "a whole number";

    fn parse(text: &str) -> Result<Self, String> {
        text.parse().map_err(|_| is(text))
    }

    fn number(&self) -> Option<f64> {
        Some((*self).into())
    }
}

impl Parse for f64 {
    const TAKES: &'static str = "a number";

    fn parse(text: &str) -> Result<Self, String> {
        text.parse().map_err(|_| is(text))
    }

    fn number(&self) -> Option<f64> {
        Some(*self)
    }
}

/// A time of a millisecond or more.
impl Parse for Duration {
    const TAKES: &'static str = "a time (such as 90m or 1h 30m)";

    fn parse(text: &str) -> Result<Self, String> {
        let time = parse_duration(text).ok();
        // Nobody means a month by `M`.
        let time = time.filter(|time| time.as_millis() > 0 && !text.contains('M'));
        time.ok_or_else(|| is(text))
    }

    fn number(&self) -> Option<f64> {
        Some(self.as_secs_f64())
    }

    fn bound(bound: u32) -> String {
        match bound {
            0 => "1ms".to_owned(),
            bound => {
                let bound = format_duration(Self::from_secs(bound.into())).to_string();
                bound.replace("years", " years")
            }
        }
    }
}

impl Parse for SecretString {
    const TAKES: &'static str = "the API key as one text in quotes, and nothing else";

    fn parse(text: &str) -> Result<Self, String> {
        fit(text.as_bytes()).map_err(str::to_owned)
    }
}

/// Returns the key if it can be sent.
pub fn fit(bytes: &[u8]) -> Result<SecretString, &'static str> {
    match std::str::from_utf8(bytes).map(|text| text.trim_end_matches(['\r', '\n'])) {
        Ok("") => Err("is empty"),
        Ok(text) if text.starts_with(['"', '\'']) => {
            Err("begins with a quote, which a tool left there")
        }
        Ok(text) if text.starts_with("${") => {
            Err("begins with ${, the start of a variable that a tool did not expand")
        }
        Ok(text) if text.bytes().all(|byte| byte.is_ascii_graphic()) => {
            Ok(SecretString::from(text))
        }
        _ => Err(
            "contains a character that cannot be sent in a header (a line break, a space, or one \
             that is not printable ASCII)",
        ),
    }
}

/// The root of the API; its path ends with a slash.
impl Parse for Url {
    const TAKES: &'static str = "the root of the API, such as https://api.example.com";

    fn parse(text: &str) -> Result<Self, String> {
        let url = Self::parse(text).map_err(|error| format!("is not a URL: {error}"));
        let mut url = url.map_err(|problem| is_url(text, &problem))?;
        if !["http", "https"].contains(&url.scheme()) {
            return Err(is_url(text, "begins with neither https:// nor http://"));
        }
        let user = &url[Position::BeforeUsername..Position::BeforeHost];
        if !user.is_empty() || !url[Position::AfterPath..].is_empty() {
            return Err(
                "contains a user, a password, a query (from \"?\" on) or a fragment (from \"#\" \
                 on), which is not allowed"
                    .to_owned(),
            );
        }
        url.set_path(&format!("{}/", url.path().trim_end_matches('/')));
        Ok(url)
    }
}

/// Splits a list at its commas, except within the braces of a glob.
fn items(text: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    let items = text.split(|c| {
        depth = depth.saturating_sub(usize::from(c == '}')) + usize::from(c == '{');
        c == ',' && depth == 0
    });
    let items = items.map(str::trim);
    items.filter(|item| !item.is_empty()).collect()
}

/// Globs on owner/repo, or on codes of languages.
#[derive(Debug, Clone, Default)]
pub struct Globs<const OF_REPOSITORIES: bool> {
    pub items: Vec<String>,
    pub set: GlobSet,
}

impl<const OF_REPOSITORIES: bool> Parse for Globs<OF_REPOSITORIES> {
    const TAKES: &'static str = if OF_REPOSITORIES {
        "globs on owner/repo, such as acme/*,other/app"
    } else {
        "globs on language codes, such as en,pt-*"
    };

    fn parse(text: &str) -> Result<Self, String> {
        let glob = if OF_REPOSITORIES {
            repository_glob
        } else {
            language_glob
        };
        let items = items(text);
        let globs = (1..).zip(&items).map(|(number, item)| {
            glob(item).map_err(|problem| format!("item {number} ({item:?}) {problem}"))
        });
        let globs: Vec<_> = globs.collect::<Result<_, _>>()?;
        let items = items.into_iter().map(str::to_owned).collect();
        glob::glob_set(&globs).map(|set| Self { items, set })
    }
}

/// Parses a glob on owner/repo.
pub fn repository_glob(item: &str) -> Result<Glob, String> {
    let glob = language_glob(item)?;
    if item.contains('/') || item.contains("**") {
        return Ok(glob);
    }
    Err(format!(
        "matches no owner/repo: write \"*/{item}\" or \"acme/{item}\" for a repository, \
         \"{item}/*\" for all of an owner"
    ))
}

fn language_glob(item: &str) -> Result<Glob, String> {
    // One character in brackets is no owner/repo and no code.
    if item.contains([' ', '"', '\''])
        || item.starts_with('[') && item.find(']') == Some(item.len() - 1)
    {
        return Err("contains a blank or a quote, or has brackets around it".to_owned());
    }
    glob::glob(item).map_err(|error| format!("is no glob: {error}"))
}

impl Parse for Template {
    const TAKES: &'static str = "an https or http URL, such as https://translate.example.com/{owner}/{name}; the \
         placeholders are {id}, {repo}, {owner} and {name}, and {language} for a language";

    fn parse(text: &str) -> Result<Self, String> {
        Self::new(text).map_err(|problem| is_url(text, &problem))
    }
}

/// The format of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Logfmt,
    Json,
}

/// Implements [`Parse`] for types by what they take, and a function that returns `None` for others.
macro_rules! parse {
    ($($type:ty: $takes:literal, $parse:expr;)*) => {$(
        impl Parse for $type {
            const TAKES: &'static str = $takes;

            fn parse(text: &str) -> Result<Self, String> {
                $parse(text).ok_or_else(|| is(text))
            }
        }
    )*};
}

parse! {
    bool: "true or false", |text: &str| text.to_ascii_lowercase().parse().ok();
    PathBuf: "the path of a file in quotes", |text: &str| Some(text.into());
    // The date of a target.
    Timestamp:
        "a date such as 2026-12-24, or a time with its offset such as 2026-12-24T18:00:00Z",
        parse_due;
    Level: "one of error, warn, info, debug, trace", |text: &str| text.parse().ok();
    Format: "one of logfmt, json", |text| match text {
        "logfmt" => Some(Format::Logfmt),
        "json" => Some(Format::Json),
        _ => None,
    };
    // Addresses to listen on, of which the server knows the form.
    Vec<String>: "host:port, such as :10018 or 127.0.0.1:10018,[::1]:10018", |text| {
        let items: Vec<_> = items(text).into_iter().map(str::to_owned).collect();
        (!items.is_empty()).then_some(items)
    };
    // The path of the metrics.
    String:
        "a path such as /metrics, of letters, digits and -._~/, that has no other use here",
        |path: &str| {
            let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
            let is_other = ["/", "/translations.json", "/translations.csv"].contains(&path)
                || path.starts_with("/-/");
            let is_path = path.starts_with('/') && path.bytes().all(is_allowed);
            (is_path && !is_other).then(|| path.to_owned())
        };
}
