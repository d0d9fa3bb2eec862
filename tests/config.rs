//! Each mistake in a configuration ends the built program with code 2 and one message that names key, source and mend;
//! and no message holds the API key, wherever it was put. What is right is told with its source.

#![expect(clippy::unwrap_used, reason = "the helpers of tests may panic")]

use std::{
    fs,
    process::{Command, Output},
};

const HEAD: &str = "api:\n  base_url: https://api.example.com\n";
const GOOD: &str = "api:\n  base_url: https://api.example.com\n  key: s3cret\n";

/// Runs `check-config` in a folder of its own, where the file, if there is one, is `exporter.yml`.
fn check(file: Option<&str>, environment: &[(&str, &str)], flags: &[&str]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_translation-exporter"));
    command.current_dir(folder.path()).env_clear().envs(environment.iter().copied()).arg("check-config");
    if let Some(file) = file {
        fs::write(folder.path().join("exporter.yml"), file).unwrap();
        command.arg("--config.file=exporter.yml");
    }
    command.args(flags).output().unwrap()
}

fn refused(file: Option<&str>, environment: &[(&str, &str)], flags: &[&str], expected: &str) {
    let output = check(file, environment, flags);
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(told, format!("translation-exporter: {expected}\n"), "{file:?} {environment:?} {flags:?}");
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(output.stdout.is_empty());
    for secret in ["s3cret", "S3CRET", "1234567890"] {
        assert!(!told.contains(secret), "{told}");
    }
}

fn refused_files(start: &str, mistakes: &[(&str, &str)]) {
    for (rest, expected) in mistakes {
        refused(Some(&format!("{start}{rest}")), &[], &[], expected);
    }
}

