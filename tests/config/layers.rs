//! Variables and options: what is refused, and what the message says.

use super::{GOOD, HEAD, accepted, check, refused, row, run};
use std::{ffi::OsStr, fs, os::unix::ffi::OsStrExt};
use translation_exporter::config::{self, Options};

#[test]
fn an_unknown_variable_is_shown_with_the_nearest_name() {
    for (name, hint) in [
        (
            "API__BASE_UR",
            "did you mean TRANSLATION_EXPORTER_API__BASE_URL?",
        ),
        ("API__KEE", "did you mean TRANSLATION_EXPORTER_API__KEY?"),
        ("APPI__KEY", "did you mean TRANSLATION_EXPORTER_API__KEY?"),
        (
            "API__KEY__FILE",
            "did you mean TRANSLATION_EXPORTER_API__KEY_FILE?",
        ),
        ("CONFIG__FILE", "only --config.file names"),
        (
            "QQQ__ZZZ",
            "write TRANSLATION_EXPORTER_<SECTION>__<KEY>; the sections are api, poll, filter, \
             thresholds, links, state, web, log",
        ),
    ] {
        let name = format!("TRANSLATION_EXPORTER_{name}");
        refused(
            Some(GOOD),
            &[(&name, "s3cret")],
            &[],
            &format!("{name}: unknown variable…{hint}"),
        );
    }
}

#[test]
fn one_underscore_in_place_of_two_is_pointed_out() {
    for (name, right) in [
        ("API_BASE_URL", "API__BASE_URL"),
        ("API_KEY", "API__KEY"),
        ("STATE_FILE", "STATE__FILE"),
    ] {
        let name = format!("TRANSLATION_EXPORTER_{name}");
        let expected =
            format!("{name}: unknown variable; did you mean TRANSLATION_EXPORTER_{right}?");
        refused(Some(GOOD), &[(&name, "s3cret")], &[], &expected);
    }
}

#[test]
fn a_variable_that_names_a_section_is_refused() {
    for name in ["WEB", "TARGETS"] {
        let name = format!("TRANSLATION_EXPORTER_{name}");
        let expected = format!(
            "{name}: unknown variable; write TRANSLATION_EXPORTER_<SECTION>__<KEY>; the sections \
             are api, …; targets can only be set in the file"
        );
        refused(Some(GOOD), &[(&name, "s3cret")], &[], &expected);
    }
}

#[test]
fn a_mistake_in_a_variable_names_it() {
    for (file, name, value, key, words) in [
        (
            HEAD,
            "API__KEY",
            "s3cret s3cret",
            "api.key",
            "header…set the API key, and nothing else",
        ),
        (GOOD, "API__PAGE_SIZE", "1001", "api.page_size", "1 to 1000"),
        (
            GOOD,
            "POLL__INTERVAL",
            "5 parsec",
            "poll.interval",
            "with its unit…\"5 parsec\"",
        ),
        (
            GOOD,
            "FILTER__INCLUDE",
            "{acme,other}/*,[",
            "filter.include",
            "item 2 (\"[\") is no glob: …such as…acme/*",
        ),
        (
            GOOD,
            "FILTER__INCLUDE",
            "[\"acme/*\"]",
            "filter.include",
            "item 1 (a text of 10 characters) contains a double quote; …such as acme/*,",
        ),
        (
            GOOD,
            "FILTER__EXCLUDE",
            "acme/* other/*",
            "filter.exclude",
            "item 1 (a text of 14 characters) contains a blank; …acme/*,",
        ),
        (
            GOOD,
            "FILTER__EXCLUDE_LANGUAGES",
            "[de]",
            "filter.exclude_languages",
            "\"[de]\"…brackets…en,pt-*",
        ),
        (
            GOOD,
            "WEB__LISTEN_ADDRESSES",
            ":1,2",
            "web.listen_addresses",
            "item 2 (\"2\") is not host:port; give…:10018",
        ),
    ] {
        let name = format!("TRANSLATION_EXPORTER_{name}");
        refused(
            Some(file),
            &[(&name, value)],
            &[],
            &format!("{key} ({name})…{words}"),
        );
    }
}

#[test]
fn a_variable_that_is_not_utf_8_is_refused() {
    let value = OsStr::from_bytes(b"/state\xff");
    let name = "TRANSLATION_EXPORTER_STATE__FILE";
    let environment = [(name.into(), value.into())];
    let message = config::load(&Options::default(), &environment, &mut |_, _| Ok(()))
        .unwrap_err()
        .to_string();
    let expected = "state.file (TRANSLATION_EXPORTER_STATE__FILE): is not UTF-8; write it in UTF-8";
    assert!(message.contains(expected), "{message}");
}

