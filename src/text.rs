//! Texts of strangers, shown safely.

/// Whether a character has no shape of its own and yet changes how others are shown, so that a name that holds it could
/// be shown as another one. The joiners that many scripts and emoji need are none of these.
pub(crate) fn is_invisible(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200b}' | '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}
