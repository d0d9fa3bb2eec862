//! Many scrapers at once, while a large account is polled: each gets a whole answer, or the 503 of `web.max_requests`.

use crate::support::{Api, PATIENCE, Repo, Setup, Target, eventually, exporter::OPENMETRICS, http};
use std::{
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    thread,
    time::{Duration, Instant},
};

const SCRAPERS: usize = 100;

/// How long they scrape; `SCRAPE_SECONDS` may ask for more.
fn duration() -> Duration {
    let seconds = std::env::var("SCRAPE_SECONDS").ok().and_then(|seconds| seconds.parse().ok());
    Duration::from_secs(seconds.unwrap_or(5))
}

#[test]
fn a_hundred_scrapers_get_whole_answers_while_10000_repositories_are_polled() {
    let repository = |id: u64| Repo::new(id, &format!("owner/repo-{id:05}")).languages(&[("de", 50.0), ("fr", 70.0)]);
    let api = Api::start((1..=10_000).map(repository));
    let exporter = Setup::for_api(&api).set("api.concurrency", "32").start();

    let (done, served, refused) = (AtomicBool::new(false), AtomicUsize::new(0), AtomicUsize::new(0));
    let begin = Instant::now();
    thread::scope(|scope| {
        for _ in 0..SCRAPERS {
            scope.spawn(|| {
                // The second bound ends them where the test has failed.
                while !done.load(Ordering::Relaxed) && begin.elapsed() < duration() + 2 * PATIENCE {
                    let headers = [("accept", OPENMETRICS), ("accept-encoding", "gzip")];
                    let response = http::get(exporter.address, "/metrics", &headers).expect("an answer");
                    match response.status {
                        200 => {
                            // Unpacked it is one whole gzip member; whole OpenMetrics ends so.
                            assert!(response.text().ends_with("# EOF\n"));
                            served.fetch_add(1, Ordering::Relaxed);
                        }
                        503 => {
                            assert!(response.text().contains("web.max_requests"));
                            refused.fetch_add(1, Ordering::Relaxed);
                        }
                        other => panic!("status {other}"),
                    }
                }
            });
        }
        thread::sleep(duration());
        eventually("repositories are read meanwhile", || {
            (!api.requests(Target::AllLanguages).is_empty()).then_some(())
        });
        done.store(true, Ordering::Relaxed);
    });
    assert!(served.into_inner() > 0);
    println!("refused by web.max_requests: {}", refused.into_inner());
}
