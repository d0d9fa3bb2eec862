//! Parsers of single values: each returns a value that needs no further check, or says what is
//! wrong with the text. The hint about a wrong value is the `expected` of its key. A message quotes
//! the text only if it can hold no secret.

use crate::{
    domain::{
        links::{Template, TemplateError},
        twelve_decimals,
    },
    support::glob,
};
use figment::value::Value;
use globset::GlobSet;
use std::{
    net::{Ipv6Addr, SocketAddr},
    ops::RangeInclusive,
    str::FromStr,
    time::Duration,
};
use url::{ParseError, Position, Url};

/// Quotes a value for people; a long one, into which wrong indentation may have put the API key, is
/// described by its length.
pub fn is(text: &str) -> String {
    match text.chars().count() {
        0..=16 => format!("is {text:?}"),
        length => format!("is a text of {length} characters"),
    }
}

/// Tells whether a name that nobody knows may be shown: to YAML, `{key:abc}` is one name, which may
/// be a secret.
pub fn is_plain(name: &str) -> bool {
    let is_of_names = |c: char| c.is_ascii_alphabetic() || matches!(c, '_' | '-' | '.');
    name.len() <= 40 && name.chars().all(is_of_names)
}

/// Splits a list that is written as one text. A comma within the braces of a glob is the glob's
/// own.
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

/// Returns a parser that takes an empty text for no value.
pub fn optional<T>(
    parse: impl FnOnce(&str) -> Result<T, String>,
) -> impl FnOnce(&str) -> Result<Option<T>, String> {
    |text| (!text.is_empty()).then(|| parse(text)).transpose()
}

/// Returns a parser of numbers within bounds.
pub fn number<T: FromStr + PartialOrd>(
    bounds: RangeInclusive<T>,
) -> impl FnOnce(&str) -> Result<T, String> {
    move |text| {
        let number = text.parse().ok();
        let number = number.filter(|number| bounds.contains(number));
        number.ok_or_else(|| is(text))
    }
}

/// Returns a parser of durations within bounds.
pub fn time(bounds: RangeInclusive<Duration>) -> impl FnOnce(&str) -> Result<Duration, String> {
    move |text| match humantime::parse_duration(text) {
        // Nobody means a month.
        Ok(_) if text.contains('M') => {
            Err(is(text) + ", in months: write a lowercase m for minutes")
        }
        Ok(time) if bounds.contains(&time) => Ok(time),
        _ => Err(is(text)),
    }
}

/// Parses a boolean in every spelling of YAML.
pub fn switch(text: &str) -> Result<bool, String> {
    Value::from(text).to_bool_lossy().ok_or_else(|| is(text))
}

/// Parses a rate per second, of which 0 is unlimited.
pub fn rate(text: &str) -> Result<Option<f64>, String> {
    match text.parse() {
        Ok(0.0) => Ok(None),
        _ => number(0.001..=1_000_000.0)(text).map(Some),
    }
}

/// Parses a completion ratio from 0 to 1.
pub fn ratio(text: &str) -> Result<f64, String> {
    match number(0.0..=100.0)(text)? {
        ratio @ ..=1.0 => Ok(twelve_decimals(ratio)),
        percent => Err(format!(
            "is {percent}, a percentage and not a ratio: write {}",
            percent / 100.0
        )),
    }
}

/// Parses a number of bytes, of which there must be one at least.
pub fn size(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let unit = match text[digits.len()..].trim_start() {
        "" | "B" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        _ => 0,
    };
    let size = digits.parse::<u64>().ok();
    let size = size.and_then(|size| size.checked_mul(unit));
    size.filter(|size| *size > 0).ok_or_else(|| is(text))
}

/// Parses the root of the API and lets its path end with a slash. The text may hold a secret in the
/// wrong place.
pub fn base_url(text: &str) -> Result<Url, String> {
    let mut url = Url::parse(text).map_err(|error| match error {
        ParseError::RelativeUrlWithoutBase => "does not begin with https://".to_owned(),
        error => format!("is not a URL: {error}"),
    })?;
    let user = &url[Position::BeforeUsername..Position::BeforeHost];
    if !user.is_empty() || !url[Position::AfterPath..].is_empty() {
        return Err(
            "holds a user, a password, a query (from \"?\" on) or a fragment (from \"#\" on), \
             which is not allowed"
                .to_owned(),
        );
    }
    if !matches!(url.scheme(), "http" | "https") {
        return Err("is neither an https nor an http URL".to_owned());
    }
    url.set_path(&format!("{}/", url.path().trim_end_matches('/')));
    Ok(url)
}

