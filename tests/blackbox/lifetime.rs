//! When series come, stay and go.

use crate::support::{Api, Exporter, Exposition, Reply, Repo, Setup, Target};

const INFO: &str = "translation_repository_info";

fn three() -> Api {
    Api::start([Repo::new(1, "owner/one"), Repo::new(2, "owner/two"), Repo::new(3, "owner/three")])
}

fn fresh(exporter: &Exporter, count: f64) -> Exposition {
    exporter.wait_for("the repositories are read", |metrics| metrics.repositories("fresh") >= count)
}

#[test]
fn a_repository_whose_read_fails_keeps_its_data_until_they_are_stale() {
    let api = three();
    let exporter = Setup::for_api(&api).set("api.max_attempts", "1").set("poll.stale_after", "3s").start();
    fresh(&exporter, 3.0);
    api.fault(Target::Languages(2), Reply::status(500));
    let metrics = exporter.wait_for("it fails", |metrics| metrics.repositories("failing") > 0.0);
    assert_eq!(metrics.ratio("owner/two", "de"), Some(0.5));

    let metrics = exporter.wait_for("it is stale", |metrics| metrics.repositories("stale") > 0.0);
    assert_eq!(metrics.repositories("failing"), 0.0);
    assert_eq!(metrics.repositories("fresh"), 2.0);
    let having = |name| metrics.label_values(name, "repo");
    for gone in [
        "translation_completion_ratio",
        "translation_last_progress_timestamp_seconds",
        "translation_language_info",
        "translation_repository_languages",
    ] {
        assert_eq!(having(gone), ["owner/one", "owner/three"], "{gone}");
    }
    for kept in [
        INFO,
        "translation_repository_created_timestamp_seconds",
        "translation_repository_last_success_timestamp_seconds",
    ] {
        assert_eq!(having(kept), ["owner/one", "owner/three", "owner/two"], "{kept}");
    }
    assert_eq!(metrics.value("translation_up", &[]), Some(1.0));

    api.heal();
    let metrics = fresh(&exporter, 3.0);
    assert_eq!(metrics.ratio("owner/two", "de"), Some(0.5));
}

#[test]
fn a_second_empty_list_removes_everything() {
    let api = three();
    let exporter = Setup::for_api(&api).start();
    fresh(&exporter, 3.0);
    api.forget();
    api.fault(Target::Listing, Reply::json("[]"));
    exporter.wait_for("all vanish", |metrics| metrics.samples(INFO).count() == 0);
    assert!(api.requests(Target::Listing).len() >= 2);
    assert_eq!(exporter.metrics().value("translation_up", &[]), Some(1.0));
    assert_eq!(exporter.status("/-/ready"), 200);
}

#[test]
fn a_renamed_repository_keeps_its_clock_under_its_new_name() {
    let api = three();
    let exporter = Setup::for_api(&api).start();
    let clock = |metrics: &Exposition, repo| {
        let labels = [("repo", repo), ("language", "de")];
        metrics.value("translation_last_progress_timestamp_seconds", &labels)
    };
    let before = clock(&fresh(&exporter, 3.0), "owner/two");
    api.put([Repo::new(2, "owner/new-name")]);
    let metrics = exporter.wait_for("the new name", |metrics| metrics.ratio("owner/new-name", "de").is_some());
    assert_eq!(clock(&metrics, "owner/new-name"), before);
    assert_eq!(clock(&metrics, "owner/two"), None);
}

#[test]
fn of_two_repositories_with_one_name_the_higher_id_is_shown() {
    let api = three();
    api.put([Repo::new(9, "owner/two").languages(&[("fr", 10.0)])]);
    let exporter = Setup::for_api(&api).start();
    let metrics = exporter.wait_for("it is read", |metrics| metrics.ratio("owner/two", "fr").is_some());
    assert_eq!(metrics.value(INFO, &[("repo", "owner/two"), ("id", "9"), ("private", "false")]), Some(1.0));
    assert_eq!(metrics.ratio("owner/two", "de"), None);
    let labels = [("operation", "list_repositories"), ("reason", "duplicate_name")];
    assert!(metrics.value("translation_exporter_invalid_entries_total", &labels) >= Some(1.0));
}
