//! Times for people: how long ago, and in how long.

use crate::{model::Timestamp, words::Rough};

/// How long `then` is before `now`.
pub fn ago(then: Timestamp, now: Timestamp) -> String {
    let passed = now.since(then);
    if passed.as_secs() == 0 {
        "just now".to_owned()
    } else {
        format!("{} ago", Rough(passed))
    }
}

/// How long `then` is after `now`.
pub fn ahead(then: Timestamp, now: Timestamp) -> String {
    let left = then.since(now);
    if left.as_secs() == 0 {
        "at any moment".to_owned()
    } else {
        format!("in {}", Rough(left))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_went_back_does_not_confuse() {
        let (early, late) = (Timestamp::from_millis(0), Timestamp::from_millis(90_000));
        assert_eq!(
            (ago(early, late).as_str(), ago(late, early).as_str()),
            ("1 min ago", "just now")
        );
        assert_eq!(
            (ahead(late, early).as_str(), ahead(early, late).as_str()),
            ("in 1 min", "at any moment")
        );
    }
}
