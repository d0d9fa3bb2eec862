//! What is in force, for `check-config`.

use super::{Loaded, Setting};
use std::fmt::Write as _;
use unicode_width::UnicodeWidthStr;

/// Longer values push their source to the right instead of all others.
const WIDEST: usize = 48;

/// A line for each key: the value in force and where it came from, secrets hidden.
#[must_use]
pub fn describe(loaded: &Loaded) -> String {
    let value = |setting: &Setting| if setting.value.is_empty() { "-".to_owned() } else { setting.value.clone() };
    let rows: Vec<_> = loaded.settings.iter().map(|setting| (setting.key, value(setting), &*setting.source)).collect();
    let key_width = rows.iter().map(|(key, ..)| key.width()).max().unwrap_or(0);
    let value_width =
        rows.iter().map(|(_, value, _)| value.width()).filter(|width| *width <= WIDEST).max().unwrap_or(0);
    let mut text = String::new();
    let mut line = |key: &str, value: &str, source: &str| {
        let gap = " ".repeat(value_width.saturating_sub(value.width()));
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{key:key_width$}  {value}{gap}  {source}");
    };
    line("KEY", "VALUE", "SOURCE");
    for (key, value, source) in rows {
        line(key, &value, source);
    }
    text
}
