//! Values outside their bounds or of the wrong type: what is refused, and what the message says.

use super::{GOOD, load, refused_values};
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
            let [least, most] = [least, most].map(|bound| match *bound {
                "twice poll.interval" => Duration::from_secs(2),
                bound => parse_duration(bound).unwrap(),
            });
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
        Takes::Text(_) | Takes::List(..) | Takes::File | Takes::Secret => [vec![], vec![]],
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
            let expected = match (key.path, &*value) {
                ("poll.stale_after", "1s 999ms 999us 999ns") => {
                    "; give at least 2s, or shorten poll.interval".to_owned()
                }
                _ => format!("; give {}", key.takes.expected()),
            };
            assert!(
                message.starts_with(&format!("{} (", key.path)) && message.ends_with(&expected),
                "{value}: {message}"
            );
        }
    }
    assert!(tried > 100, "{tried}");
}

#[test]
fn a_value_is_refused_with_the_remedy_for_its_mistake() {
    refused_values(&[
        (
            "api.timeout",
            &["30"],
            "with its unit, such as 90m or 1h 30m",
        ),
        (
            "api.timeout",
            &["30s\n    and more than a duration"],
            "a text of 28 characters",
        ),
        // A month.
        (
            "poll.interval",
            &["5M"],
            "is \"5M\", in months: write a lowercase m for minutes; give a time from 1s",
        ),
        (
            "poll.interval",
            &["16MB"],
            "is \"16MB\"; give a time from 1s",
        ),
        ("poll.interval", &["''"], "1s…with its unit…\"{}\""),
        (
            "poll.stale_after",
            &["9m"],
            "is 9m, less than twice poll.interval, which is 5m (default)…at least 10m",
        ),
        (
            "thresholds.regressed_by",
            &["20"],
            "is 20, a percentage and not a ratio: write 0.2; give a ratio above 0, at most 1",
        ),
        (
            "api.max_response_size",
            &["16"],
            "is \"16\"; give a size of at least 1024B, such as 512KiB or 16MiB",
        ),
    ]);
    for value in [".inf", ".nan"] {
        let file = format!("{GOOD}  completion_scale: {value}\n");
        let expected = "exporter.yml:4: is not valid YAML: a number is not finite; give a finite";
        super::refused(Some(&file), &[], &[], expected);
    }
}

#[test]
fn a_filter_that_is_not_a_list_of_globs_is_refused() {
    refused_values(&[
        (
            "filter.include",
            &["['acme/[']"],
            "item 1 (\"acme/[\") is no glob: …missing ']'…such as acme/*,",
        ),
        (
            "filter.exclude",
            &["[acme/*, '{a/b']"],
            "item 2 (\"{a/b\") is no glob: …missing '}'…such as acme/*,",
        ),
        (
            "filter.exclude",
            &["[acme]", "acme"],
            "item 1 (\"acme\") matches no owner/repo: write \"*/acme\" for a repository, \
             \"acme/*\" for all of an owner",
        ),
        (
            "filter.exclude",
            &["[a/b, translations]"],
            "item 2 (a text of 12 characters) matches no owner/repo: write \"*/NAME\" for a \
             repository",
        ),
        (
            "filter.include",
            &["'\"acme/*\"'", "\"'acme/*'\""],
            "quote…such as acme/*",
        ),
        (
            "filter.include",
            &["[~]"],
            "item 1 is empty…such as acme/*,",
        ),
        (
            "filter.include",
            &["[a/*, ' ']"],
            "item 2 is empty…such as acme/*,",
        ),
    ]);
}

#[test]
fn an_address_that_cannot_be_listened_on_is_refused() {
    refused_values(&[
        (
            "web.listen_addresses",
            &["[]", "''"],
            "is empty; give host:port, such as :10018",
        ),
        (
            "web.listen_addresses",
            &["['10018']"],
            "item 1 (\"10018\") is not host:port; give host:port, such as :10018 or",
        ),
        (
            "web.listen_addresses",
            &["[':1', 'localhost']"],
            "item 2 (a text of 9 characters) is not host:port",
        ),
        (
            "web.listen_addresses",
            &["['::1:80']"],
            "(\"::1:80\") has an IPv6 address without brackets; …,[::1]:10018",
        ),
        (
            "web.listen_addresses",
            &["[':65536']", "['x:http']", "['x:']"],
            "has a port that is not a number from 0 to 65535; give",
        ),
        (
            "web.listen_addresses",
            &["['http://x:1']", "['*:1']", "['%31:1']", "['[x]:1']"],
            "has a host that is neither a name nor an IP address; give",
        ),
    ]);
}