#[test]
fn a_file_that_is_not_utf_8_is_refused_with_the_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let utf_16 = GOOD.encode_utf16().flat_map(u16::to_le_bytes);
    let utf_16 = [0xff, 0xfe].into_iter().chain(utf_16).collect();
    for text in [utf_16, b"# f\xfcr\n".to_vec()] {
        fs::write(folder.path().join("exporter.yml"), text).unwrap();
        let options = Options {
            config_file: Some(folder.path().join("exporter.yml")),
            ..Options::default()
        };
        let message = config::load(&options, &[], &mut |_, _| Ok(()))
            .unwrap_err()
            .to_string();
        assert!(message.contains("--config.file: cannot read "), "{message}");
        assert!(
            message.ends_with("; give the path of a readable YAML file in UTF-8"),
            "{message}"
        );
    }
}

#[test]
fn a_proxy_of_another_scheme_than_http_or_https_is_refused() {
    for (proxy, code) in [
        ("ftp://proxy:3128", 2),
        ("socks5://proxy:1080", 2),
        ("proxy:3128", 0),
        ("HTTPS://proxy", 0),
    ] {
        let output = check(Some(GOOD), &[("HTTPS_PROXY", proxy)], &[]);
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{message}");
        let hint = "http://proxy.example.com:3128";
        assert!(code == 0 || message.contains("HTTPS_PROXY") && message.contains(hint));
    }
}

#[test]
fn a_mistake_in_an_option_names_it() {
    for (flags, expected) in [
        (
            &["--poll.interval=5"][..],
            "poll.interval (--poll.interval)…with its unit…\"5\"",
        ),
        (
            &["--api.base-url=ftp://x"],
            "api.base_url (--api.base-url)…begins with neither https:// nor http://",
        ),
        (
            &["--web.listen-address=:1", "--web.listen-address=2"],
            "web.listen_addresses (--web.listen-address)…item 2 (\"2\") is not host:port",
        ),
        (
            &["--web.enable-lifecycle=maybe"],
            "web.enable_lifecycle (--web.enable-lifecycle)…true or false…\"maybe\"",
        ),
        (
            &["--api.key-file=key"],
            "api.key (exporter.yml:3)…api.key_file (--api.key-file)…remove one of the two",
        ),
    ] {
        refused(Some(GOOD), &[], flags, expected);
    }
    refused(
        Some(GOOD),
        &[("TRANSLATION_EXPORTER_POLL__STALE_AFTER", "1m")],
        &["--poll.interval=1h"],
        "poll.stale_after (TRANSLATION_EXPORTER_POLL__STALE_AFTER)…is 1m, less than twice \
         poll.interval, which is 1h (--poll.interval)…2h",
    );
}

#[test]
fn an_empty_or_blank_variable_counts_as_not_set() {
    let file = format!("{GOOD}state:\n  file: /a.json\n");
    for key in [
        "API__KEY_FILE",
        "STATE__FILE",
        "POLL__INTERVAL",
        "WEB__LISTEN_ADDRESSES",
        "API_KEY",
        "API__KYE",
    ] {
        let name = format!("TRANSLATION_EXPORTER_{key}");
        for value in ["", " ", "\t\n"] {
            assert_eq!(
                accepted(Some(&file), &[(&name, value)], &[]),
                accepted(Some(&file), &[], &[]),
                "{key}"
            );
        }
    }
}

#[test]
fn an_empty_option_or_value_in_the_file_means_none() {
    let set = format!("{GOOD}state:\n  file: /a.json\n");
    let by_option = accepted(Some(&set), &[], &["--state.file="]);
    assert_eq!(row(&by_option, "state.file"), "- --state.file");
    let emptied =
        format!("{GOOD}  ca_file: ''\nfilter:\n  include: ''\npoll:\n  stale_after: ''\n");
    let by_file = accepted(Some(&emptied), &[], &[]);
    assert_eq!(row(&by_file, "api.ca_file"), "- exporter.yml:4");
    assert_eq!(row(&by_file, "filter.include"), "- exporter.yml:6");
    assert_eq!(row(&by_file, "poll.stale_after"), "1h default");
    // It removes what an earlier layer set.
    let key_file = "api:\n  base_url: https://api.example.com\n  key_file: ./none\n";
    accepted(
        Some(key_file),
        &[("TRANSLATION_EXPORTER_API__KEY", "1234567890")],
        &["--api.key-file="],
    );
}

