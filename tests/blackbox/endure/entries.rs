//! Bad entries: a bad entry or field affects only its own series.

use crate::support::{
    Api, Exposition, Reply, Repo, Setup, Target,
    exposition::{CLOCK, INFO},
    repo,
};

/// Returns the number of invalid entries by reason.
fn invalid(metrics: &Exposition, operation: &str) -> String {
    let samples = metrics.samples("translation_exporter_invalid_entries_total");
    let samples =
        samples.filter(|sample| sample.labels["operation"] == operation && sample.value > 0.0);
    let mut reasons: Vec<_> = samples
        .map(|sample| format!("{} {}", sample.labels["reason"], sample.value))
        .collect();
    reasons.sort();
    reasons.join(", ")
}

#[test]
fn a_bad_repository_affects_nothing_else_and_is_logged_once() {
    let page = r#"[
        null,
        {"id": 0, "name": "bad/id", "private": false, "created_at": "2024-05-06T07:08:09Z"},
        {"id": 101, "name": 7, "private": false, "created_at": "2024-05-06T07:08:09Z"},
        {"id": 200, "name": "field/unknown-fields", "created_at": "2024-05-06T07:08:09Z"},
        {"id": 201, "name": "field/no-private", "created_at": "2024-05-06T07:08:09Z"},
        {"id": 201, "name": "field/second-of-its-id", "created_at": "2024-05-06T07:08:09Z"},
        {"id": 202, "name": "field/bad-private", "private": "yes",
         "created_at": "2024-05-06T07:08:09Z"},
        {"id": 203, "name": "field/no-created", "private": true},
        {"id": 204, "name": "field/bad-created", "private": true, "created_at": "yesterday"},
        {"id": 205, "name": "field/unknown-fields", "private": true,
         "created_at": "2024-05-06T07:08:09Z", "x": [{}]}
    ]"#;
    let api = Api::start((200..=205).map(repo));
    api.script(Target::Listing, move |request| {
        request.query("after").is_none().then(|| Reply::json(page))
    });
    let exporter = Setup::for_api(&api).set("poll.interval", "2s").start();
    let metrics = exporter.wait_until_fresh(5);

    for (repo, id, private) in [
        ("field/no-private", "201", "unknown"),
        ("field/bad-private", "202", "unknown"),
        ("field/no-created", "203", "true"),
        ("field/bad-created", "204", "true"),
        ("field/unknown-fields", "205", "true"),
    ] {
        let labels = [("repo", repo), ("id", id), ("private", private)];
        assert_eq!(metrics.value(INFO, &labels), Some(1.0), "{repo}");
    }
    assert_eq!(metrics.count(INFO), 5);
    let created = metrics.label_values("translation_repository_created_timestamp_seconds", "repo");
    assert_eq!(
        created,
        [
            "field/bad-private",
            "field/no-private",
            "field/unknown-fields"
        ]
    );
    let expected =
        "created_at 2, duplicate_id 1, duplicate_name 1, id 1, name 1, not_an_object 1, private 1";
    assert_eq!(invalid(&metrics, "list_repositories"), expected);

    let metrics = exporter.wait_for_polls(1.0);
    assert_eq!(metrics.up(), Some(1.0));
    let warnings = || {
        exporter
            .log()
            .lines()
            .filter(|line| line.contains("level=warn"))
            .count()
    };
    let after_one = warnings();
    assert!(after_one > 0);
    exporter.wait_for_polls(1.0);
    assert_eq!(warnings(), after_one, "logged once per change");
}

#[test]
fn a_bad_language_affects_no_other_and_only_numbers_become_ratios() {
    let body = r#"[
        null,
        {"code": 7, "completion": 1},
        {"code": "de", "name": "German", "completion": 10, "new": {"deep": [[[{}]]]}},
        {"code": "de", "name": "Again", "completion": 20},
        {"code": "fr", "name": 7, "completion": 30},
        {"code": "text", "completion": "50"},
        {"code": "missing"},
        {"code": "null", "completion": null},
        {"code": "negative", "completion": -5},
        {"code": "huge", "completion": 1e308}
    ]"#;
    let api = Api::of(2);
    api.fault(Target::Languages(1), Reply::gzip(body));
    let exporter = Setup::for_api(&api).set("poll.interval", "1h").start();
    let metrics = exporter.wait_until_fresh(2);
    for (code, name, ratio) in [
        ("de", "German", Some(0.1)),
        ("fr", "", Some(0.3)),
        ("text", "", None),
        ("missing", "", None),
        ("null", "", None),
        ("negative", "", Some(-0.05)),
        ("huge", "", Some(1e306)),
    ] {
        let labels = [("language", code), ("name", name)];
        assert_eq!(
            metrics.value("translation_language_info", &labels),
            Some(1.0),
            "{code}"
        );
        assert_eq!(metrics.ratio("owner/repo-1", code), ratio, "{code}");
        assert_eq!(
            metrics.clock("owner/repo-1", code).is_some(),
            ratio.is_some(),
            "{code}"
        );
    }
    assert_eq!(
        metrics.value(
            "translation_repository_languages",
            &[("repo", "owner/repo-1")]
        ),
        Some(7.0)
    );
    assert_eq!(
        metrics.value("translation_exporter_completion_out_of_scale", &[]),
        Some(2.0)
    );
    let expected = "code 1, completion 1, duplicate_code 1, name 1, not_an_object 1";
    assert_eq!(invalid(&metrics, "list_languages"), expected);
    assert_eq!(metrics.ratio("owner/repo-2", "de"), Some(0.5));
}

#[test]
fn the_clock_of_a_language_starts_with_its_first_completion() {
    let api = Api::start([Repo::new(1, "owner/repo").languages_json(r#"[{"code":"de"}]"#)]);
    let exporter = Setup::for_api(&api).start();
    let before = exporter.wait_until_fresh(1);
    assert_eq!(before.count(CLOCK), 0);
    let seen = before.value(
        "translation_repository_last_success_timestamp_seconds",
        &[("repo", "owner/repo")],
    );
    exporter.wait_for_polls(1.0);
    api.put([Repo::new(1, "owner/repo").languages(&[("de", 7.0)])]);
    let after = exporter.wait_for("a completion", |metrics| {
        metrics.ratio("owner/repo", "de") == Some(0.07)
    });
    assert!(after.clock("owner/repo", "de") > seen);
}
