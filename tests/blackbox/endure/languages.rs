//! Faults of requests for languages, each in another repository of one process.

use super::{FAULTS, Row};
use crate::support::{
    Api, Exposition, Reply, Repo, Setup, Target,
    exposition::{INFO, RATIO},
};
use std::collections::BTreeMap;
use tempfile::TempDir;

/// A busy machine takes seconds for a mebibyte, so only requests that end by the timeout have a
/// short one.
#[test]
fn a_repository_whose_read_fails_keeps_its_data_and_affects_no_other() {
    let (slow, fast): (Vec<_>, Vec<_>) = FAULTS
        .iter()
        .partition(|(_, _, reason)| *reason == "timeout");
    fails(&slow, "1s");
    fails(&fast, "2m");
}

fn fails(faults: &[Row], timeout: &str) {
    // Each faulty repository lies between two good ones, so that ten failures never come in a row.
    let rows = || (2..).step_by(2).zip(faults);
    let good = || {
        (1..=faults.len() as u64 * 2 + 1)
            .step_by(2)
            .map(|id| Repo::new(id, &format!("good/{id}")))
    };
    let api = Api::start(
        good().chain(rows().map(|(id, (name, ..))| Repo::new(id, &format!("fault/{name}")))),
    );
    let all = faults.len() * 2 + 1;
    let folder = TempDir::new().unwrap();
    let state = folder.path().join("state.json");
    let setup = || {
        Setup::for_api(&api)
            .set("state.file", state.to_str().unwrap())
            .set("api.timeout", timeout)
            .set("api.concurrency", "2")
            .set("poll.interval", "1h")
    };
    // The first poll of another process meets the faults, and no poll follows it.
    let before = setup().arguments(&["once", "--output=openmetrics"]).run();
    assert_eq!(before.code, Some(0), "{}", before.stderr);
    for (id, &(_, fault, _)) in rows() {
        api.script(Target::Languages(id), move |request| Some(fault(request)));
    }
    api.put(good().map(|repo| repo.languages(&[("de", 60.0)])));

    let exporter = setup().start();
    let after = exporter.wait_for("the poll has ended", |metrics| {
        assert_eq!((metrics.count(INFO), metrics.count(RATIO)), (all, all));
        metrics.up().is_some()
    });
    let failing = f64::from(u32::try_from(faults.len()).unwrap());
    assert_eq!(after.repositories("failing"), failing);
    assert_eq!(after.up(), Some(1.0));
    for sample in after.samples(RATIO) {
        let is_faulty = sample.labels["repo"].starts_with("fault/");
        let expected = if is_faulty { 0.5 } else { 0.6 };
        assert_eq!(sample.value, expected, "{:?}", sample.labels);
    }
    assert_failures_by_reason(&after, faults);
}

/// Asserts how many requests for languages failed, by reason.
fn assert_failures_by_reason(metrics: &Exposition, faults: &[Row]) {
    // A repository that failed for a moment has four attempts.
    let momentary = ["connect", "server_error", "timeout", "truncated"];
    let mut expected = BTreeMap::new();
    for (_, _, reason) in faults {
        let attempts = if momentary.contains(reason) { 4.0 } else { 1.0 };
        *expected.entry((*reason).to_owned()).or_insert(0.0) += attempts;
    }
    let failures = metrics.samples("translation_exporter_api_request_failures_total");
    let counted = failures
        .filter(|sample| sample.labels["operation"] == "list_languages" && sample.value > 0.0)
        .map(|sample| (sample.labels["reason"].clone(), sample.value));
    assert_eq!(counted.collect::<BTreeMap<_, _>>(), expected);
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
