//! What is wrong with a configuration, told so that it can be mended. No message holds a value that might be the key.

use std::{fmt, path::PathBuf};

/// Where a value came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    Default,
    /// A file, with the line of the key where it is known.
    File {
        path: PathBuf,
        line: Option<u64>,
    },
    Variable(String),
    Flag(&'static str),
    Demo,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { path, line: Some(line) } => write!(f, "{}:{line}", path.display()),
            Self::File { path, line: None } => write!(f, "{}", path.display()),
            Self::Variable(name) => f.write_str(name),
            Self::Flag(flag) => f.write_str(flag),
            Self::Demo => f.write_str("demo"),
        }
    }
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// The key, where there is one.
    pub key: Option<String>,
    /// Where it was found, if it was.
    pub source: Option<Source>,
    pub problem: String,
    /// What to do.
    pub hint: String,
}

impl Mistake {
    pub(super) fn at(source: Source, problem: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { key: None, source: Some(source), problem: problem.into(), hint: hint.into() }
    }

    pub(super) fn of(key: &str, source: Option<Source>, problem: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { key: Some(key.to_owned()), source, problem: problem.into(), hint: hint.into() }
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.key, &self.source) {
            (Some(key), Some(source)) => write!(f, "{key} ({source})")?,
            (Some(key), None) => f.write_str(key)?,
            (None, Some(source)) => write!(f, "{source}")?,
            (None, None) => f.write_str("configuration")?,
        }
        write!(f, ": {}; {}", self.problem, self.hint)
    }
}

/// Everything that is wrong with a configuration: one line where there is one mistake, else a line for each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError(pub Vec<Mistake>);

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_slice() {
            [mistake] => write!(f, "{mistake}"),
            mistakes => {
                write!(f, "{} mistakes in the configuration:", mistakes.len())?;
                mistakes.iter().try_for_each(|mistake| write!(f, "\n  {mistake}"))
            }
        }
    }
}

impl std::error::Error for ConfigError {}

/// A single value that should be short for people: quoted, unless it is so long that it might hold a key which wrong
/// indentation made a part of it.
pub(super) fn short(value: &str) -> String {
    const LONGEST: usize = 16;
    match value.chars().count() {
        length if length > LONGEST => format!("a text of {length} characters"),
        _ => quoted(value),
    }
}

/// A value for people: quoted, without control characters, not too long.
pub(super) fn quoted(value: &str) -> String {
    const LONGEST: usize = 60;
    let short: String = value.chars().take(LONGEST).collect();
    let rest = if short.len() < value.len() { "…" } else { "" };
    format!("\"{}{rest}\"", short.escape_debug())
}
