use super::*;
use crate::{domain::Thresholds, testing};
use proptest::prelude::*;
use std::{path::Path, time::Duration};

mod schema;

const KEY: &str = "not-a-real-key-0001";

fn load(options: &Options, environment: &BTreeMap<String, String>) -> Result<Config, ConfigError> {
    read(options, environment)?.finish()
}

fn options(file: &Path) -> Options {
    Options::from([(CONFIG_FILE, file.display().to_string())])
}

fn environment(variables: &[(&str, &str)]) -> BTreeMap<String, String> {
    variables
        .iter()
        .map(|(name, value)| (name.to_string(), value.to_string()))
        .collect()
}

fn load_text(text: &str) -> Result<Config, ConfigError> {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), text).unwrap();
    load(&options(file.path()), &BTreeMap::new())
}

fn good() -> Config {
    load_text(&format!(
        "api: {{base_url: \"https://api.example.com/a\", key: {KEY}}}\n"
    ))
    .unwrap()
}

#[test]
fn the_path_of_the_base_url_ends_with_a_slash() {
    assert_eq!(good().api.base_url().as_str(), "https://api.example.com/a/");
}

/// The table in the docs shows the texts of all defaults.
#[test]
fn defaults_are_parsed_like_other_values() {
    let Config {
        api, settings, web, ..
    } = good();
    assert_eq!(api.requests_per_second(), Some(10.0));
    assert_eq!(
        (settings.interval, settings.stale_after),
        (Duration::from_secs(300), Duration::from_secs(3600))
    );
    let filter = settings.filter;
    assert!(filter.include.items.is_empty() && filter.exclude.items.is_empty() && *filter.private);
    assert_eq!(
        format!("{:?}", settings.thresholds),
        format!("{:?}", Thresholds::default())
    );
    assert_eq!(*web.listen_addresses, [":10018"]);
    assert!(web.config_file.is_none());
}

#[test]
fn a_star_stays_within_a_segment() {
    let text = format!(
        "api: {{base_url: \"https://a\", key: {KEY}}}\nfilter: {{include: [\"acme/*\"], exclude: \
         [\"**/x\"]}}\n"
    );
    let filter = load_text(&text).unwrap().settings.filter;
    let include = filter.include.0;
    assert!(
        include.is_match("acme/app")
            && !include.is_match("acme/app/deep")
            && !include.is_match("other/app")
    );
    let exclude = filter.exclude.0;
    assert!(exclude.is_match("a/x") && exclude.is_match("a/b/x"));
}

#[test]
fn targets_and_thresholds_are_what_the_file_says() {
    let text = format!(
        "api: {{base_url: \"https://a\", key: {KEY}}}\nthresholds: {{stalled_after: 2d}}\ntargets:\n  - \
         {{languages: [de], due: 2020-01-01, stalled_after: 30d}}\n  - {{repositories: \"acme/*, b/c\", \
         ratio: 0, due: null}}\n"
    );
    let settings = load_text(&text).unwrap().settings;
    let target = |repository, language| {
        let entries = settings.targets.of_repository(repository);
        let target = entries.entry(language)?;
        let days = target.stalled_after.map(|time| time.as_secs() / 86_400);
        Some((target.ratio(), target.due.is_some(), days))
    };
    assert_eq!(target("a/b", "de"), Some((1.0, true, Some(30))));
    let resting = Some((0.0, false, None));
    assert_eq!(
        ["acme/b", "b/c", "a/b"].map(|repository| target(repository, "fr")),
        [resting, resting, None]
    );
    assert_eq!(
        *settings.thresholds.stalled_after,
        Duration::from_secs(2 * 86_400)
    );
}

#[test]
fn zero_requests_per_second_are_unlimited() {
    let text = format!("api: {{base_url: \"https://a\", key: {KEY}, requests_per_second: 0}}\n");
    assert_eq!(load_text(&text).unwrap().api.requests_per_second(), None);
}

