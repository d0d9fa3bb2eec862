//! Mistakes in a configuration, which become text here and nowhere else.

use figment::Metadata;
use std::fmt::{self, Display};

/// A mistake in a configuration. Its text holds nothing that might be the API key.
#[derive(Debug, Clone)]
pub struct Mistake {
    /// The path of the key; empty if the mistake is in a name or a whole file.
    pub path: &'static str,
    text: String,
}

impl Mistake {
    /// Makes a mistake from the problem and its remedy.
    pub fn new(path: &'static str, place: &Metadata, problem: impl Display) -> Self {
        let text = if path.is_empty() {
            format!("{}: {problem}", place.name)
        } else {
            format!("{path} ({}): {problem}", place.name)
        };
        Self { path, text }
    }
}

/// All mistakes in a configuration.
#[derive(Debug, Clone, thiserror::Error)]
pub struct ConfigError {
    pub mistakes: Vec<Mistake>,
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
