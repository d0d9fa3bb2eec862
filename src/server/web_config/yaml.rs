//! The YAML of the file: its keys, their lines and their mistakes.

use crate::{
    server::auth::Users,
    support::{hint::nearest, yaml},
};
use serde::{Deserialize, Deserializer, de::Error as _};
use serde_saphyr::{Error as YamlError, Spanned, with_deserializer_from_slice};
use std::{collections::BTreeMap, fmt::Display, time::Duration};

/// Returns the message about a mistake at this place of the file. A message quotes keys and
/// unsupported names, and no other content: that could be a secret.
pub fn invalid_at<T>(place: &Spanned<T>, message: impl Display) -> String {
    format!("line {}: {message}", place.referenced.line())
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub struct Sections {
    pub tls_server_config: Option<Spanned<TlsSection>>,
    pub http_server_config: Option<HttpSection>,
    pub basic_auth_users: Users,
    pub rate_limit: Option<Spanned<RateLimitSection>>,
}

#[derive(Deserialize, Default, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct TlsSection {
    pub cert: Text,
    pub key: Text,
    pub client_ca: Text,
    pub cert_file: Text,
    pub key_file: Text,
    pub client_ca_file: Text,
    pub client_auth_type: Option<Policy>,
    pub client_allowed_sans: Vec<Spanned<String>>,
    pub min_version: Option<Spanned<Version>>,
    pub max_version: Option<Version>,
    pub cipher_suites: Vec<Spanned<String>>,
    pub prefer_server_cipher_suites: Option<bool>,
    pub curve_preferences: Vec<Curve>,
}

/// An optional text. In this format, an empty text counts as not set.
#[derive(Deserialize, Default, PartialEq)]
#[serde(from = "Option<Spanned<String>>")]
pub struct Text(pub Option<Spanned<String>>);

impl From<Option<Spanned<String>>> for Text {
    fn from(text: Option<Spanned<String>>) -> Self {
        Self(text.filter(|text| !text.value.is_empty()))
    }
}

/// The policy for client certificates.
#[derive(Debug, Deserialize, Default, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    #[default]
    #[serde(alias = "")]
    NoClientCert,
    RequestClientCert,
    #[serde(alias = "RequireClientCert")]
    RequireAnyClientCert,
    VerifyClientCertIfGiven,
    RequireAndVerifyClientCert,
}

#[derive(Deserialize, Default, PartialEq, Clone, Copy)]
pub enum Version {
    #[default]
    #[serde(rename = "TLS12")]
    Tls12,
    #[serde(rename = "TLS13")]
    Tls13,
}

