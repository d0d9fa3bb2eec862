//! An API that fails, or that refuses the key, gets no more requests than it should; those that it got are counted.

use crate::support::{Api, Reply, Repo, Setup, Target};
use std::{thread, time::Duration};

fn repositories(count: u64) -> Api {
    Api::start((1..=count).map(|id| Repo::new(id, &format!("owner/repo-{id:02}"))))
}

/// Runs one poll and counts its requests: to the listing, and for languages.
fn requests_of_one_poll(api: &Api, setup: Setup) -> (usize, usize) {
    let exporter = setup.set("poll.interval", "1h").set("api.concurrency", "1").start();
    exporter
        .wait_for("the first poll ends", |metrics| metrics.value("translation_exporter_polls_total", &[]) == Some(1.0));
    let metrics = exporter.metrics();
    assert_eq!(metrics.sum("translation_exporter_poll_failures_total", &[]), 1.0);
    (api.requests(Target::Listing).len(), api.requests(Target::AllLanguages).len())
}

#[test]
fn an_api_that_is_down_is_tried_max_attempts_times() {
    let api = repositories(3);
    for fault in [Reply::reset(), Reply::close(), Reply::status(503)] {
        api.heal();
        api.forget();
        api.fault(Target::Everything, fault.clone());
        assert_eq!(requests_of_one_poll(&api, Setup::for_api(&api)), (4, 0), "{fault:?}");
    }
}

#[test]
fn a_key_that_is_revoked_in_the_middle_ends_the_poll() {
    let api = repositories(20);
    api.fault(Target::AllLanguages, Reply::status(401));
    assert_eq!(requests_of_one_poll(&api, Setup::for_api(&api)), (2, 1));
}

#[test]
fn a_forbidden_listing_is_tried_once_and_three_forbidden_repositories_end_the_poll() {
    let api = repositories(20);
    api.fault(Target::Listing, Reply::status(403));
    assert_eq!(requests_of_one_poll(&api, Setup::for_api(&api)), (1, 0));
    api.heal();
    api.forget();
    api.fault(Target::AllLanguages, Reply::status(403));
    assert_eq!(requests_of_one_poll(&api, Setup::for_api(&api)), (2, 3));
}

#[test]
fn twenty_broken_repositories_do_not_starve_twenty_good_ones() {
    let api = repositories(40);
    api.script(Target::AllLanguages, |request| {
        let id: u64 = request.repository()?.parse().ok()?;
        (id <= 20).then(|| Reply::status(500))
    });
    let exporter = Setup::for_api(&api).set("api.concurrency", "1").set("api.max_attempts", "2").start();
    exporter.wait_for("the good ones are read", |metrics| metrics.repositories("fresh") >= 20.0);
    let oldest = |metrics: &crate::support::Exposition| {
        let name = "translation_repository_last_success_timestamp_seconds";
        metrics.samples(name).map(|sample| sample.value).fold(f64::INFINITY, f64::min)
    };
    let first = oldest(&exporter.metrics());
    let metrics = exporter.wait_for("all good ones are read again", |metrics| oldest(metrics) > first);
    assert_eq!(metrics.samples("translation_completion_ratio").count(), 20);
    assert_eq!(metrics.repositories("pending"), 20.0, "the broken ones were never read");
    let polls = metrics.value("translation_exporter_polls_total", &[]).unwrap();
    let requests = metrics.sum("translation_exporter_api_requests_total", &[]);
    // A poll asks 42 questions at most; one more poll may be under way.
    assert!(requests <= (polls + 1.0) * (42.0 * 1.25 + 10.0), "{requests} requests in {polls} polls");
}

#[test]
fn no_more_requests_are_in_flight_than_allowed() {
    let api = repositories(30);
    api.script(Target::AllLanguages, |_| {
        thread::sleep(Duration::from_millis(20));
        None
    });
    let exporter = Setup::for_api(&api).set("api.concurrency", "3").start();
    exporter.wait_for("all are read", |metrics| metrics.repositories("fresh") > 29.0);
    assert_eq!(api.most_in_flight(), 3);
}

#[test]
fn the_steady_rate_holds_over_a_poll() {
    let api = repositories(40);
    let exporter = Setup::for_api(&api).set("api.requests_per_second", "20").set("poll.interval", "1h").start();
    exporter.wait_for("all are read", |metrics| metrics.repositories("fresh") > 39.0);
    let times: Vec<_> = api.requests(Target::Everything).iter().map(|request| request.at).collect();
    let took = times[41] - times[0];
    assert!(took >= Duration::from_millis(1900), "42 requests at 20 a second took {took:?}");
}

#[test]
fn the_requests_counted_are_the_requests_made() {
    let api = repositories(7);
    api.script(Target::Languages(3), |request| (request.nth == 0).then(|| Reply::status(500)));
    let exporter = Setup::for_api(&api).set("poll.interval", "1h").start();
    let metrics = exporter.wait_for("all are read", |metrics| metrics.repositories("fresh") > 6.0);
    let requests = |operation, code| {
        metrics.value("translation_exporter_api_requests_total", &[("operation", operation), ("code", code)])
    };
    assert_eq!(requests("list_repositories", "200"), Some(2.0));
    assert_eq!(requests("list_languages", "200"), Some(7.0));
    assert_eq!(requests("list_languages", "500"), Some(1.0));
    assert_eq!(metrics.value("translation_exporter_api_retries_total", &[("operation", "list_languages")]), Some(1.0));
    let labels = [("operation", "list_languages"), ("reason", "server_error")];
    assert_eq!(metrics.value("translation_exporter_api_request_failures_total", &labels), Some(1.0));
    assert_eq!(api.requests(Target::Everything).len(), 10);
}
