//! How a completion, a bar and a name are written on a terminal.

use super::summary::Percent;
use crate::text::is_invisible;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

const EIGHTHS: [char; 8] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];

/// Writes with colours, or without.
#[derive(Debug, Clone, Copy)]
pub(super) struct Brush(pub(super) bool);

impl Brush {
    fn paint(self, code: &str, text: &str) -> String {
        if self.0 && !text.trim().is_empty() { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    pub(super) fn strong(self, text: &str) -> String {
        self.paint("1", text)
    }

    pub(super) fn faint(self, text: &str) -> String {
        self.paint("2", text)
    }

    pub(super) fn alarming(self, text: &str) -> String {
        self.paint("31", text)
    }

    /// Red below half, yellow below nine tenths, green if finished; otherwise the terminal's own colour.
    fn graded(self, ratio: f64, text: &str) -> String {
        match ratio {
            _ if ratio < 0.5 => self.paint("31", text),
            _ if ratio < 0.9 => self.paint("33", text),
            _ if ratio < 1.0 => text.to_owned(),
            _ => self.paint("32", text),
        }
    }

    /// A bar of `width` columns, rounded down so that only what is finished looks so; `ratio` is from 0 to 1.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to the eighths, which are few")]
    #[expect(clippy::cast_precision_loss, reason = "the eighths are few")]
    pub(super) fn bar(self, ratio: f64, width: usize) -> String {
        let eighths = (ratio * (width * 8) as f64).floor() as usize;
        let mut bar = "█".repeat(eighths / 8);
        if !eighths.is_multiple_of(8) {
            bar.push(EIGHTHS[eighths % 8]);
        }
        let rest = "·".repeat(width - bar.chars().count());
        self.graded(ratio, &bar) + &self.faint(&rest)
    }

    /// A completion in at least `width` columns, `?` if the API reported none.
    pub(super) fn number(self, ratio: Option<f64>, width: usize) -> String {
        match ratio {
            None => format!("{:>width$}", "?"),
            Some(ratio) => self.graded(ratio, &format!("{:>width$}", Percent(ratio))),
        }
    }
}

/// A name without control characters, in at most `width` columns; what does not fit is cut off at the front, where owners
/// repeat.
pub(super) fn name(text: &str, width: usize) -> String {
    let shown: String = text.chars().map(|c| if c.is_control() || is_invisible(c) { '\u{fffd}' } else { c }).collect();
    if shown.width() <= width {
        return shown;
    }
    let mut kept = Vec::new();
    let mut left = width.saturating_sub(1);
    for c in shown.chars().rev() {
        let Some(rest) = left.checked_sub(c.width().unwrap_or(0)) else { break };
        left = rest;
        kept.push(c);
    }
    // A combining mark would now combine with the ellipsis.
    while kept.last().is_some_and(|c| c.width() == Some(0)) {
        kept.pop();
    }
    std::iter::once('…').chain(kept.into_iter().rev()).collect()
}

/// `text`, padded to `width` columns.
pub(super) fn padded(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(text.width())))
}