#[test]
fn a_path_that_cannot_be_served_is_refused() {
    for (values, problem) in [
        (&["metrics", "''"][..], "does not begin with a slash"),
        (&["//a", "//"], "begins with two slashes"),
        (
            &["/./a", "/a/..", "/.", "/a/../b"],
            "has a part . or .., which clients resolve",
        ),
        (
            &["'/a?b'", "'/a#b'", "'/{a}'", "'/a b'", "/ä"],
            "contains a character other than letters, digits and -._~/",
        ),
        (&["/", "/-/ready"], "is a path of the exporter itself"),
    ] {
        let words = format!("is \"{{}}\", which {problem}; give a path such as /metrics");
        refused_values(&[("web.telemetry_path", values, &words)]);
    }
    refused_values(&[(
        "web.telemetry_path",
        &["/translations.json"],
        "is a text of 18 characters, which is a path of the exporter itself",
    )]);
}

#[test]
fn a_link_that_is_no_url_template_is_refused_with_its_placeholders() {
    let of_repository = "…the placeholders are {id}, {repo}, {owner} and {name}";
    let of_language = "…the placeholders are {id}, {repo}, {owner}, {name} and {language}";
    let start = "https://t.example.com/";
    for (value, words) in [
        (
            "ftp://t.example.com/{id}",
            "does not begin with https:// or http://",
        ),
        (
            "t.example.com/{id}",
            "does not begin with https:// or http://",
        ),
        (
            &*format!("{start}{{lang}}"),
            "contains the unknown placeholder {lang}",
        ),
        (
            &*format!("{start}{{s3cret0}}"),
            "contains an unknown placeholder; give",
        ),
        (&*format!("{start}{{id"), "an unmatched brace"),
        (
            &*format!("{start}a b"),
            "a space, a quote or another character",
        ),
        ("https://me:s3cret@t.example.com/", "a user or a password"),
        ("https://", "is not a URL: empty host"),
    ] {
        let written = format!("'{value}'");
        let repository = format!("{words}{of_repository}");
        let language = format!("{words}{of_language}");
        refused_values(&[
            ("links.repository", &[&written], &repository),
            ("links.language", &[&written], &language),
        ]);
    }
    refused_values(&[
        (
            "links.repository",
            &["'https://t.example.com/{language}'"],
            "contains the unknown placeholder {language}…{id}, {repo}, {owner} and {name}",
        ),
        ("links.language", &["[a]"], "an https or http URL…is a list"),
    ]);
}

#[test]
fn a_word_that_is_not_one_of_those_allowed_is_refused() {
    refused_values(&[
        ("api.allow_http", &["maybe", "2"], "true or false…\"{}\""),
        ("filter.private", &["perhaps"], "true or false…\"{}\""),
        ("web.enable_lifecycle", &["maybe"], "true or false…\"{}\""),
        (
            "log.level",
            &["loud"],
            "\"{}\"; give one of error, warn, info, debug, trace",
        ),
        ("log.format", &["text"], "\"{}\"; give one of logfmt, json"),
    ]);
}

#[test]
fn a_list_or_mapping_in_place_of_one_value_and_the_reverse_are_refused() {
    refused_values(&[
        (
            "api.page_size",
            &["[1]"],
            "whole number from 1 to 1000…is a list",
        ),
        ("api.ca_file", &["[a]"], "path of a file…a list"),
        ("web.config_file", &["{a: b}"], "path of a file…a mapping"),
        (
            "filter.include",
            &["{acme: x}"],
            "is a mapping; give globs on owner/repo, such as",
        ),
    ]);
}

/// YAML reads `010` as 10, `1.10` as 1.1 and `no` as false, which is not what was written.
#[test]
fn a_bare_number_or_boolean_in_place_of_text_must_be_quoted() {
    refused_values(&[
        (
            "state.file",
            &["010", "1.10"],
            "path of a file…is not text in quotes",
        ),
        (
            "web.config_file",
            &["no"],
            "path of a file…is not text in quotes",
        ),
        ("web.telemetry_path", &["1"], "is not text in quotes"),
        (
            "web.listen_addresses",
            &["10018", "[10018]"],
            "is not text in quotes; give host:port, such as",
        ),
        (
            "filter.include",
            &["[1]"],
            "item 1 is not text in quotes; give globs",
        ),
        (
            "log.level",
            &["3"],
            "is not text in quotes; give one of error, warn",
        ),
    ]);
}
