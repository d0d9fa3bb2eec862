//! The types of values: each parses text, and describes its valid values for a hint.
//!
//! A parser returns the value or the problem with the text. The problem quotes the text only if it
//! is too short for an API key.

use crate::support::glob;
use globset::{Glob, GlobSet};
use serde_json::{Value, json};
use std::{fmt::Display, net::SocketAddr, ops::RangeInclusive, str::FromStr};
use url::{ParseError, Position, Url};

/// The type of a key's values with its bounds; with words for the valid values where the bounds do
/// not give them.
#[derive(Debug, PartialEq)]
pub enum Takes {
    Whole(RangeInclusive<u64>),
    Number(RangeInclusive<f64>, &'static str),
    /// A duration with its bounds, written as users write durations.
    Time(&'static str, &'static str),
    /// A number of bytes that is at least this.
    Size(u64),
    /// `true` or `false`; its option without a value means `true`.
    Switch,
    /// One of these words, in upper or lower case.
    Choice(&'static [&'static str]),
    /// Text with a parser of its own.
    Text(&'static str),
    /// A list with a parser of its own. Its option may be repeated.
    List(&'static str),
    /// The path of a file; in the configuration file, a relative one is relative to the folder of
    /// that file.
    File,
    /// Text that is never shown.
    Secret,
    /// The list of [`super::keys::TARGETS`], whose entries have keys of their own.
    Entries,
}

pub const RATIO: Takes = Takes::Number(0.0..=1.0, "a ratio from 0 to 1, such as 0.95");
pub const REPOSITORIES: Takes = Takes::List("globs on owner/repo, such as acme/*,other/app");
pub const LANGUAGES: Takes = Takes::List("globs on language codes, such as en,pt-*");
impl Takes {
    /// Returns true if a value needs no quotes in the file. Other programs read `010` as 10 and
    /// `no` as false.
    pub fn is_bare(&self) -> bool {
        use Takes::{Choice, File, List, Secret, Text};
        !matches!(self, Choice(_) | Text(_) | List(_) | File | Secret)
    }

    /// Describes the valid values, for a hint.
    pub fn expected(&self) -> String {
        match self {
            Self::Whole(bounds) => {
                format!("a whole number from {} to {}", bounds.start(), bounds.end())
            }
            Self::Number(_, expected) | Self::Text(expected) | Self::List(expected) => {
                (*expected).to_owned()
            }
            Self::Time(least, most) => {
                format!("a time from {least} to {most} with its unit, such as 90m or 1h 30m")
            }
            Self::Size(least) => format!("a size of at least {least}B, such as 512KiB or 16MiB"),
            Self::Switch => "true or false".to_owned(),
            Self::Choice(words) => format!("one of {}", words.join(", ")),
            Self::File => "the path of a file in quotes".to_owned(),
            Self::Secret => "the API key as one text in quotes".to_owned(),
            Self::Entries => {
                "entries such as `- {languages: [de, \"pt-*\"], ratio: 0.95, due: 2026-12-24}`"
                    .to_owned()
            }
        }
    }

    /// Parses a value within its bounds, or returns the problem with it.
    pub fn parse(&self, text: &str) -> Result<Value, String> {
        let value = match self {
            Self::Whole(bounds) => within(text, bounds),
            Self::Number(bounds, _) => within(text, bounds),
            Self::Time(least, most) => time(text, least, most),
            Self::Size(least) => size(text).filter(|size| size >= least).map(Value::from),
            Self::Switch => match &*text.to_ascii_lowercase() {
                "true" | "yes" | "on" | "1" => Some(true.into()),
                "false" | "no" | "off" | "0" => Some(false.into()),
                _ => None,
            },
            Self::Choice(words) => {
                let mut words = words.iter();
                let word = words.find(|word| word.eq_ignore_ascii_case(text));
                word.map(|word| (*word).into())
            }
            _ => Some(text.into()),
        };
        value.ok_or_else(|| is(text))
    }
}

/// Returns true for a text that is too short for an API key: 8 characters hold at most 52 bits.
fn is_short(text: &str) -> bool {
    text.chars().count() <= 8
}

/// Quotes a text, or describes one that could be the API key by its length.
fn quoted(text: &str) -> String {
    if is_short(text) {
        format!("{text:?}")
    } else {
        format!("a text of {} characters", text.chars().count())
    }
}

pub fn is(text: &str) -> String {
    format!("is {}", quoted(text))
}

/// Splits a list at its commas, except within the braces of a glob.
pub fn items(text: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    let items = text.split(|c| {
        depth = depth.saturating_sub(usize::from(c == '}')) + usize::from(c == '{');
        c == ',' && depth == 0
    });
    items
        .map(str::trim)
        .filter(|item| !item.is_empty())
        .collect()
}

fn within<T: FromStr + PartialOrd + Into<Value>>(
    text: &str,
    bounds: &RangeInclusive<T>,
) -> Option<Value> {
    let number = text.parse().ok()?;
    bounds.contains(&number).then(|| number.into())
}

fn time(text: &str, least: &str, most: &str) -> Option<Value> {
    let [time, least, most] = [text, least, most].map(|text| humantime::parse_duration(text).ok());
    // Nobody means a month by `M`.
    let is_valid = least <= time && time <= most && !text.contains('M');
    time.filter(|_| is_valid).map(|time| json!(time))
}

fn size(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let unit = match text[digits.len()..].trim_start() {
        "" | "B" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(unit)
}

/// Parses the root of the API and ends its path with a slash. No problem quotes the text, which may
/// hold a password.
pub fn base_url(text: &str) -> Result<Url, String> {
    let mut url = match Url::parse(text) {
        Ok(url) if ["http", "https"].contains(&url.scheme()) => url,
        Ok(_) | Err(ParseError::RelativeUrlWithoutBase) => {
            return Err("begins with neither https:// nor http://".to_owned());
        }
        Err(error) => return Err(format!("is not a URL: {error}")),
    };
    let user = &url[Position::BeforeUsername..Position::BeforeHost];
    if !user.is_empty() || !url[Position::AfterPath..].is_empty() {
        return Err(
            "contains a user, a password, a query (from \"?\" on) or a fragment (from \"#\" on), \
             which is not allowed"
                .to_owned(),
        );
    }
    url.set_path(&format!("{}/", url.path().trim_end_matches('/')));
    Ok(url)
}

/// Parses each item of a list. The problem that `parse` returns is a predicate of the item.
fn each<T, E: Display>(text: &str, parse: impl Fn(&str) -> Result<T, E>) -> Result<Vec<T>, String> {
    let parsed = (1..).zip(items(text)).map(|(number, item)| {
        parse(item).map_err(|problem| format!("item {number} ({}) {problem}", quoted(item)))
    });
    parsed.collect()
}

/// Parses globs on owner/repo.
pub fn repository_globs(text: &str) -> Result<GlobSet, String> {
    glob::glob_set(&each(text, |item| {
        let name = if is_short(item) { item } else { "NAME" };
        repository_glob(item, name)
    })?)
}

/// Parses a glob on owner/repo. A message calls it `name`.
pub fn repository_glob(item: &str, name: &str) -> Result<Glob, String> {
    let glob = glob(item)?;
    if item.contains('/') || item.contains("**") {
        return Ok(glob);
    }
    Err(format!(
        "matches no owner/repo: write \"*/{name}\" or \"acme/{name}\" for a repository, \
             \"{name}/*\" for all of an owner"
    ))
}

/// Parses globs on codes of languages.
pub fn globs(text: &str) -> Result<GlobSet, String> {
    glob::glob_set(&each(text, glob)?)
}

fn glob(item: &str) -> Result<Glob, String> {
    // One character in brackets is no owner/repo and no code.
    if item.contains([' ', '"', '\''])
        || item.starts_with('[') && item.find(']') == Some(item.len() - 1)
    {
        return Err("contains a blank or a quote, or has brackets around it".to_owned());
    }
    glob::glob(item).map_err(|error| format!("is no glob: {error}"))
}

/// Parses addresses to listen on: host:port each. The host may be missing; an IPv6 address is in
/// brackets.
pub fn addresses(text: &str) -> Result<Vec<String>, String> {
    let is_of_name = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
    let addresses = each(text, |item| {
        let (host, port) = item.rsplit_once(':').unwrap_or_default();
        let is_host = host.bytes().all(is_of_name) || item.parse::<SocketAddr>().is_ok();
        let is_valid = is_host && port.parse::<u16>().is_ok();
        is_valid.then(|| item.to_owned()).ok_or("is not host:port")
    })?;
    if addresses.is_empty() {
        return Err("is empty".to_owned());
    }
    Ok(addresses)
}

/// Parses the path of the metrics, which must not be another path of the exporter.
pub fn telemetry_path(path: &str) -> Result<String, String> {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
    // Browsers expect a host after two slashes, and clients resolve dots.
    let is_plain = path.starts_with('/')
        && path.bytes().all(is_allowed)
        && !path.starts_with("//")
        && !path.split('/').any(|part| [".", ".."].contains(&part));
    if !is_plain {
        return Err(is(path));
    }
    if ["/", "/translations.json"].contains(&path) || path.starts_with("/-/") {
        return Err(is(path) + ", which is a path of the exporter itself");
    }
    Ok(path.to_owned())
}
