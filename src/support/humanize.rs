//! Numbers and durations as people read them.

use std::time::Duration;

/// The number of repositories or translations that a sentence names.
pub(crate) const SOME: usize = 3;

/// Formats a duration in its largest unit, rounded down: `42 s`, `3 min`, `2 h`, `5 days`.
pub(crate) fn rough(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds / 60),
        3600..86_400 => format!("{} h", seconds / 3600),
        86_400..172_800 => "1 day".to_owned(),
        _ => format!("{} days", seconds / 86_400),
    }
}

/// Formats a count of repositories: `1 repository`, `1,234 repositories`.
pub(crate) fn repositories(count: usize) -> String {
    counted(count, "repository", "repositories")
}

/// Formats a count with thousands separators and its noun, singular or plural.
pub(crate) fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{} {}", grouped(count), if count == 1 { one } else { many })
}

/// Formats a number with thousands separators.
pub(crate) fn grouped(number: usize) -> String {
    match (number / 1000, number % 1000) {
        (0, rest) => rest.to_string(),
        (thousands, rest) => format!("{},{rest:03}", grouped(thousands)),
    }
}

/// Joins the first names and counts the others; `None` without any.
pub(crate) fn named(names: impl IntoIterator<Item: ToString>, most: usize) -> Option<String> {
    let mut names = names.into_iter();
    let first = names.by_ref().take(most);
    let mut sentence: Vec<_> = first.map(|name| name.to_string()).collect();
    sentence.extend(more(names.count()));
    (!sentence.is_empty()).then(|| sentence.join(", "))
}

/// Counts the items left out of a list; `None` without any.
pub(crate) fn more(count: usize) -> Option<String> {
    (count > 0).then(|| format!("and {} more", grouped(count)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_shown_in_their_largest_unit() {
        for (seconds, expected) in [
            (0, "0 s"),
            (59, "59 s"),
            (60, "1 min"),
            (3599, "59 min"),
            (3600, "1 h"),
            (86_399, "23 h"),
            (86_400, "1 day"),
            (31_536_000, "365 days"),
        ] {
            assert_eq!(rough(Duration::from_secs(seconds)), expected);
        }
    }
}