/// The curves that rustls supports, under Go's names.
#[derive(Deserialize, PartialEq, Clone, Copy)]
pub enum Curve {
    X25519,
    CurveP256,
    CurveP384,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub struct HttpSection {
    pub http2: Option<bool>,
    pub headers: BTreeMap<String, Spanned<String>>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub struct RateLimitSection {
    #[serde(deserialize_with = "go_duration")]
    pub interval: Option<Duration>,
    pub burst: u32,
}

/// Reads a duration as Go writes it, such as `300ms` or `1m30s`; 0 needs no unit.
fn go_duration<'de, D: Deserializer<'de>>(yaml: D) -> Result<Option<Duration>, D::Error> {
    let text = String::deserialize(yaml)?;
    if text == "0" {
        return Ok(Some(Duration::ZERO));
    }
    humantime::parse_duration(&text).map(Some).map_err(|_| {
        D::Error::custom(format_args!(
            "{text:?} is not a duration; write one such as 1s, 500ms or 1m30s, or 0 for no limit"
        ))
    })
}

/// Parses the file.
pub fn parse(text: &[u8]) -> Result<Sections, String> {
    let mut key = String::new();
    let parsed = with_deserializer_from_slice(text, |yaml| {
        serde_path_to_error::deserialize(yaml).map_err(|error| {
            key = dotted(error.path());
            error.into_inner()
        })
    });
    parsed.map_err(|error| {
        let message = message(text, &key, &error);
        format!("line {}: {message}", yaml::line(&error))
    })
}

/// Joins the keys of a path with dots.
fn dotted(path: &serde_path_to_error::Path) -> String {
    let names = path.iter().map(ToString::to_string);
    // The path also contains the fields of `Spanned` and the indices of lists.
    let names: Vec<_> = names
        .filter(|name| name != "value" && !name.starts_with(['?', '[']))
        .collect();
    names.join(".")
}

/// Returns the mistake and what to do about it.
fn message(text: &[u8], key: &str, error: &YamlError) -> String {
    let key = if key.is_empty() { "the file" } else { key };
    // A snippet of the file could contain a key or a hash.
    match error.without_snippet() {
        YamlError::Message { msg, .. } => format!("{key}: {msg}"),
        YamlError::SerdeUnknownField {
            field, expected, ..
        } => {
            let hint = match nearest(field, expected) {
                Some(known) => format!("did you mean {known}?"),
                None => format!("the keys are {}", expected.join(", ")),
            };
            format!("{key}: there is no such key; {hint}")
        }
        YamlError::SerdeUnknownVariant {
            variant, expected, ..
        } => {
            // An empty text stands for the default.
            let known = expected.join(", ");
            let known = known.trim_start_matches(", ");
            format!("{key}: {variant:?} is not supported; choose from {known}")
        }
        YamlError::DuplicateMappingKey {
            key: Some(twice), ..
        } => format!("{key}: {twice} is given twice; remove one of the two"),
        YamlError::InvalidUtf8Input => "the file is not UTF-8; write it in UTF-8".to_owned(),
        YamlError::NullIntoString { .. } => format!("{key} lacks a value; write one, or remove it"),
        YamlError::Unexpected { .. }
        | YamlError::ExternallyTaggedEnumExpectedScalarOrMapping { .. }
        | YamlError::InvalidScalar { .. }
        | YamlError::InvalidBooleanStrict { .. } => format!("{key} must be {}", expected(key)),
        error => {
            let (what, hint) = yaml::explain(&String::from_utf8_lossy(text), error);
            format!("{key} {what}; {hint}")
        }
    }
}

/// Returns the kind of value that a key takes.
fn expected(key: &str) -> &'static str {
    match key.rsplit('.').next().unwrap_or_default() {
        "the file" | "tls_server_config" | "http_server_config" | "basic_auth_users"
        | "rate_limit" | "headers" => "a mapping: a key, a colon and a value on each line",
        "http2" | "prefer_server_cipher_suites" => "true or false",
        "cipher_suites" | "curve_preferences" | "client_allowed_sans" => {
            "a list, such as [first, second]"
        }
        "burst" => "a whole number from 1 to 4294967295, such as 20",
        _ => "one text",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_about_a_file_that_is_not_utf_8_says_so() {
        let message = parse(b"http_server_config: \xff").err().unwrap();
        assert_eq!(message, "line 1: the file is not UTF-8; write it in UTF-8");
    }

    #[test]
    fn intervals_are_parsed_like_go_durations() {
        let read = |text: &str| {
            let text = format!("rate_limit: {{interval: \"{text}\", burst: 1}}");
            parse(text.as_bytes()).ok()?.rate_limit?.value.interval
        };
        for (text, seconds) in [
            ("1s", 1.0),
            ("0", 0.0),
            ("0s", 0.0),
            ("500ms", 0.5),
            ("1m30s", 90.0),
            ("1.5h", 5400.0),
            ("20\u{b5}s", 2e-5),
        ] {
            let interval = read(text).map(|interval| interval.as_secs_f64());
            assert_eq!(interval, Some(seconds), "{text}");
        }
        for text in [
            "",
            "1",
            "s",
            "-1s",
            "1s1",
            "1..5s",
            "\u{661}s",
            "9e9h",
            "999999999999999999999h",
        ] {
            assert!(read(text).is_none(), "{text}");
        }
    }
}
