//! Failures, which have a hint, and suggestions of names.

use serde::Serialize;
use std::sync::Arc;

/// Something that went wrong, in words for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
#[error("{what}; {hint}")]
pub struct Failure {
    /// The attempt, its object and the problem. It never contains the API key.
    pub what: Arc<str>,
    /// The remedy.
    pub hint: Arc<str>,
}

impl Failure {
    pub fn new(what: impl Into<Arc<str>>, hint: impl Into<Arc<str>>) -> Self {
        Self {
            what: what.into(),
            hint: hint.into(),
        }
    }
}

/// Returns the candidate most similar to `typed`, if it is similar enough to suggest.
pub(crate) fn nearest<T: AsRef<str>>(
    typed: &str,
    candidates: impl IntoIterator<Item = T>,
) -> Option<T> {
    let typed = normal(typed);
    let likeness = |name: &T| strsim::jaro_winkler(&typed, &normal(name.as_ref()));
    candidates
        .into_iter()
        .filter(|name| likeness(name) >= 0.8)
        .max_by(|name, other| likeness(name).total_cmp(&likeness(other)))
}

/// Normalizes a name: `base-url`, `baseUrl` and `base_url` become equal.
fn normal(name: &str) -> String {
    name.replace(['_', '-', '.'], "").to_lowercase()
}

/// Returns true for an unknown name that may be shown: YAML reads `{key:abc}` as one name, which
/// may hold a secret.
pub(crate) fn is_plain(name: &str) -> bool {
    let is_of_names = |c: char| c.is_ascii_alphabetic() || matches!(c, '_' | '-' | '.');
    name.len() <= 40 && name.chars().all(is_of_names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_found_across_spellings() {
        let names = ["base_url", "page_size", "timeout"];
        assert_eq!(nearest("baseUrl", names), Some("base_url"));
        assert_eq!(nearest("page-sise", names), Some("page_size"));
        assert_eq!(nearest("token", ["key"]), None);
    }
}
