//! What is wrong with a configuration, and how to correct it. No message holds a value that might be the key.

use std::fmt;

/// Everything that is wrong with a configuration, one line each. Each names the key, where its value came from (file and
/// line, variable, option) and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError(pub Vec<String>);

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_slice() {
            [mistake] => f.write_str(mistake),
            mistakes => {
                write!(f, "{} mistakes in the configuration:", mistakes.len())?;
                mistakes.iter().try_for_each(|mistake| write!(f, "\n  {mistake}"))
            }
        }
    }
}

impl std::error::Error for ConfigError {}

/// A single value for people: quoted, unless it is so long that it might contain a key because of wrong indentation.
pub(super) fn short(value: &str) -> String {
    const LONGEST: usize = 16;
    match value.chars().count() {
        length if length > LONGEST => format!("a text of {length} characters"),
        _ => quoted(value),
    }
}

/// An item of a list for people: quoted, without control characters, not too long.
pub(super) fn quoted(item: &str) -> String {
    const LONGEST: usize = 60;
    let start: String = item.chars().take(LONGEST).collect();
    let rest = if start.len() < item.len() { "…" } else { "" };
    format!("\"{}{rest}\"", start.escape_debug())
}