/// What `check-config` prints, a line for each key.
fn accepted(file: Option<&str>, environment: &[(&str, &str)], flags: &[&str]) -> String {
    let output = check(file, environment, flags);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn what_is_in_force_is_told_with_its_source_and_secrets_hidden() {
    let file = "api:\n  base_url: https://api.example.com/v2\n  max_response_size: 1024\n\npoll: {interval: 90s}\nfilter:\n  \
                include: [acme/*, \"other/*\"]\nlog:\n  level: debug\n";
    let environment = [
        ("TRANSLATION_EXPORTER_API__KEY", "1234567890"),
        ("TRANSLATION_EXPORTER_POLL__INTERVAL", "2h"),
        ("TRANSLATION_EXPORTER_FILTER__EXCLUDE", "{a,b}/*, acme/old"),
    ];
    let flags =
        ["--log.level=warn", "--web.listen-address=:1", "--web.enable-lifecycle", "--web.listen-address", "[::1]:2"];
    let expected = "\
KEY                      VALUE                        SOURCE
api.base_url             https://api.example.com/v2/  exporter.yml:2
api.allow_http           false                        default
api.key                  <hidden>                     TRANSLATION_EXPORTER_API__KEY
api.key_file             -                            default
api.page_size            1000                         default
api.concurrency          8                            default
api.requests_per_second  10                           default
api.connect_timeout      10s                          default
api.timeout              30s                          default
api.max_attempts         4                            default
api.max_response_size    1KiB                         exporter.yml:3
api.ca_file              -                            default
api.completion_scale     100                          default
poll.interval            2h                           TRANSLATION_EXPORTER_POLL__INTERVAL
poll.stale_after         6h                           default
filter.include           acme/*, other/*              exporter.yml:7
filter.exclude           {a,b}/*, acme/old            TRANSLATION_EXPORTER_FILTER__EXCLUDE
filter.private           true                         default
state.file               -                            default
web.listen_addresses     :1, [::1]:2                  --web.listen-address
web.telemetry_path       /metrics                     default
web.config_file          -                            default
web.enable_lifecycle     true                         --web.enable-lifecycle
web.max_requests         40                           default
log.level                warn                         --log.level
log.format               logfmt                       default
";
    assert_eq!(accepted(Some(file), &environment, &flags), expected);
}

#[test]
fn the_environment_that_kubernetes_injects_for_a_service_of_that_name_changes_nothing() {
    let injected = [
        ("TRANSLATION_EXPORTER_SERVICE_HOST", "10.0.0.1"),
        ("TRANSLATION_EXPORTER_SERVICE_PORT", "10018"),
        ("TRANSLATION_EXPORTER_SERVICE_PORT_METRICS", "10018"),
        ("TRANSLATION_EXPORTER_PORT", "tcp://10.0.0.1:10018"),
        ("TRANSLATION_EXPORTER_PORT_10018_TCP", "tcp://10.0.0.1:10018"),
        ("TRANSLATION_EXPORTER_PORT_10018_TCP_PROTO", "tcp"),
        ("TRANSLATION_EXPORTER_PORT_10018_TCP_PORT", "10018"),
        ("TRANSLATION_EXPORTER_PORT_10018_TCP_ADDR", "10.0.0.1"),
    ];
    assert_eq!(accepted(Some(GOOD), &injected, &[]), accepted(Some(GOOD), &[], &[]));
}

#[test]
fn sections_without_entries_and_empty_files_leave_the_defaults() {
    let key = ("TRANSLATION_EXPORTER_API__KEY", "1234567890");
    let url = ("TRANSLATION_EXPORTER_API__BASE_URL", "http://localhost:1");
    let defaults = accepted(None, &[key, url], &[]);
    for file in ["", "# nothing\n", "poll:\nweb:\n  # max_requests: 1\n", "api: {}\n"] {
        assert_eq!(accepted(Some(file), &[key, url], &[]), defaults, "{file}");
    }
}

#[test]
fn http_is_allowed_to_loopback_and_where_it_is_asked_for() {
    let with = |url: &str| format!("api:\n  base_url: {url}\n  key: s3cret\n");
    for url in
        ["http://127.0.0.1:1/a", "http://127.9.9.9", "http://[::1]:1", "http://localhost", "http://api.localhost:8080"]
    {
        accepted(Some(&with(url)), &[], &[]);
    }
    accepted(Some(&format!("{}  allow_http: true\n", with("http://api.example.com"))), &[], &[]);
}

#[test]
fn a_relative_path_in_the_file_starts_at_the_folder_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("etc")).unwrap();
    fs::write(folder.path().join("etc/key"), "s3cret\n").unwrap();
    fs::write(folder.path().join("etc/exporter.yml"), format!("{HEAD}  key_file: key\n")).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_translation-exporter"))
        .current_dir(folder.path())
        .env_clear()
        .args(["check-config", "--config.file", "etc/exporter.yml"])
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("\napi.key_file             etc/key "), "{text}");
}

#[test]
fn the_last_layer_wins_even_over_a_mistake_below_it() {
    let file = format!("{GOOD}poll:\n  interval: nonsense\n");
    let text = accepted(Some(&file), &[("TRANSLATION_EXPORTER_POLL__INTERVAL", "nonsense")], &["--poll.interval=7m"]);
    assert!(text.contains("\npoll.interval            7m                        --poll.interval\n"), "{text}");
}

#[test]
fn a_glob_that_can_match_nothing_is_warned_of() {
    let output = check(Some(&format!("{GOOD}filter:\n  exclude: [acme]\n")), &[], &[]);
    assert!(output.status.success());
    let told = String::from_utf8(output.stderr).unwrap();
    let expected = "filter.exclude (exporter.yml:5): the glob \"acme\" holds no slash and so matches no owner/repo; write \
                    \"acme/*\" to mean all of an owner";
    assert!(told.contains(expected), "{told}");
}

#[test]
fn an_unknown_name_in_the_file_is_told_with_its_line_and_the_nearest_name() {
    refused_files(
        "",
        &[
            ("pol:\n  interval: 5m\n", r#"exporter.yml:1: unknown section "pol"; did you mean "poll"?"#),
            (
                "# a comment\n\ninterval: 5m\n",
                r#"exporter.yml:3: unknown section "interval"; indent it below the section "poll""#,
            ),
            (
                "poll.interval: 5m\n",
                r#"exporter.yml:1: unknown section "poll.interval"; write the section "poll:" and below it, indented, "interval:""#,
            ),
            (
                "zzz: 5m\n",
                r#"exporter.yml:1: unknown section "zzz"; the sections are api, poll, filter, state, web, log"#,
            ),
            (
                "api:\n  base-url: https://api.example.com\n",
                r#"exporter.yml:2: unknown key "api.base-url"; did you mean "api.base_url"?"#,
            ),
            (
                "api:\n  interval: 5m\n",
                r#"exporter.yml:2: unknown key "api.interval"; it belongs in the section "poll""#,
            ),
            (
                "api:\n  token: s3cret\n",
                r#"exporter.yml:2: unknown key "api.token"; the keys of api are base_url, allow_http, key, key_file, page_size, concurrency, requests_per_second, connect_timeout, timeout, max_attempts, max_response_size, ca_file, completion_scale"#,
            ),
            (
                "poll:\n  intervall: 5m\n\nweb:\n  listen_adress: [':1']\n",
                "2 mistakes in the configuration:\n  exporter.yml:2: unknown key \"poll.intervall\"; did you mean \"poll.interval\"?\n  exporter.yml:5: unknown key \"web.listen_adress\"; did you mean \"web.listen_addresses\"?",
            ),
        ],
    );
}

#[test]
fn a_key_under_a_name_that_is_none_is_not_told() {
    refused_files(
        "",
        &[
            ("api: {kee: s3cret}\n", r#"exporter.yml:1: unknown key "api.kee"; did you mean "api.key"?"#),
            ("api: {kee: [s3cret]}\n", r#"exporter.yml:1: unknown key "api.kee"; did you mean "api.key"?"#),
            ("api: {kee: {s3cret: 1}}\n", r#"exporter.yml:1: unknown key "api.kee"; did you mean "api.key"?"#),
            ("api: {key:s3cret}\n", r#"exporter.yml:1: unknown key in the section api; did you mean "api.key"?"#),
            ("{key:s3cret}\n", "exporter.yml:1: unknown section; the sections are api, poll, filter, state, web, log"),
            (
                "api: {s3cretS3CRET0: }\n",
                "exporter.yml:1: unknown key in the section api; the keys of api are base_url, allow_http, key, key_file, page_size, concurrency, requests_per_second, connect_timeout, timeout, max_attempts, max_response_size, ca_file, completion_scale",
            ),
            (
                "api: s3cret\n",
                "api (exporter.yml:1): is a section, but no mapping; write its keys below it, indented, each as `key: value`",
            ),
            ("key: s3cret\n", r#"exporter.yml:1: unknown section "key"; indent it below the section "api""#),
            (
                "s3cret\n",
                "exporter.yml: is no mapping; write sections (api, poll, filter, state, web, log) with their keys indented below",
            ),
        ],
    );
}

#[test]
fn a_key_that_is_no_text_or_cannot_be_sent_is_refused() {
    refused_files(
        HEAD,
        &[
            (
                "  key: 12345678901234567890\n",
                "api.key (exporter.yml:3): is a number, not text; give the API key as one text in quotes",
            ),
            (
                "  key: [s3cret, s3cret]\n",
                "api.key (exporter.yml:3): is a list, not text; give the API key as one text in quotes",
            ),
            (
                "  key: {s3cret: s3cret}\n",
                "api.key (exporter.yml:3): is a mapping, not text; give the API key as one text in quotes",
            ),
            (
                "  key: true\n",
                "api.key (exporter.yml:3): is a boolean, not text; give the API key as one text in quotes",
            ),
            ("  key: \n", "api.key (exporter.yml:3): is empty; give the API key, and nothing else"),
            ("  key: \"\"\n", "api.key (exporter.yml:3): is empty; give the API key, and nothing else"),
            (
                "  key: \"s3cret\\ns3cret\"\n",
                "api.key (exporter.yml:3): holds a character that cannot be sent in a header (a line break, a blank, or one that is not printable ASCII); give the API key, and nothing else",
            ),
            (
                "  key: s3cret s3cret\n",
                "api.key (exporter.yml:3): holds a character that cannot be sent in a header (a line break, a blank, or one that is not printable ASCII); give the API key, and nothing else",
            ),
            (
                "  key: s3cré s3cret\n",
                "api.key (exporter.yml:3): holds a character that cannot be sent in a header (a line break, a blank, or one that is not printable ASCII); give the API key, and nothing else",
            ),
        ],
    );
}

#[test]
fn exactly_one_of_key_and_key_file_is_required() {
    refused_files(
        HEAD,
        &[
            (
                "",
                "api.key, api.key_file: one of them is required, and neither is given; set api.key_file to the file that holds the API key, or TRANSLATION_EXPORTER_API__KEY to the key",
            ),
            (
                "  key: s3cret\n  key_file: key\n",
                "api.key (exporter.yml:3) and api.key_file (exporter.yml:4): only one of them may be given; remove one of the two",
            ),
        ],
    );
}

#[test]
fn a_key_file_that_cannot_give_a_key_is_refused() {
    refused_files(
        HEAD,
        &[
            (
                "  key_file: none/key\n",
                "api.key_file (exporter.yml:3): the API key file none/key cannot be read: No such file or directory (os error 2); see that the file exists and that this user may read it",
            ),
            (
                "  key_file: .\n",
                "api.key_file (exporter.yml:3): the API key file . cannot be read: Is a directory (os error 21); see that the file exists and that this user may read it",
            ),
            (
                "  key_file: ''\n",
                "api.key_file (exporter.yml:3): is empty; give the path of the file that holds the API key",
            ),
            (
                "  key_file: exporter.yml\n",
                "api.key_file (exporter.yml:3): the API key file exporter.yml holds a character that cannot be sent in a header (a line break, a blank, or one that is not printable ASCII); write the API key, and nothing else, into the file",
            ),
            (
                "  key_file: s3cretS3CRETs3cret\n",
                "api.key_file (exporter.yml:3): the file (not named here, for it might be the key itself) cannot be read: No such file or directory (os error 2); see that the file exists and that this user may read it",
            ),
        ],
    );
}

#[test]
fn a_file_that_is_no_yaml_is_refused_without_being_quoted() {
    refused_files(
        HEAD,
        &[
            (
                "  key: s3cret\n  key: s3cret\n",
                "exporter.yml:4: is not valid YAML: a name stands twice in one mapping; remove one of the two",
            ),
            (
                "   key: s3cret\n",
                "exporter.yml:3: is not valid YAML: something is malformed; look at this line and the one before it: indentation, a missing colon, quote or bracket",
            ),
            (
                "  key s3cret\n  foo: 1\n",
                "exporter.yml:3: is not valid YAML: something is malformed; look at this line and the one before it: indentation, a missing colon, quote or bracket",
            ),
            (
                "  key: \"s3cret\n",
                "exporter.yml:4: is not valid YAML: something is malformed; look at this line and the one before it: indentation, a missing colon, quote or bracket",
            ),
            (
                "  key: *s3cret\n",
                "exporter.yml:3: is not valid YAML: an alias has no anchor; put the value in quotes if it begins with an asterisk",
            ),
            (
                "  key: !!int s3cret\n",
                "exporter.yml:3: is not valid YAML: something is malformed; look at this line and the one before it: indentation, a missing colon, quote or bracket",
            ),
            (
                "	key: s3cret\n",
                "exporter.yml:2: is not valid YAML: something is malformed; look at this line and the one before it: indentation, a missing colon, quote or bracket",
            ),
            (
                "  key: s3cret\n---\napi: {}\n",
                "exporter.yml:5: is not valid YAML: a second document begins; keep one document",
            ),
            (
                "  ? [s3cret]\n  : s3cret\n",
                "exporter.yml:3: is not valid YAML: something is malformed; look at this line and the one before it: indentation, a missing colon, quote or bracket",
            ),
        ],
    );
}

#[test]
fn a_base_url_that_cannot_be_used_is_refused_without_being_quoted() {
    refused_files(
        "",
        &[
            (
                "api:\n  base_url: ''\n  key: s3cret\n",
                "api.base_url (exporter.yml:2): is empty; give the root of the API, such as https://api.example.com",
            ),
            (
                "api:\n  base_url: http://api.example.com\n  key: s3cret\n",
                "api.base_url (exporter.yml:2): would send the key in the clear: http to a host that is not loopback; write https://, or set api.allow_http to true",
            ),
            (
                "api:\n  base_url: ftp://api.example.com\n  key: s3cret\n",
                "api.base_url (exporter.yml:2): is neither an https nor an http URL; give the root of the API, such as https://api.example.com",
            ),
            (
                "api:\n  base_url: https://user:s3cret@api.example.com\n  key: s3cret\n",
                "api.base_url (exporter.yml:2): holds a user or password, which the API does not take; give the root of the API, such as https://api.example.com",
            ),
            (
                "api:\n  base_url: https://api.example.com?key=s3cret\n  key: s3cret\n",
                r#"api.base_url (exporter.yml:2): holds a query (from its "?" on); give the root of the API, such as https://api.example.com"#,
            ),
            (
                "api:\n  base_url: https://api.example.com/#s3cret\n  key: s3cret\n",
                r##"api.base_url (exporter.yml:2): holds a fragment (from its "#" on); give the root of the API, such as https://api.example.com"##,
            ),
            (
                "api:\n  base_url: https://\n  key: s3cret\n",
                "api.base_url (exporter.yml:2): is no URL: empty host; give the root of the API, such as https://api.example.com",
            ),
            (
                "api:\n  base_url: https://[::1\n  key: s3cret\n",
                "api.base_url (exporter.yml:2): is no URL: invalid IPv6 address; give the root of the API, such as https://api.example.com",
            ),
            (
                "api:\n  base_url: api.example.com\n  key: s3cret\n",
                "api.base_url (exporter.yml:2): does not begin with https://; give the root of the API, such as https://api.example.com",
            ),
            (
                "api:\n  base_url: localhost:80\n  key: s3cret\n",
                "api.base_url (exporter.yml:2): does not begin with https://; give the root of the API, such as https://api.example.com",
            ),
            (
                "api:\n  base_url: [s3cret]\n  key: s3cret\n",
                "api.base_url (exporter.yml:2): is a list; give the root of the API, such as https://api.example.com",
            ),
            (
                "api:\n  key: s3cret\n",
                "api.base_url: is required and given nowhere; set it in the configuration file, as TRANSLATION_EXPORTER_API__BASE_URL or by --api.base-url",
            ),
        ],
    );
}

#[test]
fn numbers_of_the_api_outside_their_bounds_are_refused() {
    refused_files(
        GOOD,
        &[
            (
                "  page_size: 0\n",
                "api.page_size (exporter.yml:4): 0 is out of bounds; give a whole number from 1 to 1000",
            ),
            (
                "  page_size: 1001\n",
                "api.page_size (exporter.yml:4): 1001 is out of bounds; give a whole number from 1 to 1000",
            ),
            (
                "  page_size: many\n",
                r#"api.page_size (exporter.yml:4): "many" is no whole number; give a whole number from 1 to 1000"#,
            ),
            (
                "  page_size: 1.5\n",
                r#"api.page_size (exporter.yml:4): "1.5" is no whole number; give a whole number from 1 to 1000"#,
            ),
            ("  page_size: [1]\n", "api.page_size (exporter.yml:4): is a list; give a whole number from 1 to 1000"),
            (
                "  concurrency: 0\n",
                "api.concurrency (exporter.yml:4): 0 is out of bounds; give a whole number from 1 to 1024",
            ),
            (
                "  concurrency: 1025\n",
                "api.concurrency (exporter.yml:4): 1025 is out of bounds; give a whole number from 1 to 1024",
            ),
            (
                "  requests_per_second: -1\n",
                "api.requests_per_second (exporter.yml:4): -1 is out of bounds; give 0 for no limit, or 0.001 to 1000000",
            ),
            (
                "  requests_per_second: 1e-9\n",
                "api.requests_per_second (exporter.yml:4): 0.000000001 is out of bounds; give 0 for no limit, or 0.001 to 1000000",
            ),
            (
                "  requests_per_second: .inf\n",
                "exporter.yml:4: is not valid YAML: a number is not finite; give a finite one",
            ),
            (
                "  requests_per_second: fast\n",
                r#"api.requests_per_second (exporter.yml:4): "fast" is no number; give 0 for no limit, or 0.001 to 1000000"#,
            ),
            (
                "  max_attempts: 0\n",
                "api.max_attempts (exporter.yml:4): 0 is out of bounds; give a whole number from 1 to 10",
            ),
            (
                "  max_attempts: 11\n",
                "api.max_attempts (exporter.yml:4): 11 is out of bounds; give a whole number from 1 to 10",
            ),
            (
                "  max_response_size: 0\n",
                r#"api.max_response_size (exporter.yml:4): "0" is too small; give at least 1B, such as 512KiB or 16MiB"#,
            ),
            (
                "  max_response_size: 16MuB\n",
                r#"api.max_response_size (exporter.yml:4): "16MuB" is no size; give at least 1B, such as 512KiB or 16MiB"#,
            ),
            (
                "  completion_scale: 0.5\n",
                "api.completion_scale (exporter.yml:4): 0.5 is out of bounds; give the completion that means finished, a number of at least 1",
            ),
            (
                "  completion_scale: .nan\n",
                "exporter.yml:4: is not valid YAML: a number is not finite; give a finite one",
            ),
            (
                "  completion_scale: all\n",
                r#"api.completion_scale (exporter.yml:4): "all" is no number; give the completion that means finished, a number of at least 1"#,
            ),
            (
                "  allow_http: maybe\n",
                r#"api.allow_http (exporter.yml:4): "maybe" is neither true nor false; write true or false"#,
            ),
            (
                "  allow_http: 1\n",
                r#"api.allow_http (exporter.yml:4): "1" is neither true nor false; write true or false"#,
            ),
            ("  ca_file: [a]\n", "api.ca_file (exporter.yml:4): is a list; give the path of a file"),
        ],
    );
}

#[test]
fn durations_outside_their_bounds_are_refused() {
    refused_files(
        GOOD,
        &[
            (
                "  timeout: 30\n",
                r#"api.timeout (exporter.yml:4): "30" has no unit; give at least 1ms with its unit, such as 30s, 5m or 1h 30m"#,
            ),
            (
                "  timeout: 0s\n",
                r#"api.timeout (exporter.yml:4): "0s" is too short; give at least 1ms with its unit, such as 30s, 5m or 1h 30m"#,
            ),
            (
                "  timeout: soon\n",
                r#"api.timeout (exporter.yml:4): "soon" is no duration; give at least 1ms with its unit, such as 30s, 5m or 1h 30m"#,
            ),
            (
                "  connect_timeout: 0ms\n",
                r#"api.connect_timeout (exporter.yml:4): "0ms" is too short; give at least 1ms with its unit, such as 30s, 5m or 1h 30m"#,
            ),
            (
                "  timeout: 200y\n",
                r#"api.timeout (exporter.yml:4): "200y" is longer than 100 years; give at least 1ms with its unit, such as 30s, 5m or 1h 30m"#,
            ),
            (
                "poll:\n  interval: 999ms\n",
                r#"poll.interval (exporter.yml:5): "999ms" is too short; give at least 1s with its unit, such as 30s, 5m or 1h 30m"#,
            ),
            (
                "poll:\n  interval:\n",
                "poll.interval (exporter.yml:5): is empty; give at least 1s with its unit, such as 30s, 5m or 1h 30m",
            ),
            (
                "poll:\n  stale_after: 9m\n",
                "poll.stale_after (exporter.yml:5): 9m is less than twice poll.interval, which is 5m (default); give at least 10m, or shorten poll.interval",
            ),
            (
                "poll:\n  interval: 2h\n  stale_after: 3h\n",
                "poll.stale_after (exporter.yml:6): 3h is less than twice poll.interval, which is 2h (exporter.yml:5); give at least 4h, or shorten poll.interval",
            ),
        ],
    );
}

#[test]
fn a_filter_that_is_no_list_of_globs_is_refused() {
    refused_files(
        GOOD,
        &[
            (
                "filter:\n  include: acme/*\n",
                r#"filter.include (exporter.yml:5): is text, not a list; give a list of globs on owner/repo, such as ["acme/*"]"#,
            ),
            (
                "filter:\n  include: ['acme/[']\n",
                r#"filter.include (exporter.yml:5): the glob "acme/[" does not parse: unclosed character class; missing ']'; give a list of globs on owner/repo, such as ["acme/*"]"#,
            ),
            (
                "filter:\n  exclude: ['{acme']\n",
                r#"filter.exclude (exporter.yml:5): the glob "{acme" does not parse: unclosed alternate group; missing '}' (maybe escape '{' with '[{]'?); give a list of globs on owner/repo, such as ["acme/*"]"#,
            ),
            (
                "filter:\n  exclude: ['']\n",
                r#"filter.exclude (exporter.yml:5): holds an empty glob; give a list of globs on owner/repo, such as ["acme/*"]"#,
            ),
            (
                "filter:\n  include: [1]\n",
                r#"filter.include (exporter.yml:5): holds a number where text should be; give a list of globs on owner/repo, such as ["acme/*"]"#,
            ),
            (
                "filter:\n  private: perhaps\n",
                r#"filter.private (exporter.yml:5): "perhaps" is neither true nor false; write true or false"#,
            ),
        ],
    );
}

#[test]
fn what_cannot_be_served_is_refused() {
    refused_files(
        GOOD,
        &[
            (
                "web:\n  listen_addresses: ':10018'\n",
                r#"web.listen_addresses (exporter.yml:5): is text, not a list; give a list of host:port, such as [":10018", "127.0.0.1:10018", "[::1]:10018"]"#,
            ),
            (
                "web:\n  listen_addresses: []\n",
                r#"web.listen_addresses (exporter.yml:5): is empty; give a list of host:port, such as [":10018", "127.0.0.1:10018", "[::1]:10018"]"#,
            ),
            (
                "web:\n  listen_addresses: ['10018']\n",
                r#"web.listen_addresses (exporter.yml:5): "10018" has no port; write ":10018""#,
            ),
            (
                "web:\n  listen_addresses: [10018]\n",
                r#"web.listen_addresses (exporter.yml:5): holds a number where text should be; give a list of host:port, such as [":10018", "127.0.0.1:10018", "[::1]:10018"]"#,
            ),
            (
                "web:\n  listen_addresses: ['localhost']\n",
                r#"web.listen_addresses (exporter.yml:5): "localhost" has no port; give a list of host:port, such as [":10018", "127.0.0.1:10018", "[::1]:10018"]"#,
            ),
            (
                "web:\n  listen_addresses: ['::1:80']\n",
                r#"web.listen_addresses (exporter.yml:5): "::1:80" holds an IPv6 address without brackets; give a list of host:port, such as [":10018", "127.0.0.1:10018", "[::1]:10018"]"#,
            ),
            (
                "web:\n  listen_addresses: [':65536']\n",
                r#"web.listen_addresses (exporter.yml:5): ":65536" has a port that is no number from 0 to 65535; give a list of host:port, such as [":10018", "127.0.0.1:10018", "[::1]:10018"]"#,
            ),
            (
                "web:\n  listen_addresses: ['http://x:1']\n",
                r#"web.listen_addresses (exporter.yml:5): "http://x:1" has a host that is neither a name nor an address; give a list of host:port, such as [":10018", "127.0.0.1:10018", "[::1]:10018"]"#,
            ),
            (
                "web:\n  listen_addresses: [':1', ':1']\n",
                r#"web.listen_addresses (exporter.yml:5): ":1" is given twice; remove one of the two"#,
            ),
            (
                "web:\n  telemetry_path: metrics\n",
                r#"web.telemetry_path (exporter.yml:5): "metrics" does not begin with a slash; give a path such as /metrics: a slash, then letters, digits and -._~/, and none of the exporter's other paths"#,
            ),
            (
                "web:\n  telemetry_path: /\n",
                r#"web.telemetry_path (exporter.yml:5): "/" is a path of the exporter already; give a path such as /metrics: a slash, then letters, digits and -._~/, and none of the exporter's other paths"#,
            ),
            (
                "web:\n  telemetry_path: /-/ready\n",
                r#"web.telemetry_path (exporter.yml:5): "/-/ready" is a path of the exporter already; give a path such as /metrics: a slash, then letters, digits and -._~/, and none of the exporter's other paths"#,
            ),
            (
                "web:\n  telemetry_path: '/a?b'\n",
                r#"web.telemetry_path (exporter.yml:5): "/a?b" holds a character that a path should not; give a path such as /metrics: a slash, then letters, digits and -._~/, and none of the exporter's other paths"#,
            ),
            (
                "web:\n  enable_lifecycle: maybe\n",
                r#"web.enable_lifecycle (exporter.yml:5): "maybe" is neither true nor false; write true or false"#,
            ),
            (
                "web:\n  max_requests: 0\n",
                "web.max_requests (exporter.yml:5): 0 is out of bounds; give a whole number from 1 to 1000000",
            ),
            (
                "web:\n  config_file: {a: b}\n",
                "web.config_file (exporter.yml:5): is a mapping; give the path of a file",
            ),
        ],
    );
}

#[test]
fn an_unknown_level_or_format_of_logs_is_refused() {
    refused_files(
        GOOD,
        &[
            (
                "log:\n  level: loud\n",
                r#"log.level (exporter.yml:5): "loud" is no level; write error, warn, info, debug or trace"#,
            ),
            ("log:\n  format: text\n", r#"log.format (exporter.yml:5): "text" is no format; write logfmt or json"#),
        ],
    );
}

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
