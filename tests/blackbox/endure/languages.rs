//! Faults when the languages of a repository are asked for: a repository for each, all in one process.

use super::{FAULTS, failures, polls};
use crate::support::{Api, Exposition, Repo, Setup, Target};

#[test]
fn a_fault_of_one_repository_costs_it_nothing_that_was_known_and_the_others_nothing_at_all() {
    // Every faulty repository lies between two good ones, so that never ten failures come in a row.
    let faulty = |row: usize| u64::try_from(row * 2 + 2).unwrap();
    let good = (0..=FAULTS.len()).map(|row| Repo::new(faulty(row) - 1, &format!("good/{row}")));
    let repositories =
        FAULTS.iter().enumerate().map(|(row, (name, ..))| Repo::new(faulty(row), &format!("fault/{name}")));
    let api = Api::start(good.clone().chain(repositories));
    let all = FAULTS.len() * 2 + 1;

    let exporter = Setup::for_api(&api)
        .set("api.max_attempts", "1")
        .set("api.timeout", "1s")
        .set("api.max_response_size", "1MiB")
        .set("api.concurrency", "2")
        .set("poll.interval", "6s")
        .start();
    exporter.wait_for("all are read", |metrics| metrics.samples("translation_completion_ratio").count() == all);
    for (row, (_, fault, _)) in FAULTS.iter().enumerate() {
        api.script(Target::Languages(faulty(row)), |request| Some(fault(request)));
    }
    api.put(good.map(|repo| repo.languages(&[("de", 60.0)])));

    let nothing_lost = |metrics: &Exposition| {
        assert_eq!(metrics.samples("translation_repository_info").count(), all);
        assert_eq!(metrics.samples("translation_completion_ratio").count(), all);
    };
    let count = FAULTS.iter().fold(0.0, |sum, _| sum + 1.0);
    let before = exporter.wait_for("the faults show", |metrics| {
        nothing_lost(metrics);
        metrics.repositories("failing") >= count
    });
    let before = exporter.wait_for("a poll ends", |metrics| polls(metrics) > polls(&before));
    let after = exporter.wait_for("the next ends", |metrics| {
        nothing_lost(metrics);
        polls(metrics) > polls(&before)
    });
    assert_eq!(after.repositories("failing"), count);
    assert_eq!(after.value("translation_up", &[]), Some(1.0));
    assert_eq!(after.value("translation_exporter_listing_complete", &[]), Some(1.0));
    for (name, ..) in FAULTS {
        assert_eq!(after.ratio(&format!("fault/{name}"), "de"), Some(0.5), "{name}");
    }
    for row in 0..=FAULTS.len() {
        assert_eq!(after.ratio(&format!("good/{row}"), "de"), Some(0.6), "good/{row}");
    }
    let mut counted = Vec::new();
    let mut expected = Vec::new();
    for sample in after.samples("translation_exporter_api_request_failures_total") {
        if sample.labels["operation"] == "list_languages" {
            let reason = &*sample.labels["reason"];
            counted.push((
                reason,
                failures(&after, "list_languages", reason) - failures(&before, "list_languages", reason),
            ));
            let rows = FAULTS.iter().filter(|(_, _, of_row)| *of_row == reason);
            expected.push((reason, rows.fold(0.0, |sum, _| sum + 1.0)));
        }
    }
    assert_eq!(counted, expected, "failures of one poll by reason");
    assert!(exporter.memory("VmHWM") < 128 * 1024, "it took {} KiB at most", exporter.memory("VmHWM"));

    api.heal();
    let metrics = exporter.wait_for("all recover", |metrics| {
        nothing_lost(metrics);
        metrics.repositories("failing") < 1.0
    });
    assert!(polls(&metrics) <= polls(&after) + 2.0, "within an interval after the poll under way");
}
