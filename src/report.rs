//! The outputs for people and programs: a table, Markdown, CSV, JSON, and the page as HTML.
//!
//! Each is made from a snapshot alone. Text of the API reaches a terminal or a document only through
//! an escape of that format.

mod csv;
pub mod html;
mod json;
mod markdown;
pub(crate) mod table;
mod verdict;

pub use csv::csv;
pub use json::json;
pub use markdown::markdown;
pub use table::table;
pub use verdict::{NotReady, verdict};

use crate::support::escape::is_unprintable;

/// Returns `text` for one line of a terminal or a document: a character that a terminal would
/// interpret or hide is replaced.
fn cell(text: &str) -> String {
    text.replace(is_unprintable, "\u{fffd}")
}

/// Where the table is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terminal {
    /// Columns of the terminal.
    pub width: usize,
    pub color: bool,
}

impl Terminal {
    /// What suits stdout: as wide as the terminal, or as COLUMNS says, or 80 columns; coloured only on a terminal that
    /// can, and without `NO_COLOR`.
    pub fn of_stdout() -> Self {
        let terminal = console::Term::stdout();
        let width = match terminal.size_checked() {
            Some((_, columns)) => columns.into(),
            None => std::env::var("COLUMNS")
                .ok()
                .and_then(|columns| columns.parse().ok())
                .unwrap_or(80),
        };
        let can_color =
            terminal.is_term() && std::env::var("TERM").is_ok_and(|term| term != "dumb");
        // Set to nothing, it counts as not set: see <https://no-color.org>.
        let must_not = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Self {
            width,
            color: can_color && !must_not,
        }
    }
}

#[cfg(test)]
mod tests;
