//! Variables and flags: what is refused, and how it is told.

use super::{GOOD, HEAD, refused};

#[test]
fn an_unknown_variable_is_told_with_the_nearest_name() {
    refused(
        Some(GOOD),
        &[("TRANSLATION_EXPORTER_API__BASE_UR", "x")],
        &[],
        "TRANSLATION_EXPORTER_API__BASE_UR: unknown variable; did you mean TRANSLATION_EXPORTER_API__BASE_URL?",
    );
    refused(
        Some(GOOD),
        &[("TRANSLATION_EXPORTER_API__KEE", "s3cret")],
        &[],
        "TRANSLATION_EXPORTER_API__KEE: unknown variable; did you mean TRANSLATION_EXPORTER_API__KEY?",
    );
    refused(
        Some(GOOD),
        &[("TRANSLATION_EXPORTER_APPI__KEY", "s3cret")],
        &[],
        "TRANSLATION_EXPORTER_APPI__KEY: unknown variable; did you mean TRANSLATION_EXPORTER_API__KEY?",
    );
    refused(
        Some(GOOD),
        &[("TRANSLATION_EXPORTER_API__KEY__FILE", "s3cret")],
        &[],
        "TRANSLATION_EXPORTER_API__KEY__FILE: unknown variable; did you mean TRANSLATION_EXPORTER_API__KEY_FILE?",
    );
    refused(
        Some(GOOD),
        &[("TRANSLATION_EXPORTER_CONFIG__FILE", "x")],
        &[],
        "TRANSLATION_EXPORTER_CONFIG__FILE: unknown variable; the configuration file is given by --config.file alone",
    );
    refused(
        Some(GOOD),
        &[("TRANSLATION_EXPORTER_QQQ__ZZZ", "x")],
        &[],
        "TRANSLATION_EXPORTER_QQQ__ZZZ: unknown variable; write TRANSLATION_EXPORTER_<SECTION>__<KEY>; the sections are api, poll, filter, state, web, log",
    );
}

#[test]
fn one_underscore_in_the_place_of_two_is_told() {
    refused(
        Some(GOOD),
        &[("TRANSLATION_EXPORTER_API_BASE_URL", "x")],
        &[],
        "TRANSLATION_EXPORTER_API_BASE_URL: two underscores part section and key; write TRANSLATION_EXPORTER_API__BASE_URL",
    );
    refused(
        Some(HEAD),
        &[("TRANSLATION_EXPORTER_API_KEY", "s3cret")],
        &[],
        "TRANSLATION_EXPORTER_API_KEY: two underscores part section and key; write TRANSLATION_EXPORTER_API__KEY",
    );
    refused(
        Some(GOOD),
        &[("TRANSLATION_EXPORTER_STATE_FILE", "x")],
        &[],
        "TRANSLATION_EXPORTER_STATE_FILE: two underscores part section and key; write TRANSLATION_EXPORTER_STATE__FILE",
    );
}

