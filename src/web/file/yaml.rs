//! The file as YAML: its keys, and where they stand.

use super::Problem;
use crate::text::nearest;
use serde::Deserialize;
use serde_saphyr::{Error as YamlError, Location, Spanned};
use std::collections::BTreeMap;

type Text = Option<Spanned<String>>;

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Raw {
    pub tls_server_config: Option<RawTls>,
    pub http_server_config: Option<RawHttp>,
    pub basic_auth_users: Option<BTreeMap<String, Spanned<String>>>,
    pub rate_limit: Option<RawRateLimit>,
}

/// `tls_server_config`.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub(in crate::web) struct RawTls {
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
    pub prefer_server_cipher_suites: Option<Spanned<bool>>,
    pub curve_preferences: Option<Vec<Spanned<String>>>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RawHttp {
    pub http2: Option<Spanned<bool>>,
    pub headers: Option<BTreeMap<String, Spanned<String>>>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RawRateLimit {
    pub interval: Text,
    pub burst: Option<Spanned<i64>>,
}

pub(super) fn parse(text: &str) -> Result<Raw, Problem> {
    // A snippet of the file in a message could show a key or a hash.
    let options = serde_saphyr::options! { with_snippet: false };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| Problem {
        line: error.location().as_ref().map(Location::line).filter(|line| *line > 0),
        message: message(&error),
    })
}

fn message(error: &YamlError) -> String {
    match error {
        YamlError::SerdeUnknownField { field, expected, .. } => match nearest(field, expected.iter()) {
            Some(key) => format!("unknown key {field:?}; did you mean {key:?}?"),
            None => format!("unknown key {field:?}; here may stand {}", expected.join(", ")),
        },
        YamlError::DuplicateMappingKey { key: Some(key), .. } => format!("the key {key:?} is given twice"),
        YamlError::NullIntoString { .. } => "a value is missing here".to_owned(),
        YamlError::MultipleDocuments { .. } => "a second YAML document begins here; there can be only one".to_owned(),
        error => {
            let message = error.to_string();
            message.split(" at line ").next().unwrap_or_default().to_owned()
        }
    }
}
