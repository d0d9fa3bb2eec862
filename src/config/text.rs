//! Values that parse themselves from text, and say what they take.

use super::api_key::fit;
use crate::{
    domain::{links::Template, targets::parse_due},
    support::{clock::Timestamp, glob},
};
use figment::value::Value;
use globset::{Glob, GlobSet};
use humantime::{format_duration, parse_duration};
use secrecy::SecretString;
use serde::{Deserialize, Deserializer, de::Error};
use std::{net::SocketAddr, ops::Deref, path::PathBuf, time::Duration};
use tracing::Level;
use url::{ParseError, Position, Url};

/// A value that is written as text, within bounds: seconds of a time, or ones of a number.
#[derive(Debug, Clone)]
pub struct Text<T, const LEAST: u32 = 0, const MOST: u32 = { u32::MAX }>(pub T);

pub const HOUR: u32 = 3600;
/// 365 days and 6 hours.
pub const YEAR: u32 = 8766 * HOUR;

/// A type that [`Text`] can hold.
pub trait Parse: Sized {
    /// The texts that are taken, before their bounds.
    const TAKES: &'static str;
    /// An example, after the bounds.
    const EXAMPLE: &'static str = "";
    /// True if the value is a list, which may also be written as one text with commas.
    const IS_LIST: bool = false;
    /// True if blanks at the ends belong to the value.
    const HAS_BLANKS: bool = false;

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

impl<T, const LEAST: u32, const MOST: u32> Deref for Text<T, LEAST, MOST> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<'de, T: Parse, const LEAST: u32, const MOST: u32> Deserialize<'de> for Text<T, LEAST, MOST> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let written = <Value as Deserialize>::deserialize(deserializer)?;
        let value = match joined(&written) {
            Some(text) if written.as_str().is_some() || T::IS_LIST => {
                let text = if T::HAS_BLANKS { &text } else { text.trim() };
                let is_within = |number| (LEAST.into()..=MOST.into()).contains(&number);
                let parsed = T::parse(text);
                parsed.and_then(|value| match value.number() {
                    Some(number) if !is_within(number) => Err(is(text)),
                    _ => Ok(value),
                })
            }
            None if T::IS_LIST && written.as_array().is_some() => {
                Err("has an item that is empty or no text".to_owned())
            }
            _ => Err("is a list, a mapping or an alias".to_owned()),
        };
        value
            .map(Self)
            .map_err(|problem| Error::custom(format!("{problem}; give {}", Self::takes())))
    }
}

impl<T: Parse, const LEAST: u32, const MOST: u32> Text<T, LEAST, MOST> {
    /// Describes the texts that are taken.
    pub fn takes() -> String {
        if MOST == u32::MAX {
            return T::TAKES.to_owned();
        }
        let [least, most] = [LEAST, MOST].map(T::bound);
        let example = if MOST == 1 {
            ", such as 0.5"
        } else {
            T::EXAMPLE
        };
        format!("{} from {least} to {most}{example}", T::TAKES)
    }
}

/// Returns a text, or the texts of a list with commas; `None` if an item is empty or no text.
pub fn joined(written: &Value) -> Option<String> {
    let Some(items) = written.as_array() else {
        return written.as_str().map(str::to_owned);
    };
    let texts = items
        .iter()
        .map(|item| item.as_str().filter(|text| !text.trim().is_empty()));
    Some(texts.collect::<Option<Vec<_>>>()?.join(", "))
}

/// Quotes the first 100 characters of a text.
fn quoted(text: &str) -> String {
    match text.char_indices().nth(100) {
        Some((end, _)) => format!("{:?}…", &text[..end]),
        None => format!("{text:?}"),
    }
}

fn is(text: &str) -> String {
    format!("is {}", quoted(text))
}

/// Describes a URL without its user, query and fragment, which may hold a secret.
fn is_url(text: &str, problem: &str) -> String {
    let shown = text.rsplit('@').next().unwrap_or_default();
    let shown = shown.split(['?', '#']).next().unwrap_or_default();
    format!("{}, which {problem}", is(shown))
}

/// An empty text stands for none.
impl<T: Parse> Parse for Option<T> {
    const TAKES: &'static str = T::TAKES;
    const EXAMPLE: &'static str = T::EXAMPLE;
    const HAS_BLANKS: bool = T::HAS_BLANKS;

    fn parse(text: &str) -> Result<Self, String> {
        (!text.is_empty()).then(|| T::parse(text)).transpose()
    }

    fn number(&self) -> Option<f64> {
        self.as_ref()?.number()
    }

    fn bound(bound: u32) -> String {
        T::bound(bound)
    }
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

/// A number of requests per second; `None` is unlimited.
#[derive(Debug, Clone, Copy)]
pub struct Rate(pub Option<f64>);

/// A time of a millisecond or more.
impl Parse for Duration {
    const TAKES: &'static str = "a time";
    const EXAMPLE: &'static str = " with its unit, such as 90m or 1h 30m";

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
    const HAS_BLANKS: bool = true;

