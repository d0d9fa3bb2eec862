use super::*;

fn read(words: &str) -> Result<Cli, String> {
    let words = words.split_whitespace();
    parse(["translation-exporter"].into_iter().chain(words)).map_err(|error| error.to_string())
}

fn once(words: &str) -> Result<Once, String> {
    match read(&format!("once {words}"))?.command {
        Some(Command::Once(once)) => Ok(once),
        other => panic!("{other:?}"),
    }
}

#[test]
fn options_stand_before_and_after_the_command() {
    let before = read("--config.file a.yml --log.level=debug once --output json").unwrap();
    let after = read("once --output=json --log.level debug --config.file=a.yml").unwrap();
    assert_eq!(before, after);
    let once = Once {
        outputs: vec![(Output::Json, None)],
        max_size: Parsed(1_000_000),
        ..Once::default()
    };
    assert_eq!(before.command, Some(Command::Once(once)));
    assert_eq!(before.options["log.level"], "debug");
    assert_eq!(read("").unwrap().command, None);
}

#[test]
fn a_gate_takes_a_ratio_or_the_targets_and_not_both() {
    let gate = once("acme/* --language=pt-* --require 0.95").unwrap();
    assert_eq!(gate.require.as_deref(), Some(&0.95));
    assert_eq!(gate.repositories[0].glob(), "acme/*");
    assert_eq!(gate.languages[0].glob(), "pt-*");
    for (words, named) in [
        (
            "--require=95",
            "is \"95\"; give a number from 0 to 1, such as 0.95",
        ),
        ("--language=de,fr", "repeat the option"),
        ("acme/a,acme/b", "repeat the option"),
        (
            "--max-size=65",
            "is \"65\"; give a whole number from 2000 to",
        ),
        ("--require=NaN", "is \"NaN\""),
        ("--require=1 --require-targets", "cannot be used with"),
        ("acme/[a", "unclosed character class"),
        ("webshop", "write \"*/webshop\" or \"acme/webshop\""),
        ("--output=xml", "choose one of openmetrics, text, table"),
        ("--output=html=", "the path after = is empty"),
    ] {
        let error = once(words).unwrap_err();
        assert!(error.contains(named), "{error}");
    }
}

#[test]
fn outputs_may_be_repeated() {
    assert_eq!(once("").unwrap().outputs, [(Output::Table, None)]);
    assert_eq!(
        once("--output=html=a=b.html --output badge=b.json --output=table --output=csv")
            .unwrap()
            .outputs,
        [
            (Output::Html, Some("a=b.html".into())),
            (Output::Badge, Some("b.json".into())),
            (Output::Table, None),
            (Output::Csv, None),
        ]
    );
}

#[test]
fn listen_addresses_repeat_before_or_after_the_command() {
    let both = "--web.listen-address=:1 --web.listen-address=:2";
    for words in [format!("{both} serve"), format!("serve {both}")] {
        let cli = read(&words).unwrap();
        assert_eq!(cli.options["web.listen_addresses"], ":1,:2");
    }
}

/// An argument that belongs to no option may be the key.
#[test]
fn a_refused_argument_is_answered_with_its_remedy_and_not_repeated() {
    for (words, remedy) in [
        ("--api.key s3cret", "or set TRANSLATION_EXPORTER_API__KEY\n"),
        ("once --api.key=s3cret", "api.key has no option"),
        ("--api.page-size=3", "api.page_size has no option"),
        ("--api.key-files3cret", "--OPTION=VALUE"),
        ("check-config s3cret", "--OPTION=VALUE"),
        (
            "--output=table once",
            "only the command once takes --output",
        ),
        ("serve --require 1", "only the command once takes --require"),
        ("--poll.intervall 3s", "'--poll.interval'"),
        ("--web.config_file=x", "'--web.config.file'"),
        ("--web.listen_addresses=x", "'--web.listen-address'"),
        ("--api.base_url=x", "'--api.base-url'"),
        (
            "--web.telemetry-path=/m once",
            "once takes no --web.telemetry-path; the commands that take it are serve, check-config, \
             health, demo",
        ),
        ("health --log.level=debug", "health takes no --log.level"),
        ("demo --api.base-url=x", "are serve, check-config, once"),
    ] {
        let error = read(words).unwrap_err();
        assert!(
            error.contains(remedy) && !error.contains("s3cret"),
            "{error}"
        );
    }
}

#[test]
fn help_fits_a_screen_and_shows_each_option_with_its_default() {
    for command in ["", "serve", "once", "check-config", "health", "demo"] {
        let help = read(&format!("{command} --help")).unwrap_err();
        let is_of_command = !command.is_empty();
        assert_eq!(help.contains("\nExample"), is_of_command, "{help}");
        assert_eq!(help.contains("\nExit codes: 0 "), !is_of_command, "{help}");
        let lines = help.lines().count();
        assert!((12..=60).contains(&lines), "{lines} lines:\n{help}");
        assert!(
            help.lines().all(|line| line.chars().count() <= 80),
            "{help}"
        );
        for key in keys() {
            if let Some((flag, value)) = key.option() {
                let is_listed = help.contains(&format!("{flag} <{value}>"));
                assert_eq!(is_listed, commands(key).contains(command), "{help}");
            }
        }
    }
}

#[test]
fn version_reads_like_that_of_a_prometheus_exporter() {
    let text = read("--version").unwrap_err();
    let version = concat!("version ", env!("CARGO_PKG_VERSION"), " (revision: ");
    let start = format!("translation-exporter, {version}");
    assert!(text.starts_with(&start), "{text}");
    assert!(text.contains("\n  rustc version:    "), "{text}");
}
