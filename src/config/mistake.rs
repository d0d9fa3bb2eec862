//! Mistakes in a configuration, which become text here and nowhere else.

use super::{keys::Key, values::Wrong};
use figment::Metadata;
use std::{
    fmt::{self, Display},
    path::PathBuf,
};

/// A mistake in a configuration. Its text holds nothing that might be the API key.
#[derive(Debug, Clone)]
pub struct Mistake {
    /// The path of the key; empty if the mistake is in a name or a whole file.
    pub path: &'static str,
    text: String,
}

impl Mistake {
    /// Makes the mistake of a name or a file.
    pub fn new(place: &Metadata, what: impl Display, hint: impl Display) -> Self {
        Self::from(format!("{}: {what}; {hint}", place.name))
    }

    /// Makes the mistake of a value.
    pub fn of_value(key: &Key, place: &Metadata, wrong: impl Into<Wrong>) -> Self {
        let Wrong(what, mut hint) = wrong.into();
        if hint.is_empty() {
            let in_file = place.source.is_some();
            hint = format!("give {}", key.takes.expected(in_file));
        }
        Self {
            path: key.path,
            text: format!("{} ({}): {what}; {hint}", key.path, place.name),
        }
    }
}

impl From<String> for Mistake {
    fn from(text: String) -> Self {
        Self { path: "", text }
    }
}

/// All mistakes in a configuration.
#[derive(Debug, Clone, Default, thiserror::Error)]
pub struct ConfigError {
    pub mistakes: Vec<Mistake>,
    /// The files that the configuration names, so that their mistakes can be added.
    pub files: Files,
}

/// The files that a configuration names, besides the key file.
#[derive(Debug, Clone, Default)]
pub struct Files {
    /// `api.ca_file`
    pub ca: Option<PathBuf>,
    /// `state.file`
    pub state: Option<PathBuf>,
    /// `web.config_file`
    pub web_config: Option<PathBuf>,
}

impl From<String> for ConfigError {
    fn from(text: String) -> Self {
        Self {
            mistakes: vec![text.into()],
            ..Self::default()
        }
    }
}

impl Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [mistake] = self.mistakes.as_slice() {
            return f.write_str(&mistake.text);
        }
        write!(f, "{} mistakes in the configuration:", self.mistakes.len())?;
        for mistake in &self.mistakes {
            write!(f, "\n  {}", mistake.text)?;
        }
        Ok(())
    }
}
