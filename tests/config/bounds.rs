//! Values at the bounds of each key, and beyond.

use super::{GOOD, load};
use humantime::{format_duration, parse_duration};
use std::{fmt::Display, time::Duration};
use translation_exporter::config::{KEYS, Key, TARGET_KEYS, Takes};

fn texts(values: &[&dyn Display]) -> Vec<String> {
    values.iter().map(ToString::to_string).collect()
}

/// Returns values at the bounds of a key, and values just outside of them or of another type.
fn sides(takes: &Takes) -> [Vec<String>; 2] {
    match takes {
        Takes::Whole(bounds) => [
            texts(&[bounds.start(), bounds.end()]),
            texts(&[&(bounds.start() - 1), &(bounds.end() + 1), &"1.5", &"many"]),
        ],
        Takes::Number(bounds, _) => [
            texts(&[bounds.start(), bounds.end()]),
            texts(&[
                &(bounds.start() - 1e-9),
                &(bounds.end() * 2.0),
                &"-1",
                &"inf",
                &"nan",
            ]),
        ],
        Takes::Time(least, most) => {
            let [least, most] = [least, most].map(|bound| parse_duration(bound).unwrap());
            let nanosecond = Duration::from_nanos(1);
            let below = format_duration(least.saturating_sub(nanosecond));
            let above = format_duration(most + nanosecond);
            [
                texts(&[&format_duration(least), &format_duration(most)]),
                texts(&[&below, &above, &"90"]),
            ]
        }
        Takes::Size(least) => [
            texts(&[least, &format_args!("{least}B"), &"16MiB"]),
            texts(&[&(least - 1), &"16", &"16MuB"]),
        ],
        Takes::Switch => [
            texts(&[&"true", &"FALSE", &"yes", &"no", &"on", &"off", &1, &0]),
            texts(&[&2, &"maybe"]),
        ],
        Takes::Choice(words) => [
            words.iter().map(ToString::to_string).collect(),
            texts(&[&"x"]),
        ],
        _ => [vec![], vec![]],
    }
}

/// Loads a good configuration with one more value.
fn with_value(key: &Key, value: &str) -> Result<String, String> {
    let (section, name) = key.path.split_once('.').unwrap();
    if section == "targets" {
        return load(
            Some(&format!("{GOOD}targets:\n  - {name}: \"{value}\"\n")),
            &[],
            &[],
        );
    }
    let mut environment = vec![(key.variable(), value)];
    if key.path == "poll.stale_after" {
        environment.push(("TRANSLATION_EXPORTER_POLL__INTERVAL".to_owned(), "1s"));
    }
    let environment: Vec<_> = environment
        .iter()
        .map(|(name, value)| (name.as_str(), *value))
        .collect();
    load(Some(GOOD), &environment, &[])
}

#[test]
fn each_bound_of_each_key_is_accepted_and_no_value_beyond_it() {
    let mut tried = 0;
    for key in KEYS.iter().chain(TARGET_KEYS) {
        let [inside, outside] = sides(&key.takes);
        tried += inside.len() + outside.len();
        for value in inside {
            let loaded = with_value(key, &value);
            assert!(loaded.is_ok(), "{} {value}: {loaded:?}", key.path);
        }
        for value in outside {
            let message = with_value(key, &value).expect_err(&format!("{} {value}", key.path));
            let expected = format!("; give {}", key.takes.expected());
            assert!(
                message.starts_with(&format!("{} (", key.path)) && message.ends_with(&expected),
                "{value}: {message}"
            );
        }
    }
    assert!(tried > 100, "{tried}");
}