    fn parse(text: &str) -> Result<Self, String> {
        fit(text.as_bytes()).map_err(str::to_owned)
    }
}

/// The root of the API; its path ends with a slash.
impl Parse for Url {
    const TAKES: &'static str = "the root of the API, such as https://api.example.com";

    fn parse(text: &str) -> Result<Self, String> {
        let mut url = match Self::parse(text) {
            Ok(url) if ["http", "https"].contains(&url.scheme()) => url,
            Ok(_) | Err(ParseError::RelativeUrlWithoutBase) => {
                return Err(is_url(text, "begins with neither https:// nor http://"));
            }
            Err(error) => return Err(is_url(text, &format!("is not a URL: {error}"))),
        };
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

/// Splits a list at its commas, except within the braces of a glob, and parses each item. The
/// problem that `parse` returns is a predicate of the item.
fn list<T>(text: &str, parse: impl Fn(&str) -> Result<T, String>) -> Result<Vec<T>, String> {
    let mut depth = 0_usize;
    let items = text.split(|c| {
        depth = depth.saturating_sub(usize::from(c == '}')) + usize::from(c == '{');
        c == ',' && depth == 0
    });
    let items = items.map(str::trim).filter(|item| !item.is_empty());
    let parsed = (1..).zip(items).map(|(number, item)| {
        parse(item).map_err(|problem| format!("item {number} ({}) {problem}", quoted(item)))
    });
    parsed.collect()
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
    const IS_LIST: bool = true;

    fn parse(text: &str) -> Result<Self, String> {
        let glob = if OF_REPOSITORIES {
            repository_glob
        } else {
            language_glob
        };
        let globs = list(text, glob)?;
        let items = globs.iter().map(|glob| glob.glob().to_owned()).collect();
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

/// Addresses to listen on: host:port each. The host may be missing; an IPv6 address is in brackets.
impl Parse for Vec<String> {
    const TAKES: &'static str = "host:port, such as :10018 or 127.0.0.1:10018,[::1]:10018";
    const IS_LIST: bool = true;

    fn parse(text: &str) -> Result<Self, String> {
        let is_of_name = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
        let addresses = list(text, |item| {
            let (host, port) = item.rsplit_once(':').unwrap_or_default();
            let is_host = host.bytes().all(is_of_name) || item.parse::<SocketAddr>().is_ok();
            let is_valid = is_host && port.parse::<u16>().is_ok();
            is_valid
                .then(|| item.to_owned())
                .ok_or("is not host:port".to_owned())
        })?;
        (!addresses.is_empty())
            .then_some(addresses)
            .ok_or("is empty".to_owned())
    }
}

/// The path of the metrics, which is no other path of the exporter.
impl Parse for String {
    const TAKES: &'static str = "a path such as /metrics, of letters, digits and -._~/";

    fn parse(path: &str) -> Result<Self, String> {
        let others = ["/", "/translations.json", "/translations.csv"];
        if others.contains(&path) || path.starts_with("/-/") {
            return Err(is(path) + ", which is a path of the exporter itself");
        }
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
        // Browsers expect a host after two slashes, and clients resolve dots.
        let is_plain = path.starts_with('/')
            && path.bytes().all(is_allowed)
            && !path.starts_with("//")
            && !path.split('/').any(|part| [".", ".."].contains(&part));
        is_plain.then(|| path.to_owned()).ok_or_else(|| is(path))
    }
}

impl Parse for Template {
    const TAKES: &'static str = "an https or http URL, such as https://translate.example.com/{owner}/{name}; the \
         placeholders are {id}, {repo}, {owner} and {name}, and {language} for a language";

    fn parse(text: &str) -> Result<Self, String> {
        Self::of_language(text).map_err(|problem| is_url(text, &problem))
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
    bool: "true or false", |text: &str| {
        let words = ["true", "yes", "on", "1", "false", "no", "off", "0"];
        Some(words.iter().position(|word| word.eq_ignore_ascii_case(text))? < 4)
    };
    Rate: "0 for no limit, or a rate up to 1000000", |text: &str| {
        let rate = text.parse().ok().filter(|rate| (0.0..=1e6).contains(rate))?;
        Some(Rate((rate > 0.0).then_some(rate)))
    };
    PathBuf: "the path of a file in quotes", |text: &str| Some(text.into());
    // The date of a target.
    Timestamp:
        "a date such as 2026-12-24, or a time with its offset such as 2026-12-24T18:00:00Z",
        parse_due;
    // The type itself takes numbers, too.
    Level: "one of error, warn, info, debug, trace", |text: &str| {
        text.parse().ok().filter(|_| !text.starts_with(char::is_numeric))
    };
    Format: "one of logfmt, json", |text: &str| match &*text.to_ascii_lowercase() {
        "logfmt" => Some(Format::Logfmt),
        "json" => Some(Format::Json),
        _ => None,
    };
}
