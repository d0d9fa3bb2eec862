//! What users read, literally.

use super::*;
use crate::domain::{
    links::{Links, Template},
    targets::{Targets, tests::entry},
};

#[test]
#[expect(
    clippy::too_many_lines,
    reason = "the whole text, to be read as a whole"
)]
fn every_condition_shows_what_is_known_and_nothing_else() {
    let known = languages(
        1_795_224_640_120,
        vec![
            reading("de", "German", Some(73.4), 1_795_000_000_000),
            reading("fr", "", None, 0),
            reading("ja", "Japanese", Some(100.0), 1_795_224_640_120),
        ],
    );
    let old = languages(
        1_795_221_000_000,
        vec![reading("de", "German", Some(-5.0), 1_795_000_000_007)],
    );
    let mut private = shown(42, "acme/app", Condition::Fresh(known));
    Arc::make_mut(&mut private.repository).private = Some(true);
    let mut unclear = shown(44, "acme/cli", Condition::Pending(None));
    let repository = Arc::make_mut(&mut unclear.repository);
    (repository.private, repository.created_at) = (None, None);
    let stale = Condition::Stale {
        read_at: at(1_795_210_000_000),
        failure: Some(read_failure()),
    };
    let shown = vec![
        private,
        shown(43, "acme/bot", Condition::Failing(old, read_failure())),
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
    let text = fixed_text(&published(
        Snapshot {
            filtered: 2,
            targets: Arc::new(targets),
            falls: falls(&[(42, "de"), (42, "fr"), (42, "ja"), (43, "de"), (9, "de")]),
            ..snapshot(shown)
        },
        status,
    ));
    assert_eq!(
        text,
        r#"# HELP translation_completion_ratio Reported completion of a language divided by api.completion_scale, not clamped; read from the API every poll.interval, not at the scrape.
# TYPE translation_completion_ratio gauge
# UNIT translation_completion_ratio ratio
translation_completion_ratio{repo="acme/app",language="de"} 0.734
translation_completion_ratio{repo="acme/app",language="ja"} 1.0
translation_completion_ratio{repo="acme/bot",language="de"} -0.05
# HELP translation_last_progress_timestamp_seconds When completion was last seen to rise, or first seen, or seen to fall from complete, whichever was last; read from the API every poll.interval, not at the scrape.
# TYPE translation_last_progress_timestamp_seconds gauge
# UNIT translation_last_progress_timestamp_seconds seconds
translation_last_progress_timestamp_seconds{repo="acme/app",language="de"} 1795000000.0
translation_last_progress_timestamp_seconds{repo="acme/app",language="ja"} 1795224640.12
translation_last_progress_timestamp_seconds{repo="acme/bot",language="de"} 1795000000.007
# HELP translation_fallen_from_ratio Completion ratio before a fall, of several the highest; present until it is reached again, or for 7 days after the last fall; read from the API every poll.interval, not at the scrape.
# TYPE translation_fallen_from_ratio gauge
# UNIT translation_fallen_from_ratio ratio
translation_fallen_from_ratio{repo="acme/app",language="de"} 0.92
translation_fallen_from_ratio{repo="acme/app",language="fr"} 0.92
translation_fallen_from_ratio{repo="acme/bot",language="de"} 0.92
# HELP translation_target_ratio Completion ratio at which a language is ready, from the entry of targets that matches it; read from the API every poll.interval, not at the scrape.
# TYPE translation_target_ratio gauge
# UNIT translation_target_ratio ratio
translation_target_ratio{repo="acme/app",language="de"} 0.95
translation_target_ratio{repo="acme/app",language="fr"} 0.95
translation_target_ratio{repo="acme/app",language="ja"} 0.0
# HELP translation_target_due_timestamp_seconds When a language must be ready, from the entry of targets that matches it; read from the API every poll.interval, not at the scrape.
# TYPE translation_target_due_timestamp_seconds gauge
# UNIT translation_target_due_timestamp_seconds seconds
translation_target_due_timestamp_seconds{repo="acme/app",language="de"} 1798156799.0
translation_target_due_timestamp_seconds{repo="acme/app",language="fr"} 1798156799.0
# HELP translation_language_info Name of a language, the one that most repositories give it, empty if it has none; always 1; read from the API every poll.interval, not at the scrape.
# TYPE translation_language_info gauge
translation_language_info{language="de",name="German"} 1
translation_language_info{language="fr",name=""} 1
translation_language_info{language="ja",name="Japanese"} 1
# HELP translation_repository_info Id of a repository, whether it is private: true, false or unknown, and its url if links.repository is set; always 1; read from the API every poll.interval, not at the scrape.
# TYPE translation_repository_info gauge
translation_repository_info{repo="acme/app",id="42",private="true"} 1
translation_repository_info{repo="acme/bot",id="43",private="false"} 1
translation_repository_info{repo="acme/cli",id="44",private="unknown"} 1
translation_repository_info{repo="zoo/z",id="9",private="false"} 1
# HELP translation_repository_created_timestamp_seconds When a repository was created; read from the API every poll.interval, not at the scrape.
# TYPE translation_repository_created_timestamp_seconds gauge
# UNIT translation_repository_created_timestamp_seconds seconds
translation_repository_created_timestamp_seconds{repo="acme/app"} 1700000000.0
translation_repository_created_timestamp_seconds{repo="acme/bot"} 1700000000.0
translation_repository_created_timestamp_seconds{repo="zoo/z"} 1700000000.0
# HELP translation_repository_languages Target languages configured for a repository; read from the API every poll.interval, not at the scrape.
# TYPE translation_repository_languages gauge
translation_repository_languages{repo="acme/app"} 3
translation_repository_languages{repo="acme/bot"} 1
# HELP translation_repository_last_success_timestamp_seconds When the languages of a repository were last read in full; read from the API every poll.interval, not at the scrape.
# TYPE translation_repository_last_success_timestamp_seconds gauge
# UNIT translation_repository_last_success_timestamp_seconds seconds
translation_repository_last_success_timestamp_seconds{repo="acme/app"} 1795224640.12
translation_repository_last_success_timestamp_seconds{repo="acme/bot"} 1795221000.0
translation_repository_last_success_timestamp_seconds{repo="zoo/z"} 1795210000.0
# HELP translation_up 1 if the last poll could list all repositories, 0 if not.
# TYPE translation_up gauge
translation_up 1
# HELP translation_exporter_last_poll_timestamp_seconds When the last poll ended.
# TYPE translation_exporter_last_poll_timestamp_seconds gauge
# UNIT translation_exporter_last_poll_timestamp_seconds seconds
translation_exporter_last_poll_timestamp_seconds 1795224645.123
# HELP translation_exporter_last_poll_duration_seconds Time that the last poll took.
# TYPE translation_exporter_last_poll_duration_seconds gauge
# UNIT translation_exporter_last_poll_duration_seconds seconds
translation_exporter_last_poll_duration_seconds 1.5
# HELP translation_exporter_listing_complete 1 if the last listing of the repositories reached its end, 0 if not.
# TYPE translation_exporter_listing_complete gauge
translation_exporter_listing_complete 1
# HELP translation_exporter_last_success_timestamp_seconds When a poll last read everything.
# TYPE translation_exporter_last_success_timestamp_seconds gauge
# UNIT translation_exporter_last_success_timestamp_seconds seconds
translation_exporter_last_success_timestamp_seconds 1795224345.0
# HELP translation_exporter_poll_interval_seconds poll.interval: time from the start of a poll to the start of the next.
# TYPE translation_exporter_poll_interval_seconds gauge
# UNIT translation_exporter_poll_interval_seconds seconds
translation_exporter_poll_interval_seconds 300.0
# HELP translation_exporter_api_held_until_timestamp_seconds Until when Retry-After holds all requests; absent while it does not.
# TYPE translation_exporter_api_held_until_timestamp_seconds gauge
# UNIT translation_exporter_api_held_until_timestamp_seconds seconds
translation_exporter_api_held_until_timestamp_seconds 1795224700.0
# HELP translation_exporter_completion_scale api.completion_scale: the reported completion that means finished.
# TYPE translation_exporter_completion_scale gauge
translation_exporter_completion_scale 100.0
# HELP translation_exporter_repositories Repositories of the listing, each in one state.
# TYPE translation_exporter_repositories gauge
translation_exporter_repositories{state="filtered"} 2
translation_exporter_repositories{state="pending"} 1
translation_exporter_repositories{state="fresh"} 1
translation_exporter_repositories{state="failing"} 1
translation_exporter_repositories{state="stale"} 1
# HELP translation_exporter_languages Languages that are served, over all repositories.
# TYPE translation_exporter_languages gauge
translation_exporter_languages 4
# HELP translation_exporter_completion_out_of_scale Languages whose reported completion is below 0 or above api.completion_scale.
# TYPE translation_exporter_completion_out_of_scale gauge
translation_exporter_completion_out_of_scale 1
# HELP translation_exporter_completion_scale_suspect 1 while a reported completion is above 0 and none is above 1, though api.completion_scale is: the API may report 0 to 1.
# TYPE translation_exporter_completion_scale_suspect gauge
translation_exporter_completion_scale_suspect 0
"#
    );
}

#[test]
fn with_links_a_repository_has_the_url_where_it_is_translated() {
    let links = Links {
        repository: Template::of_repository("https://t.example.com/{owner}/{name}").ok(),
        language: None,
    };
    let text = fixed_text(&published(
        Snapshot {
            links: Arc::new(links),
            ..snapshot(vec![shown(7, "acme/c++ \"x\"", Condition::Pending(None))])
        },
        polled(),
    ));
    assert_eq!(
        samples(&text, "translation_repository_info"),
        [
            r#"translation_repository_info{repo="acme/c++ \"x\"",id="7",private="false",url="https://t.example.com/acme/c%2B%2B%20%22x%22"} 1"#
        ]
    );
}

#[test]
fn a_fall_is_shown_for_7_days_and_a_resting_language_has_none() {
    let fallen = |days: i64, target: f64| {
        let known = languages(0, vec![reading("de", "German", Some(10.0), 0)]);
        let mut snapshot = snapshot(vec![shown(1, "a/b", Condition::Fresh(known))]);
        snapshot.taken_at = at(days * 86_400_000 - 1);
        snapshot.targets = Arc::new(Targets(vec![entry(&[], &[], target, "")]));
        snapshot.falls = falls(&[(1, "de"), (1, "fr"), (2, "de")]);
        let text = fixed_text(&published(snapshot, polled()));
        samples(&text, "translation_fallen").concat()
    };
    let de = r#"translation_fallen_from_ratio{repo="a/b",language="de"} 0.92"#;
    assert_eq!(fallen(7, 1.0), de);
    assert_eq!(fallen(8, 1.0), "");
    assert_eq!(fallen(7, 0.0), "");
}

#[test]
fn before_a_first_poll_has_ended_nothing_is_said_of_polls_or_data() {
    let text = fixed_text(&published(snapshot(Vec::new()), starting()));
    assert_eq!(
        samples(&text, "translation"),
        [
            "translation_exporter_poll_interval_seconds 300.0",
            "translation_exporter_completion_scale 100.0"
        ]
    );
}

#[test]
fn an_account_without_repositories_has_none_in_each_state() {
    let text = fixed_text(&published(snapshot(Vec::new()), polled()));
    assert_eq!(
        samples(&text, "translation_exporter_repositories"),
        ["filtered", "pending", "fresh", "failing", "stale"]
            .map(|state| format!("translation_exporter_repositories{{state=\"{state}\"}} 0"))
    );
    assert_eq!(
        samples(&text, "translation_exporter_languages"),
        ["translation_exporter_languages 0"]
    );
}

#[test]
fn a_failed_listing_shows_and_keeps_the_data() {
    let known = languages(5000, vec![reading("de", "German", Some(10.0), 1000)]);
    let mut status = polled();
    status.last.as_mut().unwrap().listing = Some(failure());
    let text = fixed_text(&published(
        snapshot(vec![shown(1, "a/b", Condition::Fresh(known))]),
        status,
    ));
    assert_eq!(samples(&text, "translation_up"), ["translation_up 0"]);
    assert_eq!(
        samples(&text, "translation_exporter_listing"),
        ["translation_exporter_listing_complete 0"]
    );
    assert_eq!(
        samples(&text, "translation_completion"),
        ["translation_completion_ratio{repo=\"a/b\",language=\"de\"} 0.1"]
    );
}

#[test]
fn backslashes_quotes_and_line_feeds_in_labels_are_escaped() {
    let known = languages(5000, vec![reading("x\ny", "\\\"née\"\n", Some(10.0), 1000)]);
    let text = fixed_text(&published(
        snapshot(vec![shown(1, "a\\b/\"c\"", Condition::Fresh(known))]),
        polled(),
    ));
    assert_eq!(
        samples(&text, "translation_language_info"),
        [r#"translation_language_info{language="x\ny",name="\\\"née\"\n"} 1"#]
    );
}

#[test]
fn a_code_has_the_name_that_most_repositories_give_it() {
    let read = |id, de: &str, fr: &str| {
        let readings = vec![reading("de", de, None, 0), reading("fr", fr, None, 0)];
        let condition = Condition::Fresh(languages(0, readings));
        shown(id, &format!("a/{id}"), condition)
    };
    let repositories = vec![
        read(1, "Deutsch", "French"),
        read(2, "German", "Français"),
        read(3, "German", ""),
    ];
    let text = fixed_text(&published(snapshot(repositories), polled()));
    assert_eq!(
        samples(&text, "translation_language_info"),
        [
            r#"translation_language_info{language="de",name="German"} 1"#,
            r#"translation_language_info{language="fr",name="Français"} 1"#,
        ],
        "of two as frequent the first by order"
    );
}

#[test]
fn a_scale_is_suspect_while_everything_reported_is_at_most_1() {
    let suspect = |completions: &[f64], scale: f64| {
        let readings = (0..)
            .zip(completions)
            .map(|(n, value)| reading(&format!("l{n}"), "", Some(*value), 0))
            .collect();
        let mut snapshot = snapshot(vec![shown(
            1,
            "a/b",
            Condition::Fresh(languages(0, readings)),
        )]);
        snapshot.completion_scale = scale;
        let text = fixed_text(&published(snapshot, polled()));
        samples(&text, "translation_exporter_completion_scale_suspect")
            .concat()
            .ends_with(" 1")
    };
    assert!(suspect(&[0.0, 0.4, 1.0], 100.0));
    assert!(!suspect(&[0.0, 0.4, 1.5], 100.0), "one is above 1");
    assert!(!suspect(&[0.0, 0.0], 100.0), "nothing is above 0");
    assert!(!suspect(&[0.4], 1.0), "the scale is 1");
    assert!(!suspect(&[], 100.0), "nothing is reported");
}

/// The samples of a family come in no fixed order.
fn sorted(text: &str) -> String {
    let mut families: Vec<Vec<&str>> = Vec::new();
    for line in text.lines() {
        if line.starts_with("# HELP ") {
            families.push(Vec::new());
        }
        families.last_mut().unwrap().push(line);
    }
    for family in &mut families {
        family[2..].sort_unstable();
    }
    families.concat().join("\n") + "\n"
}

#[test]
fn the_first_scrape_of_a_fresh_exporter() {
    let instruments = Instruments::new("/metrics");
    instruments.config_loaded(Ok(()), at(1_795_224_645_123));
    let published = published(snapshot(Vec::new()), starting());
    let text = text(&published, Format::Text, &instruments);
    let is_ours = |line: &&str| !line.contains("process_") && !line.contains("build_info{");
    let ours: Vec<_> = text.lines().filter(is_ours).collect();
    let ours = sorted(&ours.join("\n"));
    assert_eq!(ours, include_str!("first_scrape.txt"));
}
