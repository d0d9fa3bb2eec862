//! Safe display of untrusted text.

use std::fmt::Write as _;

/// Returns true for characters that a terminal interprets, and for invisible ones, which could make
/// one name look like another: Unicode's `Default_Ignorable_Code_Point`, line separators and
/// annotations. Joiners and variation selectors pass: many scripts and emoji need them.
pub(crate) fn is_unprintable(c: char) -> bool {
    c.is_control()
        || matches!(
            u32::from(c),
            0xad
                | 0x34f
                | 0x61c
                | 0x115f..=0x1160
                | 0x17b4..=0x17b5
                | 0x180e
                | 0x200b
                | 0x200e..=0x200f
                | 0x2028..=0x202e
                | 0x2060..=0x206f
                | 0x3164
                | 0xfeff
                | 0xffa0
                | 0xfff0..=0xfffb
                | 0x1bca0..=0x1bca3
                | 0x1d173..=0x1d17a
                | 0xe0000..=0xe00ff
                | 0xe01f0..=0xe0fff
        )
}

/// Escapes unprintable characters, except line feeds, for a terminal. All messages and log lines,
/// and the status page, pass through here. The table of `once` replaces such characters; JSON and
/// metrics have escapes of their formats.
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

/// Breaks a line that the log of a CI system would take for a command: `##` anywhere, and `::` at
/// its start.
pub(crate) fn inert(line: &str) -> String {
    let line = line.replace("##", "#\u{fffd}");
    match line.trim_start().strip_prefix("::") {
        Some(rest) => format!(":\u{fffd}{rest}"),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_is_a_command_for_a_forge() {
        for (line, shown) in [
            ("  ::error::x", ":\u{fffd}error::x"),
            ("a::b # c", "a::b # c"),
            (
                "de of ##vso[task.complete]",
                "de of #\u{fffd}vso[task.complete]",
            ),
            ("##teamcity[a]", "#\u{fffd}teamcity[a]"),
        ] {
            assert_eq!(inert(line), shown);
        }
    }

    #[test]
    fn invisible_characters_are_escaped_and_joiners_pass() {
        let hidden = "\u{ad}\u{180e}\u{200b}\u{2066}\u{3164}\u{feff}\u{1d173}\u{e0001}\
                      \u{e0061}\u{e007f}\u{e0080}\u{202e}\u{7}";
        for c in hidden.chars() {
            assert!(is_unprintable(c), "U+{:04X}", u32::from(c));
        }
        for c in "a\u{e9}\u{180b}\u{200c}\u{200d}\u{fe0f}\u{e0100}\u{1f600}\u{3042}\u{5d0}".chars()
        {
            assert!(!is_unprintable(c), "U+{:04X}", u32::from(c));
        }
        assert_eq!(
            printable("a\u{e0041}b\u{ad}\n"),
            "a\\udb40\\udc41b\\u00ad\n"
        );
    }
}
