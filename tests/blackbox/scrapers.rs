//! Many scrapers at once, while a large account is polled: each gets a whole answer, or the 503 of `web.max_requests`.

use crate::support::{Api, PATIENCE, Setup, Target, exporter::OPENMETRICS, http, until};
use std::{
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    thread,
    time::Instant,
};

#[test]
fn a_hundred_scrapers_get_whole_answers_while_10000_repositories_are_polled() {
    let api = Api::of(10_000);
    let exporter = Setup::for_api(&api).set("api.concurrency", "32").start();

    let (done, served) = (AtomicBool::new(false), AtomicUsize::new(0));
    let begin = Instant::now();
    thread::scope(|scope| {
        for _ in 0..100 {
            scope.spawn(|| {
                // The second bound ends them if the test has failed.
                while !done.load(Ordering::Relaxed) && begin.elapsed() < 2 * PATIENCE {
                    let headers = [("accept", OPENMETRICS), ("accept-encoding", "gzip")];
                    let response =
                        http::get(exporter.address, "/metrics", &headers).expect("an answer");
                    match response.status {
                        200 => {
                            // `text` requires one whole gzip member, and whole OpenMetrics ends like this.
                            assert!(response.text().ends_with("# EOF\n"));
                            served.fetch_add(1, Ordering::Relaxed);
                        }
                        503 => assert!(response.text().contains("web.max_requests")),
                        other => panic!("status {other}"),
                    }
                }
            });
        }
        until(
            "scrapes are served and repositories read side by side",
            || {
                served.load(Ordering::Relaxed) >= 1000
                    && api.requests(Target::AllLanguages).len() >= 1000
            },
        );
        done.store(true, Ordering::Relaxed);
    });
}
