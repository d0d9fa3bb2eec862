//! The YAML of the file, and its mistakes.

use crate::support::{
    hint::{is_plain, nearest},
    yaml,
};
use anyhow::anyhow;
use serde::de::DeserializeOwned;
use serde_saphyr::{Error, from_slice};

/// Parses the file. An error shows its line and key, and no other content: that could be a secret.
pub fn parse<T: DeserializeOwned>(text: &[u8]) -> anyhow::Result<T> {
    from_slice(text).map_err(|error| {
        let (text, number) = (String::from_utf8_lossy(text), yaml::line(&error));
        let mut lines = (1..).zip(text.lines());
        let key = lines
            .find(|(at, _)| *at == number)
            .and_then(|(_, line)| line.split_once(':'))
            .map(|(key, _)| key.trim())
            .filter(|key| is_plain(key))
            .map_or_else(String::new, |key| format!(", {key}"));
        anyhow!("line {number}{key}: {}", message(&error))
    })
}

/// Returns the mistake and what to do about it.
fn message(error: &Error) -> String {
    match error.without_snippet() {
        Error::Message { msg, .. } => msg.clone(),
        Error::SerdeUnknownField {
            field, expected, ..
        } => {
            let known =
                nearest(field, expected).map_or_else(|| expected.join(" or "), ToString::to_string);
            format!("there is no key {field}; did you mean {known}?")
        }
        Error::SerdeUnknownVariant { expected, .. } => format!(
            "this value is not supported; choose from {}",
            expected.join(", ")
        ),
        Error::SerdeMissingField { field, .. } => format!("{field} is missing; add it"),
        Error::NullIntoString { .. }
        | Error::Unexpected { .. }
        | Error::ExternallyTaggedEnumExpectedScalarOrMapping { .. }
        | Error::InvalidScalar { .. }
        | Error::SerdeInvalidValue { .. }
        | Error::InvalidBooleanStrict { .. } => "this is not a value of the kind that the key \
                                                 takes; see the exporter-toolkit's documentation \
                                                 of the file"
            .to_owned(),
        error => format!("the file {}", yaml::explain(error)),
    }
}
