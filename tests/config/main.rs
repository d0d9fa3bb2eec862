//! Each mistake in a configuration is one message that names key, source and hint; no message
//! contains the API key, wherever it was put. The active values are shown with their sources. Most
//! tests call the loader; a few start the program, for its exit code and output.

#![expect(clippy::unwrap_used, reason = "the helpers of tests may panic")]

mod bounds;
mod keys;
mod layers;

use std::{
    fs,
    process::{Command, Output},
};
use translation_exporter::{cli::parse_from, config};

const HEAD: &str = "api:\n  base_url: https://api.example.com\n";
const GOOD: &str = "api:\n  base_url: https://api.example.com\n  key: s3cret\n";

/// Loads a configuration like `check-config` does: the file, if there is one, is `exporter.yml` in
/// a folder of its own, which messages do not show.
fn load(
    file: Option<&str>,
    environment: &[(&str, &str)],
    flags: &[&str],
) -> Result<String, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("exporter.yml");
    let mut words = vec!["translation-exporter".to_owned(), "check-config".to_owned()];
    if let Some(file) = file {
        fs::write(&path, file).unwrap();
        words.push(format!("--config.file={}", path.display()));
    }
    words.extend(flags.iter().map(ToString::to_string));
    let options = parse_from(words).unwrap().options;
    let environment: Vec<_> = environment
        .iter()
        .map(|(name, value)| (name.into(), value.into()))
        .collect();
    let without_folder = |text: String| text.replace(&format!("{}/", folder.path().display()), "");
    match config::load(&options, &environment, &mut |_, _| Ok(())) {
        Ok(config) => Ok(without_folder(config.describe())),
        Err(error) => Err(without_folder(error.to_string())),
    }
}

/// Runs `check-config` as [`run`] does.
fn check(file: Option<&str>, environment: &[(&str, &str)], flags: &[&str]) -> Output {
    run("check-config", file, environment, flags)
}

/// Runs a command in a folder of its own, where the file, if there is one, is `exporter.yml`.
fn run(name: &str, file: Option<&str>, environment: &[(&str, &str)], flags: &[&str]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_translation-exporter"));
    command
        .current_dir(folder.path())
        .env_clear()
        .envs(environment.iter().copied())
        .arg(name);
    if let Some(file) = file {
        fs::write(folder.path().join("exporter.yml"), file).unwrap();
        command.arg("--config.file=exporter.yml");
    }
    command.args(flags).output().unwrap()
}

/// Each line of `expected` is a line of the message, in this order; "…" stands for words that do
/// not matter, and separates some whose order does not.
fn refused(file: Option<&str>, environment: &[(&str, &str)], flags: &[&str], expected: &str) {
    let Err(message) = load(file, environment, flags) else {
        panic!("{file:?} {environment:?} {flags:?} is accepted");
    };
    let count = expected.lines().count();
    assert_eq!(
        message.lines().count(),
        count,
        "{message} is not\n{expected}"
    );
    for (line, expected) in message.lines().zip(expected.lines()) {
        for words in expected.split('…') {
            assert!(line.contains(words), "{line}\nis not\n{expected}");
        }
    }
    for secret in ["s3cret", "S3CRET", "1234567890"] {
        assert!(!message.contains(secret), "{message}");
    }
}

fn refused_files(start: &str, mistakes: &[(&str, &str)]) {
    for (rest, expected) in mistakes {
        refused(Some(&format!("{start}{rest}")), &[], &[], expected);
    }
}

/// Each value of the key, at the end of a good file, is refused with these words, in which "{}"
/// stands for the value.
fn refused_values(rows: &[(&str, &[&str], &str)]) {
    for (key, values, words) in rows {
        let (section, name) = key.split_once('.').unwrap();
        let (start, line) = if section == "api" {
            (GOOD.to_owned(), 4)
        } else {
            (format!("{GOOD}{section}:\n"), 5)
        };
        for value in *values {
            let words = words.replace("{}", value.trim_matches('\''));
            refused_files(
                &start,
                &[(
                    &format!("  {name}: {value}\n"),
                    &format!("{key} (exporter.yml:{line})…{words}"),
                )],
            );
        }
    }
}

/// The table that `check-config` prints, a line for each key.
fn accepted(file: Option<&str>, environment: &[(&str, &str)], flags: &[&str]) -> String {
    load(file, environment, flags).unwrap()
}

