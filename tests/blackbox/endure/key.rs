//! A key that is replaced.

use crate::support::{Api, Setup, api::KEY};
use std::fs;

#[test]
fn a_rotated_key_costs_at_most_one_poll() {
    let api = Api::of(20);
    let setup = Setup::for_api(&api).set("api.key", "");
    let file = setup.file("key", KEY);
    let exporter = setup.set("api.key_file", &file).start();
    exporter.wait_until_fresh(20);
    fs::write(&file, "the-new-key\n").unwrap();
    api.accept_key("the-new-key");
    let metrics = exporter.wait_for_polls(3.0);
    let failed = metrics.sum("translation_exporter_poll_failures_total", &[]);
    assert!(failed <= 1.0, "{failed} polls failed");
    exporter.wait_until_fresh(20);
}