#[test]
fn the_active_configuration_as_yaml_is_the_same_configuration() {
    let file = format!(
        "api: {{base_url: \"https://a\", key: {KEY}}}\nfilter: {{include: a/*}}\ntargets:\n  - \
         {{languages: [de, \"pt-*\"], ratio: 0.5, due: 2026-12-24}}\nlinks: {{language: \
         \"https://t/{{id}}\"}}\n"
    );
    let yaml = load_text(&file).unwrap().yaml;
    assert!(!yaml.contains(KEY), "{yaml}");
    assert!(yaml.contains("\n  # interval: 5m  # default\n"), "{yaml}");
    let hidden = "  # key: \"<hidden>\"  # ";
    assert!(yaml.contains(hidden), "{yaml}");
    let pasted = yaml.replace(hidden, &format!("  key: {KEY} # "));
    let values = |yaml: &str| {
        let lines = yaml
            .lines()
            .map(|line| line.rsplit_once("  # ").unwrap_or((line, "")).0);
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(values(&load_text(&pasted).unwrap().yaml), values(&yaml));
}

#[test]
fn debug_output_and_yaml_hide_the_key() {
    let loaded = good();
    assert!(!format!("{loaded:?}{}", loaded.yaml).contains(KEY));
}

#[test]
fn the_address_is_found_whatever_is_wrong_with_other_keys() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(
        file.path(),
        "poll: {interval: soon, intervall: 1m}\nweb: {listen_addresses: [\":1\"]}\n",
    )
    .unwrap();
    let found = read(&options(file.path()), &BTreeMap::new())
        .unwrap()
        .sections
        .web;
    assert_eq!(*found.listen_addresses, [":1"]);
    assert!(found.config_file.is_none());
}

#[test]
fn the_seed_of_the_fuzzer_has_every_key() {
    let text = include_str!("../../tests/fuzz/corpus/configuration/whole");
    let config = load_text(text).unwrap();
    for line in config
        .yaml
        .lines()
        .filter(|line| line.ends_with("# default"))
    {
        assert!(line.starts_with("  # key_file: "), "{line}");
    }
}

/// A character to insert that means something in YAML, or `None` to delete one.
fn character() -> impl Strategy<Value = Option<String>> {
    let inserted = "[ \n:#\"'\\[\\]{}&*!|>?,-]".prop_map(Some);
    prop_oneof![Just(None), inserted]
}

proptest! {
    #![proptest_config(testing::cases(
        std::env::var("SLIPS").map_or(256, |slips| slips.parse().unwrap())
    ))]

    /// Slips of the finger around the key in a file, a variable or an option: no message repeats
    /// the key.
    #[test]
    fn no_slip_makes_an_error_show_the_key(
        layer in 0..3,
        slips in proptest::collection::vec((0_usize..200, character()), 1..4),
    ) {
        let mut text = match layer {
            0 => format!(
                "api:\n  timeout: 30s\n  key: {KEY}\n  base_url: https://api.example.com\n  \
                 page_size: 7\nfilter:\n  include: [a/*]\n"
            ),
            1 => format!("TRANSLATION_EXPORTER_API__KEY={KEY}"),
            _ => format!("--api.key-file={KEY}"),
        };
        for (at, slip) in slips {
            let at = at % (text.len() + 1);
            match slip {
                // The key itself stays as it is.
                _ if text.find(KEY).is_some_and(|key| key < at && at <= key + KEY.len()) => {}
                Some(slip) => text.insert_str(at, &slip),
                None if text.find(KEY) == Some(at) || at == text.len() => {}
                None => { text.remove(at); }
            }
        }
        let message = match layer {
            0 => load_text(&text).err().map(|error| error.to_string()),
            1 => {
                let (name, value) = text.split_once('=').unwrap_or((&text, ""));
                let loaded = load(&Options::default(), &environment(&[(name, value)]));
                loaded.err().map(|error| error.to_string())
            }
            _ => match crate::cli::parse(
                ["translation-exporter"].into_iter().chain(text.split(' ')),
            ) {
                Ok(cli) => load(&cli.options, &BTreeMap::new()).err().map(|error| error.to_string()),
                Err(error) => Some(error.to_string()),
            },
        };
        let message = message.unwrap_or_default();
        prop_assert!(!message.contains(KEY), "{text}\n{message}");
    }
}
