//! Faults of requests for languages, each in another repository of one process.

use super::FAULTS;
use crate::support::{
    Api, Exposition, Reply, Repo, Setup, Target,
    exposition::{INFO, RATIO},
};
use std::collections::BTreeMap;

#[test]
fn a_repository_whose_read_fails_keeps_its_data_and_affects_no_other() {
    // Each faulty repository lies between two good ones, so that ten failures never come in a row.
    let rows = || (2..).step_by(2).zip(FAULTS);
    let good = || {
        (1..=FAULTS.len() as u64 * 2 + 1)
            .step_by(2)
            .map(|id| Repo::new(id, &format!("good/{id}")))
    };
    let api = Api::start(
        good().chain(rows().map(|(id, (name, ..))| Repo::new(id, &format!("fault/{name}")))),
    );
    let (faults, all) = (
        f64::from(u32::try_from(FAULTS.len()).unwrap()),
        FAULTS.len() * 2 + 1,
    );

    let exporter = Setup::for_api(&api)
        .set("api.max_attempts", "1")
        .set("api.timeout", "2s")
        .set("api.max_response_size", "1MiB")
        .set("api.concurrency", "2")
        .set("poll.interval", "6s")
        .start();
    let before = exporter.wait_for("all are read, and the poll has ended", |metrics| {
        metrics.count(RATIO) == all && metrics.polls() == 1.0
    });
    for (id, (_, fault, _)) in rows() {
        api.script(Target::Languages(id), move |request| Some(fault(request)));
    }
    api.put(good().map(|repo| repo.languages(&[("de", 60.0)])));

    let nothing_lost = |metrics: &Exposition| {
        assert_eq!((metrics.count(INFO), metrics.count(RATIO)), (all, all));
    };
    let after = exporter.wait_for("the next poll ends", |metrics| {
        nothing_lost(metrics);
        metrics.polls() == 2.0 && metrics.repositories("failing") >= faults
    });
    assert_eq!(after.repositories("failing"), faults);
    assert_eq!(after.up(), Some(1.0));
    assert_eq!(
        after.value("translation_exporter_listing_complete", &[]),
        Some(1.0)
    );
    for sample in after.samples(RATIO) {
        let is_faulty = sample.labels["repo"].starts_with("fault/");
        let expected = if is_faulty { 0.5 } else { 0.6 };
        assert_eq!(sample.value, expected, "{:?}", sample.labels);
    }
    assert_failures_of_one_poll(&before, &after);
    assert!(
        exporter.memory("VmHWM") < 128 * 1024,
        "it took {} KiB at most",
        exporter.memory("VmHWM")
    );

    api.heal();
    let metrics = exporter.wait_for("all recover", |metrics| {
        nothing_lost(metrics);
        metrics.repositories("failing") < 1.0
    });
    assert!(
        metrics.polls() <= after.polls() + 2.0,
        "within an interval after the poll under way"
    );
}

/// Asserts how many requests for languages failed between two answers, by reason.
fn assert_failures_of_one_poll(before: &Exposition, after: &Exposition) {
    let mut expected = BTreeMap::new();
    for (.., reason) in FAULTS {
        *expected.entry(reason).or_insert(0.0) += 1.0;
    }
    let reasons = after.label_values("translation_exporter_api_request_failures_total", "reason");
    let counted = reasons.iter().map(|reason| {
        let labels = [("operation", "list_languages"), ("reason", reason)];
        let failures = |metrics: &Exposition| {
            let name = "translation_exporter_api_request_failures_total";
            // Some reasons cannot end this operation.
            metrics.value(name, &labels).unwrap_or(0.0)
        };
        (reason.as_str(), failures(after) - failures(before))
    });
    let counted: BTreeMap<_, _> = counted.filter(|(_, count)| *count > 0.0).collect();
    assert_eq!(counted, expected, "failures of one poll by reason");
}

#[test]
fn languages_of_exactly_a_mebibyte_are_read_and_one_byte_more_is_not() {
    const LIMIT: usize = 1 << 20;
    // The bodies are compressed: their sizes are known only while they are read.
    for size in [LIMIT, LIMIT + 1] {
        let mut json = r#"[{"code":"de","completion":60}]"#.to_owned();
        json.push_str(&" ".repeat(size - json.len()));
        let api = Api::of(1);
        api.fault(Target::Languages(1), Reply::gzip(&json));
        let exporter = Setup::for_api(&api).start();
        let metrics = exporter.wait_for_polls(1.0);
        let ratio = metrics.ratio("owner/repo-1", "de");
        assert_eq!(ratio, (size == LIMIT).then_some(0.6), "{size}");
    }
}
