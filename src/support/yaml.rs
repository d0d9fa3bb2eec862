//! Explains malformed YAML without a word of it: it may hold secrets.

use serde_saphyr::Error;

/// Returns the problem with the YAML of `text` and the remedy.
pub(crate) fn explain(text: &str, error: &Error) -> (String, &'static str) {
    let (what, hint) = match error.without_snippet() {
        Error::DuplicateMappingKey { .. } => (
            "a name appears twice in one mapping",
            "remove one of the two",
        ),
        Error::MultipleDocuments { .. } => ("a second document begins here", "keep one document"),
        Error::UnknownAnchor { .. } => (
            "an alias has no anchor",
            "put the value in quotes if it begins with an asterisk",
        ),
        Error::NonFiniteFloat { .. } => ("a number is not finite", "give a finite one"),
        _ => {
            if let Some(line) = line_with_tab(text, line(error)) {
                let what = format!("is not valid YAML: line {line} begins with a tab");
                return (what, "indent it with blanks");
            }
            (
                "something is malformed",
                "look at this line and the one before it: indentation, a missing colon, quote or \
                 bracket",
            )
        }
    };
    (format!("is not valid YAML: {what}"), hint)
}

/// Returns the line of an error.
pub(crate) fn line(error: &Error) -> u64 {
    error.location().map_or(1, |location| location.line())
}

/// Returns the line nearest to an error that is indented with a tab: the parser notices a tab one
/// line early or late.
fn line_with_tab(text: &str, error: u64) -> Option<u64> {
    let has_tab = |line: &str| line.trim_start_matches(' ').starts_with('\t');
    let lines = (1_u64..).zip(text.lines());
    let mut tabs = lines
        .filter(|(_, line)| has_tab(line))
        .map(|(number, _)| number);
    tabs.find(|line| line.abs_diff(error) <= 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tab_is_named_with_its_line() {
        let explained = |text| {
            let error = serde_saphyr::from_str::<serde_json::Value>(text).unwrap_err();
            explain(text, &error).0
        };
        for (text, line) in [
            ("api:\n  a: 1\n\tb: 2\n", 3),
            ("api:\n  a: 1\n\tkey: x\n", 3),
            ("api:\n  a: 1\n  \tkey: x\n", 3),
        ] {
            let expected = format!("is not valid YAML: line {line} begins with a tab");
            assert_eq!(explained(text), expected, "{text:?}");
        }
        let other = "is not valid YAML: something is malformed";
        assert_eq!(explained("a: b: c\n\n\tx: 1\n"), other);
    }
}
