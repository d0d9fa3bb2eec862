//! Safe display of untrusted text, and hints for messages.

use rustix::io::Errno;
use std::fmt::Write as _;

/// Returns true for characters that a terminal interprets, and for invisible ones, which could make
/// one name look like another. Joiners and variation selectors pass: many scripts and emoji need
/// them.
pub(crate) fn is_unprintable(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{ad}'
                | '\u{34f}'
                | '\u{61c}'
                | '\u{115f}'..='\u{1160}'
                | '\u{17b4}'..='\u{17b5}'
                | '\u{180e}'
                | '\u{200b}'
                | '\u{200e}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{2800}'
                | '\u{3164}'
                | '\u{feff}'
                | '\u{ffa0}'
                | '\u{fff0}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

/// Escapes unprintable characters, except line feeds, for a terminal. All messages and log lines
/// pass through here. The table of `once` replaces such characters; JSON and metrics have escapes
/// of their formats.
pub(crate) fn printable(text: &str) -> String {
    let mut printable = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(|c| is_unprintable(c) && c != '\n') {
        printable.push_str(&rest[..at]);
        let mut chars = rest[at..].chars();
        if let Some(c) = chars.next() {
            // Writing to a string cannot fail.
            let _ = write!(printable, "\\u{:04x}", u32::from(c));
        }
        rest = chars.as_str();
    }
    printable.push_str(rest);
    printable
}

/// Returns the candidate that is most similar to `typed`, if one is similar enough for a
/// suggestion.
pub(crate) fn nearest<T: AsRef<str>>(
    typed: &str,
    candidates: impl IntoIterator<Item = T>,
) -> Option<T> {
    let typed = normal(typed);
    let (mut nearest, mut likeness) = (None, 0.8);
    for candidate in candidates {
        let this = strsim::jaro_winkler(&typed, &normal(candidate.as_ref()));
        if this >= likeness {
            (nearest, likeness) = (Some(candidate), this);
        }
    }
    nearest
}

/// Normalizes a name: `base-url`, `baseUrl` and `base_url` become equal.
fn normal(name: &str) -> String {
    name.replace(['_', '-', '.'], "").to_lowercase()
}

/// Returns a hint for an error with a cause in the system, independent of the failed operation.
pub(crate) fn os_hint(error: &std::io::Error) -> Option<&'static str> {
    match Errno::from_io_error(error)? {
        Errno::MFILE | Errno::NFILE => {
            Some("raise the limit on open files (ulimit -n, or LimitNOFILE= of systemd)")
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_many_open_files_have_a_hint() {
        let hint = |number| os_hint(&std::io::Error::from_raw_os_error(number));
        assert!(
            hint(24).is_some_and(|hint| hint.contains("ulimit -n")),
            "EMFILE"
        );
        assert!(hint(23).is_some(), "ENFILE");
        assert_eq!(hint(2), None, "ENOENT");
    }

    #[test]
    fn invisible_characters_are_escaped_and_joiners_pass() {
        let hidden = "\u{ad}\u{34f}\u{115f}\u{1160}\u{3164}\u{ffa0}\u{180e}\u{2800}\u{e0001}\
                      \u{e0061}\u{e007f}\u{202e}\u{7}";
        for c in hidden.chars() {
            assert!(is_unprintable(c), "U+{:04X}", u32::from(c));
        }
        for c in "a\u{e9}\u{200c}\u{200d}\u{fe0f}\u{e0100}\u{1f600}\u{3042}\u{5d0}".chars() {
            assert!(!is_unprintable(c), "U+{:04X}", u32::from(c));
        }
        assert_eq!(printable("a\u{e0041}b\u{ad}\n"), "a\\ue0041b\\u00ad\n");
    }

    #[test]
    fn the_nearest_name_is_found_across_spellings() {
        let names = ["base_url", "page_size", "timeout"];
        assert_eq!(nearest("baseUrl", names), Some("base_url"));
        assert_eq!(nearest("page-sise", names), Some("page_size"));
        assert_eq!(nearest("token", ["key"]), None);
    }
}
