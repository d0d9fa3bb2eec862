//! Bad entries: a bad entry or field affects only its own series.

use crate::support::{Api, Exposition, Reply, Setup, Target, exposition::INFO, repo};

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
    let bad = repo(205).languages_json(r#"[null, {"code": "de", "completion": -5}]"#);
    let api = Api::start((200..=204).map(repo).chain([bad]));
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
        "created_at 1, duplicate_id 1, duplicate_name 1, id 1, name 1, not_an_object 1, private 1";
    assert_eq!(invalid(&metrics, "list_repositories"), expected);
    assert_eq!(invalid(&metrics, "list_languages"), "not_an_object 1");
    let out_of_scale = "translation_exporter_completion_out_of_scale";
    assert_eq!(metrics.value(out_of_scale, &[]), Some(1.0));

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
