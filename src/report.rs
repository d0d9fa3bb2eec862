//! What `once` prints: a table for people, JSON for programs.
//!
//! # The table
//!
//! Repositories by languages, the furthest behind of both first, a bar for each repository, and what is due. It fits into [`Terminal::width`]
//! columns, however many languages there are. Nothing in a name reaches the terminal as a control sequence.
//!
//! # The JSON, version 1
//!
//! One object. Within a version, members may be added, but are never removed or renamed and never change their meaning.
//!
//! | member | type | meaning |
//! |---|---|---|
//! | `version` | 1 | version of this schema |
//! | `taken_at` | time | when the poll ended; times are RFC 3339 in UTC |
//! | `complete` | boolean | whether everything could be read; the exit code says the same |
//! | `completion_scale` | number | `api.completion_scale`: the completion that means finished |
//! | `listing.complete` | boolean | whether all repositories could be listed |
//! | `listing.error` | error or null | why not; an error is an object of `what` and `hint`, both text for people |
//! | `poll.duration_seconds` | number | |
//! | `poll.read`, `.failed`, `.unreached` | integer | repositories read in full; failed; not read because the poll ended early |
//! | `poll.postponed` | integer | repositories that failed before and were left to a later poll |
//! | `poll.error` | error or null | why the poll was ended before everything was requested |
//! | `filtered` | integer | repositories left out by the filters, or for a duplicate name |
//! | `repositories` | array | in the order of their names |
//! | `repositories[].id` | text | decimal, because it may exceed what a JSON number holds exactly |
//! | `repositories[].name` | text | owner/repo |
//! | `repositories[].private` | boolean or null | null if the API did not say |
//! | `repositories[].created_at` | time or null | |
//! | `repositories[].state` | text | `fresh`: read in full; `failing`, `stale`: an earlier read was; `pending`: not read by this process |
//! | `repositories[].error` | error or null | why it could not be read |
//! | `repositories[].languages` | array or null | in the order of their codes; null if they could not be read |
//! | `repositories[].languages[].code` | text | |
//! | `repositories[].languages[].name` | text | empty if the API gave none |
//! | `repositories[].languages[].completion` | number or null | as the API reported it; null if it gave none |
//! | `repositories[].languages[].ratio` | number or null | completion divided by the scale, to 12 decimals, not clamped |
//! | `repositories[].languages[].target.ratio` | number | the ratio at which it is ready: of `targets`, otherwise 1 |
//! | `repositories[].languages[].target.due` | time or null | when it must be ready |
//! | `repositories[].languages[].ready` | boolean or null | null if it has no completion, unless its target is 0 |

pub mod html;
mod json;
pub(crate) mod table;

pub use json::json;
pub use table::{NotReady, all_ready, table};

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
