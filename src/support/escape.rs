//! Safe display of untrusted text.

use std::fmt::Write as _;

/// Returns true for characters that a terminal interprets, and for invisible marks, which could
/// make one name look like another. Joiners and variation selectors pass: many scripts and emoji
/// need them.
pub(crate) fn is_unprintable(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{ad}'
                | '\u{61c}'
                | '\u{200b}'
                | '\u{200e}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff0}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

/// Escapes unprintable characters, except line feeds, for a terminal. All messages and log lines
/// pass through here. The table of `once` replaces such characters; JSON and metrics have escapes
/// of their formats.
pub(crate) fn printable(text: &str) -> String {
    let mut printable = String::with_capacity(text.len());
    for c in text.chars() {
        if !is_unprintable(c) || c == '\n' {
            printable.push(c);
            continue;
        }
        // Units of UTF-16, as in JSON.
        for unit in c.encode_utf16(&mut [0; 2]) {
            // Writing to a string cannot fail.
            let _ = write!(printable, "\\u{unit:04x}");
        }
    }
    printable
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invisible_characters_are_escaped_and_joiners_pass() {
        let hidden = "\u{ad}\u{200b}\u{2066}\u{feff}\u{e0001}\
                      \u{e0061}\u{e007f}\u{202e}\u{7}";
        for c in hidden.chars() {
            assert!(is_unprintable(c), "U+{:04X}", u32::from(c));
        }
        for c in "a\u{e9}\u{200c}\u{200d}\u{fe0f}\u{e0100}\u{1f600}\u{3042}\u{5d0}".chars() {
            assert!(!is_unprintable(c), "U+{:04X}", u32::from(c));
        }
        assert_eq!(
            printable("a\u{e0041}b\u{ad}\n"),
            "a\\udb40\\udc41b\\u00ad\n"
        );
    }
}