/// Returns a parser of URL templates. The text may hold a secret in the wrong place.
pub fn link(
    parse: impl FnOnce(&str) -> Result<Template, TemplateError>,
) -> impl FnOnce(&str) -> Result<Option<Template>, String> {
    optional(|text| {
        parse(text).map_err(|error| match error {
            TemplateError::UnknownPlaceholder(name) if is_plain(&name) => {
                format!("holds the unknown placeholder {{{name}}}")
            }
            error => error.to_string(),
        })
    })
}

/// Parses globs on owner/repo.
pub fn repository_globs(text: &str) -> Result<GlobSet, String> {
    let is_name = |glob: &&str| glob.contains('/') || glob.contains("**");
    let set = globs(text)?;
    match items(text).iter().find(|glob| !is_name(glob)) {
        None => Ok(set),
        Some(glob) => Err(format!(
            "holds the glob {glob:?}, which contains no slash, so it matches no owner/repo: \
             append /* to match all repositories of an owner"
        )),
    }
}

/// Parses globs on codes of languages.
pub fn globs(text: &str) -> Result<GlobSet, String> {
    let mut globs = Vec::new();
    for item in items(text) {
        let holds = format!("holds the glob {item:?}");
        // It matches one character, which is no owner/repo and no code.
        let is_class = item.starts_with('[') && item.find(']') == Some(item.len() - 1);
        if is_class || item.contains([' ', '"', '\'']) {
            return Err(holds + ", which contains a blank or a quote, or has brackets around it");
        }
        globs.push(glob::glob(item).map_err(|error| format!("{holds}: {error}"))?);
    }
    glob::glob_set(&globs).map_err(|error| format!("is too large: {error}"))
}

/// Parses addresses to listen on.
pub fn addresses(text: &str) -> Result<Vec<String>, String> {
    let addresses = items(text);
    if addresses.is_empty() {
        return Err("is empty".to_owned());
    }
    for address in &addresses {
        check_address(address).map_err(|problem| match address.parse::<u16>() {
            Ok(port) => format!("{address:?} {problem}: write \":{port}\""),
            Err(_) => format!("{address:?} {problem}"),
        })?;
    }
    Ok(addresses.into_iter().map(str::to_owned).collect())
}

/// Checks an address of the form host:port; the host may be missing, an IPv6 address is in
/// brackets.
fn check_address(text: &str) -> Result<(), &'static str> {
    let (host, port) = text.rsplit_once(':').ok_or("has no port")?;
    let of_name = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
    if port.parse::<u16>().is_err() {
        Err("has a port that is not a number from 0 to 65535")
    } else if text.parse::<SocketAddr>().is_ok() || host.bytes().all(of_name) {
        Ok(())
    } else if host.parse::<Ipv6Addr>().is_ok() {
        Err("holds an IPv6 address without brackets")
    } else {
        Err("has a host that is neither a name nor an address")
    }
}

/// Parses a path at which the metrics can be served, which the exporter does not use otherwise.
pub fn telemetry_path(path: &str) -> Result<String, String> {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
    let problem = if !path.starts_with('/') {
        "does not begin with a slash"
    } else if path.starts_with("//") {
        // A browser expects a host after them.
        "begins with two slashes"
    } else if ["/", "/translations.json"].contains(&path) || path.starts_with("/-/") {
        "is a path of the exporter itself"
    } else if path.split('/').any(|part| part == "." || part == "..") {
        // Clients resolve it before they ask.
        "has a part . or .."
    } else if !path.bytes().all(is_allowed) {
        "holds a character that is not allowed"
    } else {
        return Ok(path.to_owned());
    };
    Err(format!("{}, which {problem}", is(path)))
}

/// Parses a format of log lines into the choice of JSON.
pub fn is_json(text: &str) -> Result<bool, String> {
    match text {
        "logfmt" => Ok(false),
        "json" => Ok(true),
        _ => Err(is(text)),
    }
}
