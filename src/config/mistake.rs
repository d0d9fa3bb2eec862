//! Mistakes in a configuration, which become text here and nowhere else.

use super::schema::Key;
use std::{
    fmt::{self, Display},
    path::PathBuf,
};

/// The layer of a value, with its place there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    Default,
    /// The configuration file, and the line of the name.
    File(PathBuf, u64),
    /// A variable of the environment, or an option of the command line with its dashes.
    Named(String),
}

impl Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File(path, line) => write!(f, "{}:{line}", path.display()),
            Self::Named(name) => f.write_str(name),
        }
    }
}

/// Something that is wrong with a configuration. It holds nothing that might be the API key.
#[derive(Debug, Clone)]
pub struct Mistake {
    /// `None` if the mistake is in a name or a whole file.
    pub key: Option<&'static Key>,
    pub source: Source,
    pub what: String,
    /// The remedy; if it is empty, that is to give what the key expects.
    pub hint: String,
}

impl Mistake {
    pub fn new(source: Source, what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            key: None,
            source,
            what: what.into(),
            hint: hint.into(),
        }
    }
}

impl Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            source, what, hint, ..
        } = self;
        let Some(key) = self.key else {
            return write!(f, "{source}: {what}; {hint}");
        };
        write!(f, "{} ({source}): {what}; ", key.path)?;
        match source {
            _ if !hint.is_empty() => f.write_str(hint),
            Source::Named(_) => write!(f, "give {}", without_quotes(key.expected)),
            _ => write!(f, "give {}", key.expected),
        }
    }
}

/// Adapts the text about expected values to variables and options, which need no brackets and
/// quotes.
fn without_quotes(expected: &str) -> String {
    let expected = expected
        .replace(" in quotes,", " separated by commas, without quotes,")
        .replace(" in quotes", "")
        .replace("\", \"", ",");
    expected.replace("[\"", "").replace("\"]", "")
}

/// Everything that is wrong with a configuration.
#[derive(Debug, Clone, thiserror::Error)]
pub struct ConfigError(pub Vec<Mistake>);

impl Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [mistake] = self.0.as_slice() {
            return mistake.fmt(f);
        }
        write!(f, "{} mistakes in the configuration:", self.0.len())?;
        for mistake in &self.0 {
            write!(f, "\n  {mistake}")?;
        }
        Ok(())
    }
}