#[test]
fn a_configuration_file_that_cannot_be_read_is_refused() {
    let hint = "give the path of a readable YAML file in UTF-8";
    for (file, error) in [
        ("/none.yml", "No such file or directory"),
        ("/", "Is a directory"),
    ] {
        let expected = format!("--config.file…{file}: {error}…{hint}");
        refused(None, &[], &[&format!("--config.file={file}")], &expected);
    }
}

#[test]
fn every_mistake_is_shown_at_once() {
    refused(
        None,
        &[],
        &[],
        "2 mistakes\napi.base_url…not set\napi.key…neither is set",
    );
    refused(
        Some("api:\n  page_size: 0\n  base_url: https://a\nfilter:\n  exclude: ['[']\n"),
        &[
            ("TRANSLATION_EXPORTER_API__KEY", "s3cret s3cret"),
            ("TRANSLATION_EXPORTER_API__TIMEOUT", "1"),
            ("TRANSLATION_EXPORTER_LOG__LEVEL", "loud"),
            ("TRANSLATION_EXPORTER_LOG__LEVL", "loud"),
        ],
        &["--poll.interval=1ms"],
        "7 mistakes\nTRANSLATION_EXPORTER_LOG__LEVL\napi.key (\napi.page_size (\napi.timeout (\n\
         poll.interval (\nfilter.exclude (\nlog.level (",
    );
}

/// Values, files, folders and addresses are checked in one go; `once` listens on no address and
/// reads no web configuration file.
#[test]
fn files_and_addresses_are_checked_together_with_values() {
    // No label of a name is so long, so that no resolver is asked.
    let host = "x".repeat(64);
    let file = format!(
        "{GOOD}  timeout: 0s\n  ca_file: ./ca.pem\nweb:\n  config_file: ./web.yml\n  \
         listen_addresses: [':1', '{host}:1']\nstate:\n  file: ./none/state.json\n"
    );
    let both = [
        "api.timeout (exporter.yml:4): is \"0s\"; give",
        "api.ca_file (exporter.yml:5): cannot read certificates from ./ca.pem: ",
        "state.file (exporter.yml:10): cannot write the state file into ",
    ];
    let listen = format!("web.listen_addresses (exporter.yml:8): cannot listen on \"{host}:1\": ");
    let serving = [
        &*listen,
        "web.config_file (exporter.yml:7): the web configuration",
    ];
    for (command, expected) in [
        ("check-config", [&both[..], &serving].concat()),
        ("once", both.to_vec()),
    ] {
        let output = run(command, Some(&file), &[], &[]);
        let message = String::from_utf8(output.stderr).unwrap();
        let lines: Vec<_> = message.lines().skip(1).map(str::trim_start).collect();
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert_eq!(lines.len(), expected.len(), "{message}");
        for (line, words) in lines.iter().zip(expected) {
            assert!(line.starts_with(words), "{line}\nis not\n{words}");
        }
    }
}

/// A value that is not a mapping does not end the reading.
#[test]
fn each_section_and_entry_of_a_wrong_type_is_shown() {
    let file = format!(
        "{GOOD}poll: [1]\ntargets:\n  - ratio: 2\n  - de\n  - [fr]\n  - ratio: 3\nfilter: a/*\n\
         log: {{level: loud, levl: 1}}\n"
    );
    let no_mapping = "is not a mapping; write";
    refused(
        Some(&file),
        &[],
        &[],
        &format!(
            "8 mistakes\npoll (exporter.yml:4): {no_mapping}\n\
             targets (exporter.yml:7): entry 2 {no_mapping}\n\
             targets (exporter.yml:8): entry 3 {no_mapping}\n\
             filter (exporter.yml:10): {no_mapping}\n\
             exporter.yml:11: unknown key \"log.levl\"\n\
             log.level (\ntargets.ratio (exporter.yml:6)\ntargets.ratio (exporter.yml:9)"
        ),
    );
}

#[test]
fn check_config_refuses_a_folder_and_an_address_that_serve_cannot_use() {
    // No label of a name is so long, so that no resolver is asked.
    let host = "x".repeat(64);
    for (flag, words) in [
        (
            "--state.file=/proc/state.json",
            "cannot write the state file into /proc/: ",
        ),
        (&*format!("--web.listen-address={host}:1"), &*host),
    ] {
        let output = check(Some(GOOD), &[], &[flag]);
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains(words), "{message}");
    }
}
