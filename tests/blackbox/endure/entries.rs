//! One bad entry, or one bad field, costs what is made of it and nothing else.

use super::polls;
use crate::support::{Api, Exposition, Reply, Repo, Setup, Target};

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
fn bad_repositories_cost_themselves_alone() {
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
        r#"{"id":201,"name":"field/no-private","created_at":"2024-05-06T07:08:09Z"}"#,
        r#"{"id":202,"name":"field/bad-private","private":"yes","created_at":"2024-05-06T07:08:09Z"}"#,
        r#"{"id":203,"name":"field/no-created","private":true}"#,
        r#"{"id":204,"name":"field/bad-created","private":true,"created_at":"yesterday"}"#,
        r#"{"id":205,"name":"field/unknown-fields","private":true,"created_at":"2024-05-06T07:08:09Z","x":{"y":[{}]}}"#,
    ];
    entries.extend(good.map(str::to_owned));
    let page = format!("[{}]", entries.join(","));

    let api = Api::start((201..=205).map(|id| Repo::new(id, "served/by-id")));
    api.script(Target::Listing, move |request| request.query("after").is_none().then(|| Reply::json(&*page)));
    let exporter = Setup::for_api(&api).set("poll.interval", "3s").start();
    let metrics = exporter.wait_for("they are read", |metrics| metrics.repositories("fresh") > 4.0);

    let info = |repo, id, private| {
        metrics.value("translation_repository_info", &[("repo", repo), ("id", id), ("private", private)])
    };
    assert_eq!(info("field/no-private", "201", "unknown"), Some(1.0));
    assert_eq!(info("field/bad-private", "202", "unknown"), Some(1.0));
    assert_eq!(info("field/no-created", "203", "true"), Some(1.0));
    assert_eq!(info("field/bad-created", "204", "true"), Some(1.0));
    assert_eq!(info("field/unknown-fields", "205", "true"), Some(1.0));
    assert_eq!(metrics.samples("translation_repository_info").count(), 5);
    let created = metrics.label_values("translation_repository_created_timestamp_seconds", "repo");
    assert_eq!(created, ["field/bad-private", "field/no-private", "field/unknown-fields"]);
    let expected = [("created_at", 2.0), ("id", 11.0), ("name", 5.0), ("not_an_object", 4.0), ("private", 1.0)];
    assert_eq!(invalid(&metrics, "list_repositories"), reasons(&expected));
    assert_eq!(metrics.value("translation_up", &[]), Some(1.0));

    let told = |log: &str| log.lines().filter(|line| line.contains("level=warn")).count();
    let after_one = told(&exporter.log());
    assert!(after_one > 0);
    let seen = polls(&metrics);
    exporter.wait_for("two more polls", |metrics| polls(metrics) >= seen + 2.0);
    assert_eq!(told(&exporter.log()), after_one, "logged once per change");
}

#[test]
fn of_one_id_the_first_entry_is_shown_and_the_others_are_counted() {
    let entry = |id: u64, name: &str| format!(r#"{{"id":{id},"name":"{name}","created_at":"2024-05-06T07:08:09Z"}}"#);
    let page = format!("[{},{},{}]", entry(1, "owner/first"), entry(1, "owner/second"), entry(2, "owner/other"));
    let api = Api::start([Repo::new(1, "served/by-id"), Repo::new(2, "served/by-id")]);
    api.script(Target::Listing, move |request| request.query("after").is_none().then(|| Reply::json(&*page)));
    let exporter = Setup::for_api(&api).set("poll.interval", "1h").start();
    let metrics = exporter.wait_for("they are read", |metrics| metrics.repositories("fresh") > 1.0);
    let shown = metrics.label_values("translation_repository_info", "repo");
    assert_eq!(shown, ["owner/first", "owner/other"]);
    assert_eq!(invalid(&metrics, "list_repositories"), reasons(&[("duplicate_id", 1.0)]));
}

#[test]
fn bad_languages_cost_themselves_alone() {
    let body = r#"[
        null, 7, [], "x",
        {"name": "No code", "completion": 1}, {"code": null}, {"code": 7}, {"code": ""}, {"code": "a", "code": "b"},
        {"code": "de", "name": "German", "completion": 10, "new": {"deep": [[[{}]]]}},
        {"code": "de", "name": "Again", "completion": 20},
        {"code": "fr", "name": 7, "completion": 30},
        {"code": "it", "completion": true},
        {"code": "ja", "name": null, "completion": 40, "completion": 41}
    ]"#;
    let api = Api::start([Repo::new(1, "odd/one").languages_json(body), Repo::new(2, "plain/one")]);
    let exporter = Setup::for_api(&api).set("poll.interval", "1h").start();
    let metrics = exporter.wait_for("they are read", |metrics| metrics.repositories("fresh") > 1.0);
    assert_eq!(metrics.ratio("odd/one", "de"), Some(0.1), "the first of a code is shown");
    assert_eq!(metrics.ratio("odd/one", "fr"), Some(0.3));
    assert_eq!(metrics.ratio("odd/one", "it"), None);
    assert_eq!(metrics.ratio("odd/one", "ja"), None);
    let names: Vec<_> = metrics
        .samples("translation_language_info")
        .filter(|sample| sample.labels["repo"] == "odd/one")
        .map(|sample| (sample.labels["language"].as_str(), sample.labels["name"].as_str()))
        .collect();
    assert_eq!(names, [("de", "German"), ("fr", ""), ("it", ""), ("ja", "")]);
    assert_eq!(metrics.value("translation_repository_languages", &[("repo", "odd/one")]), Some(4.0));
    let expected = [("code", 5.0), ("completion", 2.0), ("duplicate_code", 1.0), ("name", 1.0), ("not_an_object", 4.0)];
    assert_eq!(invalid(&metrics, "list_languages"), reasons(&expected));
    assert_eq!(metrics.repositories("failing"), 0.0);
    assert_eq!(metrics.ratio("plain/one", "de"), Some(0.5));
}

#[test]
fn a_compressed_body_is_read() {
    let api = Api::start([Repo::new(1, "owner/repo")]);
    api.fault(Target::Languages(1), Reply::gzip(r#"[{"code":"de","completion":7}]"#));
    let exporter = Setup::for_api(&api).set("poll.interval", "1h").start();
    exporter.wait_for("it is read", |metrics| metrics.ratio("owner/repo", "de") == Some(0.07));
}
