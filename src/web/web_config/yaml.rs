//! The file as YAML: its keys, their lines, and what is wrong with them.

use crate::text::nearest;
use serde::Deserialize;
use serde_saphyr::{Error as YamlError, Location, Spanned};
use std::collections::BTreeMap;

/// What is wrong, naming the key and what to do, and in which line of the file it is.
#[derive(Debug)]
pub struct Invalid {
    /// `None` if it is about the complete file.
    pub line: Option<u64>,
    pub message: String,
}

impl Invalid {
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            line: None,
            message: message.into(),
        }
    }

    pub fn at<T>(place: &Spanned<T>, message: impl Into<String>) -> Self {
        Self {
            line: Some(place.referenced.line()).filter(|line| *line > 0),
            message: message.into(),
        }
    }
}

/// A text that may be set; in this format, an empty one is not.
#[derive(Deserialize, Default, PartialEq)]
#[serde(from = "Option<Spanned<String>>")]
pub struct Text(pub Option<Spanned<String>>);

impl From<Option<Spanned<String>>> for Text {
    fn from(text: Option<Spanned<String>>) -> Self {
        Self(text.filter(|text| !text.value.is_empty()))
    }
}

/// What the name stands for.
pub fn choose<T: Copy>(
    key: &str,
    name: &Spanned<String>,
    choices: &[(impl AsRef<str>, T)],
) -> Result<T, Invalid> {
    let chosen = choices
        .iter()
        .find(|(known, _)| known.as_ref() == name.value);
    chosen.map(|(_, choice)| *choice).ok_or_else(|| {
        let choices = choices
            .iter()
            .map(|(known, _)| known.as_ref())
            .collect::<Vec<_>>()
            .join(", ");
        Invalid::at(
            name,
            format!(
                "{key}: {:?} is not supported; choose from {choices}",
                name.value
            ),
        )
    })
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub struct Raw {
    pub tls_server_config: Option<Spanned<RawTls>>,
    pub http_server_config: Option<RawHttp>,
    pub basic_auth_users: Option<BTreeMap<String, Spanned<String>>>,
    pub rate_limit: Option<RawRateLimit>,
}

/// `tls_server_config`.
#[derive(Deserialize, Default, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct RawTls {
    pub cert: Text,
    pub key: Text,
    pub client_ca: Text,
    pub cert_file: Text,
    pub key_file: Text,
    pub client_ca_file: Text,
    pub client_auth_type: Text,
    pub client_allowed_sans: Option<Spanned<Vec<String>>>,
    pub min_version: Text,
    pub max_version: Text,
    pub cipher_suites: Option<Vec<Spanned<String>>>,
    pub prefer_server_cipher_suites: Option<bool>,
    pub curve_preferences: Option<Vec<Spanned<String>>>,
}

/// `http_server_config`.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub struct RawHttp {
    pub http2: Option<bool>,
    pub headers: Option<BTreeMap<String, Spanned<String>>>,
}

/// `rate_limit`.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub struct RawRateLimit {
    pub interval: Text,
    pub burst: Option<Spanned<u32>>,
}

pub fn parse(text: &str) -> Result<Raw, Invalid> {
    // A snippet of the file in a message could show a key or a hash.
    let options = serde_saphyr::options! { with_snippet: false };
    let mut key = String::new();
    let parsed = serde_saphyr::with_deserializer_from_str_with_options(text, options, |yaml| {
        serde_path_to_error::deserialize(yaml).map_err(|error| {
            // Between a key and its value stands the wrapper that knows the line.
            let names = error
                .path()
                .iter()
                .map(ToString::to_string)
                .filter(|name| name != "value" && name != "?");
            key = names.collect::<Vec<_>>().join(".");
            error.into_inner()
        })
    });
    parsed.map_err(|error| Invalid {
        line: error
            .location()
            .as_ref()
            .map(Location::line)
            .filter(|line| *line > 0),
        message: message(&key, &error),
    })
}

/// What is wrong and what to do; nothing of the file but its keys.
fn message(section: &str, error: &YamlError) -> String {
    let key = if section.is_empty() {
        "the file"
    } else {
        section
    };
    match error {
        YamlError::SerdeUnknownField {
            field, expected, ..
        } => match nearest(field, expected.iter()) {
            Some(known) => format!("{key}: there is no such key; did you mean {known}?"),
            None => format!(
                "{key}: there is no such key; the keys are {}",
                expected.join(", ")
            ),
        },
        YamlError::DuplicateMappingKey {
            key: Some(twice), ..
        } => {
            let section = if section.is_empty() {
                String::new()
            } else {
                format!("{section}.")
            };
            format!("{section}{twice} is given twice; remove one of the two")
        }
        YamlError::NullIntoString { .. } => {
            format!("{key} has no value; write one, or remove the key")
        }
        YamlError::MultipleDocuments { .. } => {
            "a second YAML document begins here; keep one".to_owned()
        }
        YamlError::Unexpected { .. }
        | YamlError::InvalidScalar { .. }
        | YamlError::InvalidBooleanStrict { .. }
        | YamlError::SerdeInvalidType { .. }
        | YamlError::SerdeInvalidValue { .. } => format!("{key} must be {}", expected(key)),
        _ => format!(
            "{key} is not valid YAML; look at this line and the one before it: indentation, a missing colon, quote or \
             bracket"
        ),
    }
}

/// What a key takes.
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
