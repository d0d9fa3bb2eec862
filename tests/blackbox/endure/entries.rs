//! A bad entry, or a bad field, affects what is made of it and nothing else.

use crate::support::{
    Api, Exposition, Reply, Repo, Setup, Target,
    exposition::{CLOCK, INFO},
};

/// How many entries were counted as invalid, by reason.
fn invalid(metrics: &Exposition, operation: &str) -> Vec<(String, f64)> {
    let samples = metrics.samples("translation_exporter_invalid_entries_total");
    let samples = samples.filter(|sample| sample.labels["operation"] == operation && sample.value > 0.0);
    let mut reasons: Vec<_> = samples.map(|sample| (sample.labels["reason"].clone(), sample.value)).collect();
    reasons.sort_by(|a, b| a.0.cmp(&b.0));
    reasons
}

fn reasons(expected: &[(&str, f64)]) -> Vec<(String, f64)> {
    expected.iter().map(|(reason, count)| ((*reason).to_owned(), *count)).collect()
}

#[test]
fn a_bad_repository_affects_nothing_else_and_is_logged_once() {
    let whole = r#""private":false,"created_at":"2024-05-06T07:08:09Z""#;
    let mut entries = vec!["null".into(), "7".into(), "[]".into(), "\"x\"".into()];
    let bad_ids = ["0", "-1", "9223372036854775808", "1.5", "\"\"", "\"1e3\"", "\" 1\"", "null", "true", "{}"];
    entries.extend(bad_ids.map(|id| format!(r#"{{"id":{id},"name":"bad/id",{whole}}}"#)));
    entries.push(format!(r#"{{"name":"bad/no-id",{whole}}}"#));
    for (id, name) in (101..).zip(["null", "7", "\"\"", "[\"x\"]"]) {
        entries.push(format!(r#"{{"id":{id},"name":{name},{whole}}}"#));
    }
    entries.push(format!(r#"{{"id":105,{whole}}}"#));
    let good = [
        r#"{"id":200,"name":"field/unknown-fields","created_at":"2024-05-06T07:08:09Z"}"#,
        r#"{"id":201,"name":"field/no-private","created_at":"2024-05-06T07:08:09Z"}"#,
        r#"{"id":201,"name":"field/second-of-its-id","created_at":"2024-05-06T07:08:09Z"}"#,
        r#"{"id":202,"name":"field/bad-private","private":"yes","created_at":"2024-05-06T07:08:09Z"}"#,
        r#"{"id":203,"name":"field/no-created","private":true}"#,
        r#"{"id":204,"name":"field/bad-created","private":true,"created_at":"yesterday"}"#,
        r#"{"id":205,"name":"field/unknown-fields","private":true,"created_at":"2024-05-06T07:08:09Z","x":{"y":[{}]}}"#,
    ];
    entries.extend(good.map(str::to_owned));
    let page = format!("[{}]", entries.join(","));

    let api = Api::start((200..=205).map(|id| Repo::new(id, "served/by-id")));
    api.script(Target::Listing, move |request| request.query("after").is_none().then(|| Reply::json(&*page)));
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
    assert_eq!(created, ["field/bad-private", "field/no-private", "field/unknown-fields"]);
    let expected = [
        ("created_at", 2.0),
        ("duplicate_id", 1.0),
        ("duplicate_name", 1.0),
        ("id", 11.0),
        ("name", 5.0),
        ("not_an_object", 4.0),
        ("private", 1.0),
    ];
    assert_eq!(invalid(&metrics, "list_repositories"), reasons(&expected));

    let metrics = exporter.wait_for_polls(1.0);
    assert_eq!(metrics.up(), Some(1.0));
    let warnings = || exporter.log().lines().filter(|line| line.contains("level=warn")).count();
    let after_one = warnings();
    assert!(after_one > 0);
    exporter.wait_for_polls(1.0);
    assert_eq!(warnings(), after_one, "logged once per change");
}

#[test]
fn a_bad_language_affects_nothing_else_and_only_a_number_becomes_a_ratio_and_a_clock() {
    let body = r#"[
        null, 7, [], "x",
        {"name": "No code", "completion": 1}, {"code": null}, {"code": 7}, {"code": ""}, {"code": "a", "code": "b"},
        {"code": "de", "name": "German", "completion": 10, "new": {"deep": [[[{}]]]}},
        {"code": "de", "name": "Again", "completion": 20},
        {"code": "fr", "name": 7, "completion": 30},
        {"code": "boolean", "completion": true},
        {"code": "twice", "name": null, "completion": 40, "completion": 41},
        {"code": "text", "completion": "50"},
        {"code": "missing"},
        {"code": "null", "completion": null},
        {"code": "negative", "completion": -5},
        {"code": "above", "completion": 101},
        {"code": "zero", "completion": 0},
        {"code": "huge", "completion": 1e308}
    ]"#;
    let api = Api::start([Repo::new(1, "odd/one"), Repo::new(2, "plain/one")]);
    api.fault(Target::Languages(1), Reply::gzip(body));
    let exporter = Setup::for_api(&api).set("poll.interval", "1h").start();
    let metrics = exporter.wait_until_fresh(2);
    let expected = [
        ("de", "German", Some(0.1)),
        ("fr", "", Some(0.3)),
        ("boolean", "", None),
        ("twice", "", None),
        ("text", "", None),
        ("missing", "", None),
        ("null", "", None),
        ("negative", "", Some(-0.05)),
        ("above", "", Some(1.01)),
        ("zero", "", Some(0.0)),
        ("huge", "", Some(1e306)),
    ];
    for (code, name, ratio) in expected {
        let labels = [("repo", "odd/one"), ("language", code), ("name", name)];
        assert_eq!(metrics.value("translation_language_info", &labels), Some(1.0), "{code}");
        assert_eq!(metrics.ratio("odd/one", code), ratio, "{code}");
        assert_eq!(metrics.clock("odd/one", code).is_some(), ratio.is_some(), "{code}");
    }
    assert_eq!(metrics.value("translation_repository_languages", &[("repo", "odd/one")]), Some(11.0));
    assert_eq!(metrics.value("translation_exporter_completion_out_of_scale", &[]), Some(3.0));
    let expected = [("code", 5.0), ("completion", 3.0), ("duplicate_code", 1.0), ("name", 1.0), ("not_an_object", 4.0)];
    assert_eq!(invalid(&metrics, "list_languages"), reasons(&expected));
    assert_eq!(metrics.ratio("plain/one", "de"), Some(0.5));
}

#[test]
fn the_clock_of_a_language_starts_with_its_first_completion() {
    let api = Api::start([Repo::new(1, "owner/repo").languages_json(r#"[{"code":"de"}]"#)]);
    let exporter = Setup::for_api(&api).start();
    let before = exporter.wait_until_fresh(1);
    assert_eq!(before.count(CLOCK), 0);
    let seen = before.value("translation_repository_last_success_timestamp_seconds", &[("repo", "owner/repo")]);
    exporter.wait_for_polls(1.0);
    api.put([Repo::new(1, "owner/repo").languages(&[("de", 7.0)])]);
    let after = exporter.wait_for("a completion", |metrics| metrics.ratio("owner/repo", "de") == Some(0.07));
    assert!(after.clock("owner/repo", "de") > seen);
}
