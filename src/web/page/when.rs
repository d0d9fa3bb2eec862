//! Times for people: how long ago, and in how long.

use crate::model::Timestamp;
use maud::{Markup, html};
use std::{fmt, time::Duration};

/// A time in words, with the exact one behind it.
pub fn moment(at: Timestamp, words: &str) -> Markup {
    html! { time datetime=(at) title=(at) { (words) } }
}

/// A duration in its largest unit, rounded down: `42 s`, `3 min`, `2 h`, `5 d`.
pub struct Rough(pub Duration);

impl fmt::Display for Rough {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.as_secs();
        match seconds {
            0..60 => write!(f, "{seconds} s"),
            60..3600 => write!(f, "{} min", seconds / 60),
            3600..172_800 => write!(f, "{} h", seconds / 3600),
            _ => write!(f, "{} d", seconds / 86_400),
        }
    }
}

/// How long `then` is before `now`.
pub fn ago(then: Timestamp, now: Timestamp) -> String {
    let passed = now.since(then);
    if passed.as_secs() == 0 { "just now".to_owned() } else { format!("{} ago", Rough(passed)) }
}

/// How long `then` is after `now`.
pub fn ahead(then: Timestamp, now: Timestamp) -> String {
    let left = then.since(now);
    if left.as_secs() == 0 { "at any moment".to_owned() } else { format!("in {}", Rough(left)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_in_their_largest_unit() {
        for (seconds, expected) in [
            (0, "0 s"),
            (59, "59 s"),
            (60, "1 min"),
            (3599, "59 min"),
            (3600, "1 h"),
            (172_799, "47 h"),
            (172_800, "2 d"),
            (31_536_000, "365 d"),
        ] {
            assert_eq!(Rough(Duration::from_secs(seconds)).to_string(), expected);
        }
    }

    #[test]
    fn a_clock_that_went_back_does_not_confuse() {
        let (early, late) = (Timestamp::from_millis(0), Timestamp::from_millis(90_000));
        assert_eq!((ago(early, late).as_str(), ago(late, early).as_str()), ("1 min ago", "just now"));
        assert_eq!((ahead(late, early).as_str(), ahead(early, late).as_str()), ("in 1 min", "at any moment"));
    }
}
