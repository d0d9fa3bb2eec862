//! One value of one layer.

use super::keys::{Key, Takes};
use figment::{
    Metadata, Profile, Provider, Source,
    util::nest,
    value::{Dict, Map, Value},
};

/// A value for a key, with where it came from: to figment, a provider of its own.
pub(super) struct Entry {
    key: &'static Key,
    value: Value,
    source: Source,
}

impl Entry {
    /// Text for a list is split; other text is trimmed, but for a secret.
    pub(super) fn new(key: &'static Key, value: Value, source: Source) -> Self {
        let value = match (value.as_str(), key.takes) {
            (None, _) | (_, Takes::Secret) => value,
            (Some(text), Takes::List) => split(text).into(),
            (Some(text), _) => text.trim().into(),
        };
        Self { key, value, source }
    }
}

impl Provider for Entry {
    fn metadata(&self) -> Metadata {
        Metadata::from(self.key.path, self.source.clone())
    }

    fn data(&self) -> Result<Map<Profile, Dict>, figment::Error> {
        let dict = nest(self.key.path, self.value.clone()).into_dict().unwrap_or_default();
        Ok(Profile::Default.collect(dict))
    }
}

/// The items of a list that is written as one text. A comma within the braces of a glob is the glob's own.
fn split(text: &str) -> Vec<String> {
    let mut depth = 0_usize;
    let items = text.split(|c| {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    });
    items.map(str::trim).filter(|item| !item.is_empty()).map(str::to_owned).collect()
}
