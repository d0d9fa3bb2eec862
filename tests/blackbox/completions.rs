//! Whatever the API reports as completion, nothing is invented and nothing else is affected.

use crate::support::{Api, Repo, Setup};

const LANGUAGES: &str = r#"[
    {"code": "missing", "name": "Missing"},
    {"code": "null", "name": "Null", "completion": null},
    {"code": "string", "name": "String", "completion": "50"},
    {"code": "negative", "name": "Negative", "completion": -5},
    {"code": "above", "name": "Above", "completion": 101},
    {"code": "zero", "name": "Zero", "completion": 0},
    {"code": "huge", "name": "Huge", "completion": 1e308},
    {"code": "usual", "name": "Usual", "completion": 42.5}
]"#;

#[test]
fn only_a_number_becomes_a_ratio_and_a_clock() {
    let api = Api::start([Repo::new(1, "odd/one").languages_json(LANGUAGES), Repo::new(2, "plain/one")]);
    let exporter = Setup::for_api(&api).start();
    exporter.wait_for("both are read", |metrics| metrics.repositories("fresh") > 1.0);
    let metrics = exporter.wait_for_polls(1.0);

    for (language, name, ratio) in [
        ("missing", "Missing", None),
        ("null", "Null", None),
        ("string", "String", None),
        ("negative", "Negative", Some(-0.05)),
        ("above", "Above", Some(1.01)),
        ("zero", "Zero", Some(0.0)),
        ("huge", "Huge", Some(1e306)),
        ("usual", "Usual", Some(0.425)),
    ] {
        let labels = [("repo", "odd/one"), ("language", language)];
        assert_eq!(metrics.ratio("odd/one", language), ratio, "{language}");
        let clock = metrics.value("translation_last_progress_timestamp_seconds", &labels);
        assert_eq!(clock.is_some(), ratio.is_some(), "{language}");
        let info = metrics.value("translation_language_info", &[labels[0], labels[1], ("name", name)]);
        assert_eq!(info, Some(1.0), "{language}");
    }
    assert_eq!(metrics.value("translation_repository_languages", &[("repo", "odd/one")]), Some(8.0));
    assert_eq!(metrics.value("translation_exporter_languages", &[]), Some(9.0));
    assert_eq!(metrics.value("translation_exporter_completion_out_of_scale", &[]), Some(3.0));
    assert_eq!(metrics.value("translation_exporter_completion_scale_suspect", &[]), Some(0.0));
    assert_eq!(metrics.ratio("plain/one", "de"), Some(0.5));
    assert_eq!(metrics.repositories("failing"), 0.0);
    let invalid = |reason| {
        let labels = [("operation", "list_languages"), ("reason", reason)];
        metrics.value("translation_exporter_invalid_entries_total", &labels)
    };
    assert!(invalid("completion") >= Some(1.0), "the string is counted");
    assert_eq!(invalid("code"), Some(0.0));
}

#[test]
fn the_clock_of_a_language_starts_with_its_first_completion() {
    let api = Api::start([Repo::new(1, "owner/repo").languages_json(r#"[{"code":"de"}]"#)]);
    let exporter = Setup::for_api(&api).start();
    let before = exporter.wait_for("it is read", |metrics| metrics.repositories("fresh") > 0.0);
    assert_eq!(before.ratio("owner/repo", "de"), None);
    let seen = before.value("translation_repository_last_success_timestamp_seconds", &[("repo", "owner/repo")]);
    exporter.wait_for_polls(2.0);
    api.put([Repo::new(1, "owner/repo").languages_json(r#"[{"code":"de","completion":7}]"#)]);
    let after = exporter.wait_for("a completion", |metrics| metrics.ratio("owner/repo", "de") == Some(0.07));
    let labels = [("repo", "owner/repo"), ("language", "de")];
    assert!(after.value("translation_last_progress_timestamp_seconds", &labels) > seen);
}