#[test]
fn a_mistake_in_a_variable_or_flag_names_it() {
    refused(
        Some(HEAD),
        &[("TRANSLATION_EXPORTER_API__KEY", "s3cret s3cret")],
        &[],
        "api.key (TRANSLATION_EXPORTER_API__KEY): holds a character that cannot be sent in a header (a line break, a blank, or one that is not printable ASCII); give the API key, and nothing else",
    );
    refused(
        Some(HEAD),
        &[("TRANSLATION_EXPORTER_API__KEY", "")],
        &[],
        "api.key (TRANSLATION_EXPORTER_API__KEY): is empty; give the API key, and nothing else",
    );
    refused(
        Some(GOOD),
        &[("TRANSLATION_EXPORTER_API__PAGE_SIZE", "1001")],
        &[],
        "api.page_size (TRANSLATION_EXPORTER_API__PAGE_SIZE): 1001 is out of bounds; give a whole number from 1 to 1000",
    );
    refused(
        Some(GOOD),
        &[("TRANSLATION_EXPORTER_POLL__INTERVAL", "5 parsecs")],
        &[],
        r#"poll.interval (TRANSLATION_EXPORTER_POLL__INTERVAL): "5 parsecs" is no duration; give at least 1s with its unit, such as 30s, 5m or 1h 30m"#,
    );
    refused(
        Some(GOOD),
        &[("TRANSLATION_EXPORTER_FILTER__INCLUDE", "{acme,other}/*,[")],
        &[],
        r#"filter.include (TRANSLATION_EXPORTER_FILTER__INCLUDE): the glob "[" does not parse: unclosed character class; missing ']'; give a list of globs on owner/repo, such as ["acme/*"]"#,
    );
    refused(
        Some(GOOD),
        &[("TRANSLATION_EXPORTER_WEB__LISTEN_ADDRESSES", ":1,2")],
        &[],
        r#"web.listen_addresses (TRANSLATION_EXPORTER_WEB__LISTEN_ADDRESSES): "2" has no port; write ":2""#,
    );
    refused(
        Some(GOOD),
        &[],
        &["--poll.interval=5"],
        r#"poll.interval (--poll.interval): "5" has no unit; give at least 1s with its unit, such as 30s, 5m or 1h 30m"#,
    );
    refused(
        Some(GOOD),
        &[],
        &["--api.base-url=ftp://x"],
        "api.base_url (--api.base-url): is neither an https nor an http URL; give the root of the API, such as https://api.example.com",
    );
    refused(
        Some(GOOD),
        &[],
        &["--web.listen-address=:1", "--web.listen-address=:1"],
        r#"web.listen_addresses (--web.listen-address): ":1" is given twice; remove one of the two"#,
    );
    refused(
        Some(GOOD),
        &[],
        &["--web.enable-lifecycle=maybe"],
        r#"web.enable_lifecycle (--web.enable-lifecycle): "maybe" is neither true nor false; write true or false"#,
    );
    refused(
        Some(GOOD),
        &[],
        &["--log.level=loud"],
        r#"log.level (--log.level): "loud" is no level; write error, warn, info, debug or trace"#,
    );
    refused(
        Some(GOOD),
        &[],
        &["--web.telemetry-path=x"],
        r#"web.telemetry_path (--web.telemetry-path): "x" does not begin with a slash; give a path such as /metrics: a slash, then letters, digits and -._~/, and none of the exporter's other paths"#,
    );
    refused(
        Some(GOOD),
        &[("TRANSLATION_EXPORTER_API__KEY_FILE", "key")],
        &[],
        "api.key (exporter.yml:3) and api.key_file (TRANSLATION_EXPORTER_API__KEY_FILE): only one of them may be given; remove one of the two",
    );
    refused(
        Some(GOOD),
        &[],
        &["--api.key-file=key"],
        "api.key (exporter.yml:3) and api.key_file (--api.key-file): only one of them may be given; remove one of the two",
    );
    refused(
        Some(GOOD),
        &[("TRANSLATION_EXPORTER_POLL__STALE_AFTER", "1m")],
        &["--poll.interval=1h"],
        "poll.stale_after (TRANSLATION_EXPORTER_POLL__STALE_AFTER): 1m is less than twice poll.interval, which is 1h (--poll.interval); give at least 2h, or shorten poll.interval",
    );
}

#[test]
fn a_configuration_file_that_cannot_be_read_is_refused() {
    refused(
        None,
        &[],
        &["--config.file=none.yml"],
        "--config.file: cannot read none.yml: No such file or directory (os error 2); give a YAML file that exists and can be read",
    );
    refused(
        None,
        &[],
        &["--config.file=."],
        "--config.file: cannot read .: Is a directory (os error 21); give a YAML file that exists and can be read",
    );
}

#[test]
fn every_mistake_is_told_at_once() {
    refused(
        None,
        &[],
        &[],
        "2 mistakes in the configuration:\n  api.base_url: is required and given nowhere; set it in the configuration file, as TRANSLATION_EXPORTER_API__BASE_URL or by --api.base-url\n  api.key, api.key_file: one of them is required, and neither is given; set api.key_file to the file that holds the API key, or TRANSLATION_EXPORTER_API__KEY to the key",
    );
    refused(
        None,
        &[
            ("TRANSLATION_EXPORTER_API__KEY", "s3cret s3cret"),
            ("TRANSLATION_EXPORTER_API__TIMEOUT", "1"),
            ("TRANSLATION_EXPORTER_LOG__LEVEL", "loud"),
        ],
        &["--poll.interval=1ms"],
        "5 mistakes in the configuration:\n  api.base_url: is required and given nowhere; set it in the configuration file, as TRANSLATION_EXPORTER_API__BASE_URL or by --api.base-url\n  api.key (TRANSLATION_EXPORTER_API__KEY): holds a character that cannot be sent in a header (a line break, a blank, or one that is not printable ASCII); give the API key, and nothing else\n  api.timeout (TRANSLATION_EXPORTER_API__TIMEOUT): \"1\" has no unit; give at least 1ms with its unit, such as 30s, 5m or 1h 30m\n  poll.interval (--poll.interval): \"1ms\" is too short; give at least 1s with its unit, such as 30s, 5m or 1h 30m\n  log.level (TRANSLATION_EXPORTER_LOG__LEVEL): \"loud\" is no level; write error, warn, info, debug or trace",
    );
}
