//! Explains malformed YAML without a word of it: it may hold secrets.

use serde_saphyr::Error;

/// Returns the problem with a YAML text and the remedy: a predicate.
pub(crate) fn explain(error: &Error) -> &'static str {
    match error.without_snippet() {
        Error::DuplicateMappingKey { .. } => {
            "is not valid YAML: a name appears twice in one mapping; remove one of the two"
        }
        _ => {
            "is not valid YAML; look at this line and the one before it: indentation (blanks, no \
             tabs), a missing colon, quote or bracket, a value with an asterisk that needs quotes, \
             a second document"
        }
    }
}

/// Returns the line of an error.
pub(crate) fn line(error: &Error) -> u64 {
    error.location().map_or(1, |location| location.line())
}
