//! Each mistake in a configuration is one message that names key, source and hint; no message
//! contains the API key, wherever it was put. The active values are shown with their sources. Most
//! tests call the loader; a few start the program, for its exit code and output.

#![expect(clippy::unwrap_used, reason = "the helpers of tests may panic")]

mod bounds;
mod layers;
mod secrets;

use std::{
    fs,
    process::{Command, Output},
};
use translation_exporter::{
    cli::parse,
    config::{self, Draft},
};

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
    let options = parse(words).unwrap().options;
    let environment = environment
        .iter()
        .map(|(name, value)| (name.to_string(), value.to_string()))
        .collect();
    let without_folder = |text: String| text.replace(&format!("{}/", folder.path().display()), "");
    match config::read(&options, &environment).and_then(Draft::finish) {
        Ok(config) => Ok(without_folder(config.yaml)),
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

/// Each file of `cases/` holds configurations, separated by `---`. The first line of one may name
/// variables and options (`#$ NAME=value --option=value`); a base URL and a key are set unless it
/// names its own. To add a case, add a file and run the test with `INSTA_UPDATE=always`: it writes
/// the messages to `snapshots/`, for you to read.
#[test]
fn each_mistake_is_explained_without_a_secret() {
    for file in fs::read_dir("tests/config/cases").unwrap() {
        let path = file.unwrap().path();
        let cases = fs::read_to_string(&path).unwrap();
        let outcomes: Vec<_> = cases.split("---\n").map(outcome).collect();
        insta::with_settings!({omit_expression => true, prepend_module_to_snapshot => false}, {
            let name = path.file_stem().unwrap().to_str().unwrap();
            insta::assert_snapshot!(name, outcomes.join("\n---\n"));
        });
    }
}

/// Returns the message, or the active configuration without defaults.
fn outcome(case: &str) -> String {
    let given = case.lines().next().unwrap_or_default();
    let given = given.strip_prefix("#$ ").unwrap_or_default();
    let (flags, variables): (Vec<_>, Vec<_>) = given
        .split_whitespace()
        .partition(|word| word.starts_with("--"));
    let variables = variables.iter().filter_map(|word| word.split_once('='));
    let mut variables: Vec<_> = variables.collect();
    let is_given = |names: &[&str]| names.iter().any(|name| case.contains(name));
    if !is_given(&["base_url:", "API__BASE_URL=", "--api.base-url"]) {
        variables.push(("TRANSLATION_EXPORTER_API__BASE_URL", "https://a"));
    }
    if !is_given(&["key:", "key_file:", "API__KEY=", "--api.key-file"]) {
        variables.push(("TRANSLATION_EXPORTER_API__KEY", "1234567890"));
    }
    let file = (!is_given(&["--config.file"])).then_some(case);
    match load(file, &variables, &flags) {
        Ok(yaml) => {
            let set = yaml
                .lines()
                .filter(|line| !line.ends_with([':']) && !line.ends_with("# default"));
            set.collect::<Vec<_>>().join("\n")
        }
        Err(message) => {
            for secret in ["s3cret", "S3CRET", "1234567890"] {
                assert!(!message.contains(secret), "{message}");
            }
            message
        }
    }
}

/// The table that `check-config` prints, a line for each key.
fn accepted(file: Option<&str>, environment: &[(&str, &str)], flags: &[&str]) -> String {
    load(file, environment, flags).unwrap()
}

/// The value of a key and its source in that table.
fn row(table: &str, key: &str) -> String {
    let mut lines = table.lines();
    let row = lines.find_map(|line| line.trim_start().strip_prefix(key)?.strip_prefix(": "));
    row.unwrap().to_owned()
}

#[test]
fn what_is_in_force_is_shown_with_its_source_and_secrets_hidden() {
    let file = "api:\n  base_url: https://api.example.com/v2\n  page_size: 24\n\npoll: \
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
        "--web.listen-address",
        "[::1]:2",
    ];
    let expected = "  base_url: \"https://api.example.com/v2\"  # exporter.yml:2
  # key: \"<hidden>\"  # TRANSLATION_EXPORTER_API__KEY
  page_size: 24  # exporter.yml:3
  interval: 2h  # TRANSLATION_EXPORTER_POLL__INTERVAL
  include: \"acme/*, other/*\"  # exporter.yml:7
  exclude: \"{a,b}/*, acme/old\"  # TRANSLATION_EXPORTER_FILTER__EXCLUDE
  listen_addresses: \":1,[::1]:2\"  # --web.listen-address
  level: warn  # --log.level
";
    let output = check(Some(file), &environment, &flags);
    assert_eq!(output.status.code(), Some(0));
    let yaml = String::from_utf8(output.stdout).unwrap();
    let changed = yaml
        .split_inclusive('\n')
        .filter(|line| line.starts_with(' ') && !line.ends_with(" default\n"));
    assert_eq!(changed.collect::<String>(), expected);
    assert_eq!(row(&yaml, "# stale_after"), "6h  # default");
    assert_eq!(row(&yaml, "# file"), "\"\"  # default");
}

#[test]
fn a_mistake_ends_the_program_with_code_2_and_one_message() {
    let output = check(Some("api: {page_size: 0}\n"), &[], &[]);
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(output.stdout.is_empty());
    let start = "translation-exporter: api.page_size (exporter.yml:1): ";
    assert!(message.starts_with(start), "{message}");
}

#[test]
fn null_sections_without_entries_and_empty_files_leave_the_defaults() {
    let key = ("TRANSLATION_EXPORTER_API__KEY", "1234567890");
    let url = ("TRANSLATION_EXPORTER_API__BASE_URL", "http://localhost:1");
    let defaults = accepted(None, &[key, url], &[]);
    for file in [
        "",
        "# nothing\n",
        "poll:\nweb:\n  # telemetry_path: /a\n",
        "api: {}\n",
        "poll:\n  interval:\n  stale_after: ~\n",
    ] {
        assert_eq!(accepted(Some(file), &[key, url], &[]), defaults, "{file}");
    }
}

#[test]
fn a_relative_path_in_the_file_starts_at_the_folder_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("etc")).unwrap();
    fs::write(
        folder.path().join("etc/exporter.yml"),
        "api: {base_url: https://a, key_file: key}\n",
    )
    .unwrap();
    let check = || {
        Command::new(env!("CARGO_BIN_EXE_translation-exporter"))
            .current_dir(folder.path())
            .env_clear()
            .args(["check-config", "--config.file", "etc/exporter.yml"])
            .output()
            .unwrap()
    };
    // A file of the same name in the working directory is another one.
    fs::write(folder.path().join("key"), "s3cret\n").unwrap();
    assert_eq!(check().status.code(), Some(2));
    fs::write(folder.path().join("etc/key"), "s3cret\n").unwrap();
    let text = String::from_utf8(check().stdout).unwrap();
    assert_eq!(row(&text, "key_file"), "\"etc/key\"  # etc/exporter.yml:1");
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
    assert_eq!(row(&expected, "exclude"), "\"c/*, d/*,\"  # exporter.yml:6");
    let edited = format!("\u{feff}{}", text.replace('\n', "\r\n"));
    assert_eq!(accepted(Some(&edited), &[], &[]), expected);
}
