//! The exposition, compared with literal text.

use super::*;
use crate::domain::{
    links::Links,
    targets::{Targets, tests::entry},
};
use crate::support::parsed::Parsed;
use std::{collections::BTreeSet, fs};

pub fn every_condition() -> (Snapshot, PollStatus) {
    let mut rising = record("it", "Italian", Some(10.0), 1_794_000_000_000);
    for day in 1..=12 {
        let read_at = at(1_794_000_000_000 + day * 86_400_000);
        let completion = Some(10.0 + f64::from(i32::try_from(day).unwrap()));
        testing::observe(&mut rising, completion, read_at);
    }
    let known = languages(
        1_795_224_640_120,
        vec![
            fallen("de", 73.4, 1_795_000_000_000, 1_795_100_000_000),
            record("fr", "", None, 0),
            rising,
            record("ja", "Japanese", Some(100.0), 1_795_224_640_120),
        ],
    );
    let old = languages(
        1_795_221_000_000,
        vec![fallen("de", -5.0, 1_795_000_000_007, 1_795_100_000_000)],
    );
    let mut private = shown(42, "acme/app", Condition::Fresh(known));
    Arc::make_mut(&mut private.repository).private = Some(true);
    let mut unclear = shown(44, "acme/cli", Condition::Pending(None));
    let repository = Arc::make_mut(&mut unclear.repository);
    (repository.private, repository.created_at) = (None, None);
    let stale = Condition::Stale {
        languages: languages(
            1_795_210_000_000,
            vec![fallen("de", 10.0, 1_794_000_000_000, 1_795_100_000_000)],
        ),
        failure: Some(Failed::new("the API failed", "wait", at(0))),
    };
    let shown = vec![
        private,
        shown(
            43,
            "acme/bot",
            Condition::Failing(old, Failed::new("the API failed", "wait", at(0))),
        ),
        unclear,
        shown(9, "zoo/z", stale),
    ];
    let targets = Targets(vec![
        entry(&["acme/app"], &["de", "fr"], 0.95, "2026-12-24"),
        entry(&[], &["ja"], 0.0, ""),
    ]);
    let status = PollStatus {
        held_until: Some(at(1_795_224_700_000)),
        ..polled()
    };
    let mut snapshot = Snapshot {
        taken_at: at(1_795_224_645_000),
        ..snapshot(shown)
    };
    snapshot.leave_out(2);
    snapshot.settings.targets = targets;
    (snapshot, status)
}

#[test]
fn each_condition_shows_exactly_the_known_values() {
    let (snapshot, status) = every_condition();
    let text = fixed_text(&publication(snapshot, status));
    assert_samples("every_condition.txt", &text);
}

