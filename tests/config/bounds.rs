//! Values at the bounds of each key, and beyond.

use super::{GOOD, load};
use translation_exporter::{config::keys, domain::targets::TargetEntry};

/// Keys with bounds, values at and within them, and values just outside of them or of another type.
const BOUNDS: &[(&str, &[&str], &[&str])] = &[
    ("api.allow_http", SWITCH, &["2", "maybe"]),
    (
        "api.page_size",
        &["1", "1000"],
        &["0", "1001", "1.5", "many"],
    ),
    ("api.concurrency", &["1", "1024"], &["0", "1025", "-1"]),
    (
        "api.requests_per_second",
        &["0", "0.1", "1000000"],
        &["-1e-9", "1000001", "inf", "nan"],
    ),
    (
        "api.timeout",
        &["1ms", "100 years"],
        &["999us", "0s", "100years 1ms", "90"],
    ),
    ("api.omits_zeros", SWITCH, &["2"]),
    (
        "api.completion_scale",
        &["1", "1e9"],
        &["0.999", "inf", "nan", "-1"],
    ),
    (
        "poll.interval",
        &["1s", "25years"],
        &["999ms", "25years 1ms", "5M", "5"],
    ),
    (
        "poll.stale_after",
        &["2s", "100years"],
        &["1999ms", "100years 1ms"],
    ),
    ("filter.private", SWITCH, &["x"]),
    (
        "thresholds.stalled_after",
        &["1h", "100years"],
        &["59m 59s", "100years 1ms"],
    ),
    (
        "thresholds.regressed_by",
        &["0.01", "1"],
        &["0", "-1e-9", "1.1", "nan"],
    ),
    (
        "thresholds.at_risk_within",
        &["1h", "100years"],
        &["59m 59s", "100years 1ms"],
    ),
    (
        "log.level",
        &["error", "warn", "INFO", "debug", "trace"],
        &["x"],
    ),
    ("log.format", &["logfmt", "json"], &["x"]),
    ("targets.ratio", &["0", "1"], &["-1e-9", "1.1", "nan"]),
    (
        "targets.stalled_after",
        &["1h", "100years"],
        &["59m 59s", "100years 1ms"],
    ),
];

const SWITCH: &[&str] = &["true", "FALSE"];

/// Loads a good configuration with one more value.
fn with_value(path: &str, value: &str) -> Result<String, String> {
    let (section, name) = path.split_once('.').unwrap();
    if section == "targets" {
        let file = format!("{GOOD}targets:\n  - {name}: \"{value}\"\n");
        return load(Some(&file), &[], &[]);
    }
    let key = keys().find(|key| key.path == path).unwrap();
    // The rule between two keys allows all values of `poll.stale_after` beside the least interval.
    let file = format!("{GOOD}poll:\n  interval: 1s\n");
    load(Some(&file), &[(&key.variable(), value)], &[])
}

#[test]
fn each_bound_of_each_key_is_accepted_and_no_value_beyond_it() {
    for (path, inside, outside) in BOUNDS {
        for value in *inside {
            let loaded = with_value(path, value);
            assert!(loaded.is_ok(), "{path} {value}: {loaded:?}");
        }
        for value in *outside {
            let message = with_value(path, value).expect_err(&format!("{path} {value}"));
            assert!(
                message.starts_with(&format!("{path} (")) && message.contains("; give "),
                "{value}: {message}"
            );
        }
    }
}

#[test]
fn each_key_with_bounds_is_tried() {
    let without = [
        "base_url",
        "key",
        "key_file",
        "ca_file",
        "include",
        "exclude",
        "exclude_languages",
        "repository",
        "language",
        "file",
        "listen_addresses",
        "telemetry_path",
        "config_file",
        "repositories",
        "languages",
        "due",
    ];
    for key in keys().chain(TargetEntry::KEYS) {
        let is_tried = BOUNDS.iter().any(|bounds| bounds.0 == key.path);
        let name = key.path.split_once('.').unwrap().1;
        assert_ne!(
            is_tried,
            without.contains(&name),
            "{}: add values at its bounds and beyond them to BOUNDS in tests/config/bounds.rs, or \
             add its name to the keys without bounds there",
            key.path
        );
    }
}
