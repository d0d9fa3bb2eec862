//! How a completion, a bar and a name are written on a terminal.

use super::{
    Terminal,
    summary::{Percent, Translation},
};
use crate::text::is_unprintable;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// Styles, by their numbers in ECMA-48 (SGR).
pub const STRONG: &str = "1";
pub const FAINT: &str = "2";
pub const RED: &str = "31";
pub const GREEN: &str = "32";
pub const YELLOW: &str = "33";

impl Terminal {
    /// `text` in a style, if there are any.
    pub fn paint(self, style: &str, text: &str) -> String {
        if self.color && !text.trim().is_empty() {
            format!("\x1b[{style}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }

    /// By how much is missing until it is ready: nothing is green, more than a tenth yellow, more than half red;
    /// otherwise the terminal's own colour.
    fn graded(self, missing: f64, text: &str) -> String {
        match missing {
            ..=0.0 => self.paint(GREEN, text),
            ..=0.1 => text.to_owned(),
            ..=0.5 => self.paint(YELLOW, text),
            _ => self.paint(RED, text),
        }
    }

    /// A bar of ten columns and a percentage, rounded down so that only what is complete looks so.
    pub fn bar(self, mean: f64, missing: f64) -> String {
        let full = (1..=10_u8)
            .filter(|tenth| mean * 10.0 >= f64::from(*tenth))
            .count();
        let bar = self.graded(missing, &"█".repeat(full));
        let rest = self.paint(FAINT, &"·".repeat(10 - full));
        let percent = self.graded(missing, &format!("{:>3}", Percent(mean)));
        format!("{bar}{rest} {percent}%")
    }

    /// A completion in at least `width` columns, `?` if the API reported none.
    pub fn number(self, translation: &Translation<'_>, width: usize) -> String {
        match translation.ratio {
            None => format!("{:>width$}", "?"),
            Some(ratio) => self.graded(
                translation.missing().unwrap_or_default(),
                &format!("{:>width$}", Percent(ratio)),
            ),
        }
    }
}

/// A name without control characters, in at most `width` columns; what does not fit is cut off at the front, where owners
/// repeat.
pub fn name(text: &str, width: usize) -> String {
    let shown = text.replace(is_unprintable, "\u{fffd}");
    if shown.width() <= width {
        return shown;
    }
    let columns = |c: char| c.width().unwrap_or(0);
    let all: usize = shown.chars().map(columns).sum();
    let mut excess = (all + 1).saturating_sub(width);
    let kept = shown.trim_start_matches(|c| {
        // A combining mark would combine with the ellipsis.
        let is_cut = excess > 0 || columns(c) == 0;
        excess = excess.saturating_sub(columns(c));
        is_cut
    });
    format!("…{kept}")
}

/// `text`, padded to `width` columns.
pub fn padded(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(text.width())))
}
