//! Many concurrent scrapers during the poll of a large account. Each gets a complete response.

use crate::support::{Api, Setup, Target, exporter::OPENMETRICS, http, until};
use std::thread;

#[test]
fn a_hundred_scrapers_get_complete_responses_during_a_large_poll() {
    let api = Api::of(2000);
    let exporter = Setup::for_api(&api).set("api.concurrency", "32").start();
    let polled = || api.requests(Target::AllLanguages).len();
    until("repositories are read", || polled() > 0);
    let before = polled();
    thread::scope(|scope| {
        for _ in 0..100 {
            scope.spawn(|| {
                for _ in 0..3 {
                    let headers = [("accept", OPENMETRICS), ("accept-encoding", "gzip")];
                    let response =
                        http::get(exporter.address, "/metrics", &headers).expect("an answer");
                    // `text` requires a single complete gzip member. Complete OpenMetrics ends with
                    // this line.
                    assert_eq!(response.status, 200);
                    assert!(response.text().ends_with("# EOF\n"));
                }
            });
        }
    });
    until("polling goes on", || polled() > before);
}