#[test]
fn links_add_the_url_of_a_repository() {
    let links = Links {
        repository: Parsed::parse_bounded("https://t.example.com/{owner}/{name}").unwrap(),
        language: Parsed(None),
    };
    let pending = shown(7, "acme/c++ \"x\"", Condition::Pending(None));
    let mut snapshot = snapshot(vec![pending]);
    snapshot.settings.links = links;
    let text = fixed_text(&publication(snapshot, polled()));
    let url = "https://t.example.com/acme/c%2B%2B%20%22x%22";
    let labels = format!(r#"repo="acme/c++ \"x\"",id="7",private="false",url="{url}""#);
    assert_eq!(
        samples(&text, "translation_repository_info"),
        [format!("translation_repository_info{{{labels}}} 1")]
    );
}

#[test]
fn before_the_end_of_the_first_poll_polls_and_data_are_absent() {
    let text = fixed_text(&publication(snapshot(Vec::new()), starting()));
    for absent in [
        "translation_up",
        "translation_exporter_last_",
        "translation_exporter_repositories",
        "translation_exporter_translations",
    ] {
        assert_eq!(samples(&text, absent), [""; 0]);
    }
}

#[test]
fn an_account_without_repositories_counts_0_in_each_state() {
    let text = fixed_text(&publication(snapshot(Vec::new()), polled()));
    assert_eq!(
        samples(&text, "translation_exporter_repositories"),
        ["filtered", "pending", "fresh", "failing", "stale"]
            .map(|state| format!("translation_exporter_repositories{{state=\"{state}\"}} 0"))
    );
}

#[test]
fn a_failed_listing_shows_and_keeps_the_data() {
    let known = languages(5000, vec![record("de", "German", Some(10.0), 1000)]);
    let mut status = polled();
    status.last.as_mut().unwrap().is_listed = false;
    let text = fixed_text(&publication(
        snapshot(vec![shown(1, "a/b", Condition::Fresh(known))]),
        status,
    ));
    assert_eq!(samples(&text, "translation_up"), ["translation_up 0"]);
    assert_eq!(
        samples(&text, "translation_completion"),
        ["translation_completion_ratio{repo=\"a/b\",language=\"de\"} 0.1"]
    );
}

#[test]
fn backslashes_quotes_and_line_feeds_in_labels_are_escaped() {
    let known = languages(5000, vec![record("x\ny", "\\\"née\"\n", Some(10.0), 1000)]);
    let text = fixed_text(&publication(
        snapshot(vec![shown(1, "a\\b/\"c\"", Condition::Fresh(known))]),
        polled(),
    ));
    assert_eq!(
        samples(&text, "translation_language_info"),
        [r#"translation_language_info{language="x\ny",name="\\\"née\"\n"} 1"#]
    );
}

#[test]
fn a_code_has_the_name_that_the_first_repository_gives_it() {
    let read = |id, de: &str, fr: &str| {
        let records = vec![record("de", de, None, 0), record("fr", fr, None, 0)];
        let condition = Condition::Fresh(languages(0, records));
        shown(id, &format!("a/{id}"), condition)
    };
    let repositories = vec![read(1, "", "French"), read(2, "German", "Français")];
    let text = fixed_text(&publication(snapshot(repositories), polled()));
    assert_eq!(
        samples(&text, "translation_language_info"),
        [
            r#"translation_language_info{language="de",name="German"} 1"#,
            r#"translation_language_info{language="fr",name="French"} 1"#,
        ]
    );
}

#[test]
fn openmetrics_names_a_counter_and_ends_with_eof_and_text_names_its_samples() {
    let instruments = Instruments::new(Some("/metrics"));
    for (format, name, end) in [
        (
            ExpositionFormat::OpenMetrics,
            "translation_exporter_polls",
            "# EOF\n",
        ),
        (
            ExpositionFormat::Text,
            "translation_exporter_polls_total",
            "",
        ),
    ] {
        let text = instruments_in(format, &instruments);
        let family = format!(
            "# HELP {name} Polls of the API that have ended.\n# TYPE {name} counter\n\
             translation_exporter_polls_total 0\n"
        );
        assert!(text.contains(&family), "{text}");
        let (_, after) = text.split_at(text.find("# EOF").unwrap_or(text.len()));
        assert_eq!(after, end);
    }
}

/// Compares the samples of `text` with a file beside this one, or writes it. The file shows how the
/// exposition looks, not which metrics there are: only the metrics that it has count.
#[track_caller]
fn assert_samples(file: &str, text: &str) {
    let path = format!("src/metrics/exposition/tests/{file}");
    let expected = fs::read_to_string(&path).unwrap();
    let name = |line: &str| line.split(['{', ' ']).next().map(str::to_owned);
    let names: BTreeSet<_> = expected.lines().map(name).collect();
    let lines = text.split_inclusive('\n');
    let ours: String = lines.filter(|line| names.contains(&name(line))).collect();
    if std::env::var_os("UPDATE").is_some() {
        return fs::write(&path, ours).unwrap();
    }
    let [before, now] = [&expected, &ours].map(|text| text.lines().collect::<BTreeSet<_>>());
    let [gone, new] = [&before - &now, &now - &before];
    assert!(
        ours == expected,
        "the exposition differs from {path}: gone {gone:#?}, new {new:#?}\nIf it is right, \
         `UPDATE=1 cargo test --lib golden` writes the file."
    );
}

#[test]
fn the_first_scrape_of_a_fresh_exporter() {
    let instruments = Instruments::new(Some("/metrics"));
    let publication = publication(snapshot(Vec::new()), starting());
    let text = text(&publication, ExpositionFormat::Text, &instruments);
    // The registry keeps no order.
    let mut lines: Vec<_> = text.split_inclusive('\n').collect();
    lines.sort_unstable();
    assert_samples("first_scrape.txt", &lines.concat());
}
