//! One value of one layer.

use super::keys::{Key, Takes};
use figment::{
    Metadata, Profile, Provider, Source,
    util::nest,
    value::{Dict, Map, Value},
};

/// A value of one layer, with where it came from: to figment, a provider of its own.
pub(super) struct Entry {
    path: &'static str,
    value: Value,
    source: Source,
}

impl Entry {
    /// Text for a list is split; other text is trimmed, but for a secret.
    pub(super) fn new(path: &'static str, value: Value, source: impl Into<Source>) -> Self {
        let value = match (value.as_str(), Key::find(path).map(|key| key.takes)) {
            (None, _) | (_, Some(Takes::Secret)) => value,
            (Some(text), Some(Takes::List)) => split(text).into(),
            (Some(text), _) => text.trim().into(),
        };
        Self {
            path,
            value,
            source: source.into(),
        }
    }
}

impl Provider for Entry {
    fn metadata(&self) -> Metadata {
        Metadata::from(self.path, self.source.clone())
    }

    fn data(&self) -> Result<Map<Profile, Dict>, figment::Error> {
        Ok(Profile::Default.collect(
            nest(self.path, self.value.clone())
                .into_dict()
                .unwrap_or_default(),
        ))
    }
}

/// The items of a list that is written as one text. A comma within the braces of a glob is the glob's own.
fn split(text: &str) -> Vec<String> {
    let mut depth = 0_usize;
    let items = text.split(|c| {
        depth = depth.saturating_sub(usize::from(c == '}')) + usize::from(c == '{');
        c == ',' && depth == 0
    });
    items
        .map(str::trim)
        .filter(|item| !item.is_empty())
        .map(str::to_owned)
        .collect()
}