/// The value of a key and its source in that table.
fn row(table: &str, key: &str) -> String {
    let row = table
        .lines()
        .find_map(|line| line.strip_prefix(key)?.strip_prefix(' '))
        .unwrap();
    row.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn what_is_in_force_is_shown_with_its_source_and_secrets_hidden() {
    let file = "api:\n  base_url: https://api.example.com/v2\n  max_response_size: 1024\n\npoll: \
                {interval: 90s}\nfilter:\n  \
                include: [acme/*, \"other/*\"]\nlog:\n  level: debug\n";
    let environment = [
        ("TRANSLATION_EXPORTER_API__KEY", "1234567890"),
        ("TRANSLATION_EXPORTER_POLL__INTERVAL", "2h"),
        ("TRANSLATION_EXPORTER_FILTER__EXCLUDE", "{a,b}/*, acme/old"),
    ];
    let flags = [
        "--log.level=warn",
        "--web.listen-address=:1",
        "--web.enable-lifecycle",
        "--web.listen-address",
        "[::1]:2",
    ];
    let expected = "\
KEY                       VALUE                         SOURCE
api.base_url              https://api.example.com/v2    exporter.yml:2
api.key                   <hidden>                      TRANSLATION_EXPORTER_API__KEY
api.max_response_size     1024                          exporter.yml:3
poll.interval             2h                            TRANSLATION_EXPORTER_POLL__INTERVAL
filter.include            acme/*, other/*               exporter.yml:7
filter.exclude            {a,b}/*, acme/old             TRANSLATION_EXPORTER_FILTER__EXCLUDE
web.listen_addresses      :1, [::1]:2                   --web.listen-address
web.enable_lifecycle      true                          --web.enable-lifecycle
log.level                 warn                          --log.level
";
    let output = check(Some(file), &environment, &flags);
    assert_eq!(output.status.code(), Some(0));
    let table = String::from_utf8(output.stdout).unwrap();
    let changed: Vec<_> = table
        .split_inclusive('\n')
        .filter(|line| !line.ends_with(" default\n"))
        .collect();
    assert_eq!(changed.concat(), expected);
    assert_eq!(row(&table, "poll.stale_after"), "6h default");
    assert_eq!(row(&table, "state.file"), "- default");
}

#[test]
fn a_mistake_ends_the_program_with_code_2_and_one_message() {
    let output = check(Some("api: {page_size: 0}\n"), &[], &[]);
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(output.stdout.is_empty());
    let start = "translation-exporter: 3 mistakes in the configuration:\n  api.base_url";
    assert!(message.starts_with(start), "{message}");
}

#[test]
fn variables_that_kubernetes_injects_for_a_service_change_nothing() {
    let injected = [
        ("TRANSLATION_EXPORTER_SERVICE_HOST", "10.0.0.1"),
        ("TRANSLATION_EXPORTER_SERVICE_PORT_METRICS", "10018"),
        ("TRANSLATION_EXPORTER_PORT", "tcp://10.0.0.1:10018"),
        ("TRANSLATION_EXPORTER_PORT_10018_TCP_ADDR", "10.0.0.1"),
    ];
    assert_eq!(
        accepted(Some(GOOD), &injected, &[]),
        accepted(Some(GOOD), &[], &[])
    );
}

#[test]
fn null_sections_without_entries_and_empty_files_leave_the_defaults() {
    let key = ("TRANSLATION_EXPORTER_API__KEY", "1234567890");
    let url = ("TRANSLATION_EXPORTER_API__BASE_URL", "http://localhost:1");
    let defaults = accepted(None, &[key, url], &[]);
    for file in [
        "",
        "# nothing\n",
        "poll:\nweb:\n  # enable_lifecycle: true\n",
        "api: {}\n",
        "poll:\n  interval:\n  stale_after: ~\n",
    ] {
        assert_eq!(accepted(Some(file), &[key, url], &[]), defaults, "{file}");
    }
}

#[test]
fn http_is_allowed_to_loopback_and_where_it_is_asked_for() {
    let with = |url: &str| format!("api:\n  base_url: {url}\n  key: s3cret\n");
    for url in [
        "http://127.0.0.1:1/a",
        "http://127.9.9.9",
        "http://[::1]:1",
        "http://localhost",
        "http://api.localhost:8080",
    ] {
        accepted(Some(&with(url)), &[], &[]);
    }
    accepted(
        Some(&format!(
            "{}  allow_http: true\n",
            with("http://api.example.com")
        )),
        &[],
        &[],
    );
}

#[test]
fn a_relative_path_in_the_file_starts_at_the_folder_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("etc")).unwrap();
    fs::write(folder.path().join("etc/key"), "s3cret\n").unwrap();
    fs::write(
        folder.path().join("etc/exporter.yml"),
        format!("{HEAD}  key_file: key\n"),
    )
    .unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_translation-exporter"))
        .current_dir(folder.path())
        .env_clear()
        .args(["check-config", "--config.file", "etc/exporter.yml"])
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(row(&text, "api.key_file"), "etc/key etc/exporter.yml:3");
}

#[test]
fn the_last_layer_wins_even_over_a_mistake_below_it() {
    let file = format!("{GOOD}poll:\n  interval: nonsense\n");
    let text = accepted(
        Some(&file),
        &[("TRANSLATION_EXPORTER_POLL__INTERVAL", "nonsense")],
        &["--poll.interval=7m"],
    );
    assert_eq!(row(&text, "poll.interval"), "7m --poll.interval");
}

#[test]
fn booleans_may_be_written_in_every_way_of_yaml() {
    for (written, private) in [
        ("yes", true),
        ("no", false),
        ("on", true),
        ("off", false),
        ("True", true),
        ("'no'", false),
    ] {
        let table = accepted(
            Some(&format!("{GOOD}filter:\n  private: {written}\n")),
            &[],
            &[],
        );
        let words = if private {
            ["true", "yes", "on"]
        } else {
            ["false", "no", "off"]
        };
        let row = row(&table, "filter.private");
        assert!(words.contains(&row.split(' ').next().unwrap()), "{row}");
    }
}

#[test]
fn a_list_may_be_one_text_that_is_split_at_commas() {
    for written in ["[a/*, 'b/{c,d}']", "'a/*, b/{c,d}'", "a/*,b/{c,d}"] {
        let table = accepted(
            Some(&format!("{GOOD}filter:\n  include: {written}\n")),
            &[],
            &[],
        );
        assert_eq!(row(&table, "filter.include"), "a/*, b/{c,d} exporter.yml:5");
    }
    let table = accepted(
        Some(&format!("{GOOD}filter:\n  exclude: 'a/[}}]*,b/*'\n")),
        &[],
        &[],
    );
    assert_eq!(row(&table, "filter.exclude"), "a/[}]*, b/* exporter.yml:5");
}

#[test]
fn a_reader_of_stdout_that_has_seen_enough_is_no_error() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = Command::new(env!("CARGO_BIN_EXE_translation-exporter"))
        .env_clear()
        .env("TRANSLATION_EXPORTER_API__KEY", "1234567890")
        .args(["check-config", "--api.base-url=https://api.example.com"])
        .stdout(writer)
        .output()
        .unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && message.is_empty(), "{message}");
}

#[test]
fn line_ends_marks_and_trailing_commas_of_other_editors_are_taken() {
    let text = format!("{GOOD}filter:\n  include: [a/*, b/*,]\n  exclude: 'c/*, d/*,'\n");
    let expected = accepted(Some(&text), &[], &[]);
    assert_eq!(row(&expected, "filter.exclude"), "c/*, d/* exporter.yml:6");
    let edited = format!("\u{feff}{}", text.replace('\n', "\r\n"));
    assert_eq!(accepted(Some(&edited), &[], &[]), expected);
}

#[test]
fn the_examples_in_messages_are_accepted() {
    for (key, examples) in [
        (
            "listen_addresses",
            &["[\":10018\"]", "[\"127.0.0.1:10018\"]", "[\"[::1]:10018\"]"][..],
        ),
        ("telemetry_path", &["/metrics"]),
    ] {
        for example in examples {
            accepted(Some(&format!("{GOOD}web:\n  {key}: {example}\n")), &[], &[]);
        }
    }
    for key in ["include", "exclude"] {
        accepted(
            Some(&format!("{GOOD}filter:\n  {key}: [\"acme/*\"]\n")),
            &[],
            &[],
        );
    }
    for example in [
        "timeout: 30s",
        "timeout: 5m",
        "timeout: 1h 30m",
        "max_response_size: 512KiB",
    ] {
        accepted(Some(&format!("{GOOD}  {example}\n")), &[], &[]);
    }
}
