//! The file as YAML: its keys, their lines, and what is wrong with them.

use crate::text::nearest;
use rustls::server::VerifierBuilderError;
use serde::Deserialize;
use serde_saphyr::{Error as YamlError, Location, Spanned};
use std::{collections::BTreeMap, io};

/// What is wrong, and in which line of the file.
#[derive(Debug)]
pub struct Invalid {
    /// `None` if it is about the complete file.
    pub line: Option<u64>,
    pub problem: Problem,
}

/// What is wrong, naming the key and what to do. It shows nothing of the file but its keys, and causes that hold nothing else.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    #[error("cannot read {what}: {error}; correct {correct}")]
    Unreadable {
        what: String,
        correct: &'static str,
        error: io::Error,
    },
    #[error("{what} ({error}); {hint}")]
    Tls {
        what: String,
        hint: &'static str,
        /// Boxed, as it is large.
        error: Box<rustls::Error>,
    },
    #[error("tls_server_config cannot verify client certificates ({0}); set client_ca_file")]
    Authorities(VerifierBuilderError),
    #[error("{0}")]
    Value(String),
}

impl<T: Into<String>> From<T> for Problem {
    fn from(message: T) -> Self {
        Self::Value(message.into())
    }
}

impl Invalid {
    pub fn new(problem: impl Into<Problem>) -> Self {
        Self {
            line: None,
            problem: problem.into(),
        }
    }

    pub fn at<T>(place: &Spanned<T>, problem: impl Into<Problem>) -> Self {
        Self {
            line: line(&place.referenced),
            problem: problem.into(),
        }
    }
}

fn line(location: &Location) -> Option<u64> {
    let line = location.line();
    (line > 0).then_some(line)
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
    let mut known = Vec::new();
    for (text, choice) in choices {
        if text.as_ref() == name.value {
            return Ok(*choice);
        }
        known.push(text.as_ref());
    }
    let (given, known) = (&name.value, known.join(", "));
    let message = format!("{key}: {given:?} is not supported; choose from {known}");
    Err(Invalid::at(name, message))
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
            key = dotted(error.path());
            error.into_inner()
        })
    });
    parsed.map_err(|error| Invalid {
        line: error.location().as_ref().and_then(line),
        problem: message(&key, &error).into(),
    })
}

fn dotted(path: &serde_path_to_error::Path) -> String {
    let mut names = Vec::new();
    for segment in path {
        let name = segment.to_string();
        // Between a key and its value stands the wrapper that knows the line.
        if name != "value" && name != "?" {
            names.push(name);
        }
    }
    names.join(".")
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
        } => format!(
            "{}{twice} is given twice; remove one of the two",
            prefix(section)
        ),
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

fn prefix(section: &str) -> String {
    if section.is_empty() {
        return String::new();
    }
    format!("{section}.")
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
