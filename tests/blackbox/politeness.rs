//! Politeness: an API that fails or refuses the key gets few requests, and each request is counted.

use crate::support::{
    Api, Exposition, Reply, Setup, Target, api::KEY, eventually, exposition::RATIO,
};
use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

#[test]
fn a_poll_that_fails_makes_few_requests() {
    let api = Api::of(20);
    for (what, target, reply, to_listing, to_languages) in [
        (
            "resets are tried api.max_attempts times",
            Target::Everything,
            Reply::reset(),
            4,
            0,
        ),
        (
            "status 503 too",
            Target::Everything,
            Reply::status(503),
            4,
            0,
        ),
        (
            "a key that is revoked in the middle",
            Target::AllLanguages,
            Reply::status(401),
            2,
            1,
        ),
        (
            "a key that may not list",
            Target::Listing,
            Reply::status(403),
            1,
            0,
        ),
        (
            "a key that may read no repository",
            Target::AllLanguages,
            Reply::status(403),
            2,
            20,
        ),
    ] {
        api.heal();
        api.forget();
        api.fault(target, reply);
        let exporter = Setup::for_api(&api)
            .set("poll.interval", "1h")
            .set("api.concurrency", "1")
            .start();
        let metrics = exporter.wait_for("the first poll ends", |metrics| metrics.polls() == 1.0);
        assert_eq!(
            metrics.sum("translation_exporter_poll_failures_total", &[]),
            1.0
        );
        let requests = (
            api.requests(Target::Listing).len(),
            api.requests(Target::AllLanguages).len(),
        );
        assert_eq!(requests, (to_listing, to_languages), "{what}");
    }
}

#[test]
fn twenty_broken_repositories_do_not_starve_twenty_good_ones() {
    let api = Api::of(40);
    api.script(Target::AllLanguages, |request| {
        let id: u64 = request.repository()?.parse().ok()?;
        (id <= 20).then(|| Reply::status(500))
    });
    let exporter = Setup::for_api(&api)
        .set("api.concurrency", "1")
        .set("api.max_attempts", "2")
        .start();
    exporter.wait_until_fresh(20);
    let oldest = |metrics: &Exposition| {
        let name = "translation_repository_last_success_timestamp_seconds";
        metrics
            .samples(name)
            .map(|sample| sample.value)
            .fold(f64::INFINITY, f64::min)
    };
    let first = oldest(&exporter.metrics());
    let metrics = exporter.wait_for("all good ones are read again", |metrics| {
        oldest(metrics) > first
    });
    assert_eq!(metrics.count(RATIO), 20);
    assert_eq!(
        metrics.repositories("pending"),
        20.0,
        "the broken ones were never read"
    );
    let requests = metrics.sum("translation_exporter_api_requests_total", &[]);
    // A poll makes at most 42 requests and the retries of its budget. One more poll may be under
    // way.
    let most = (metrics.polls() + 1.0) * (42.0 * 1.25 + 10.0);
    assert!(
        requests <= most,
        "{requests} requests in {} polls",
        metrics.polls()
    );
}

#[test]
fn no_more_requests_are_in_flight_than_allowed() {
    let api = Api::of(30);
    let (in_flight, most) = (AtomicUsize::new(0), Arc::new(AtomicUsize::new(0)));
    let seen = most.clone();
    api.script(Target::AllLanguages, move |_| {
        seen.fetch_max(
            in_flight.fetch_add(1, Ordering::SeqCst) + 1,
            Ordering::SeqCst,
        );
        thread::sleep(Duration::from_millis(20));
        in_flight.fetch_sub(1, Ordering::SeqCst);
        None
    });
    Setup::for_api(&api)
        .set("api.concurrency", "3")
        .start()
        .wait_until_fresh(30);
    assert_eq!(most.load(Ordering::SeqCst), 3);
}

#[test]
fn each_request_has_the_key_a_count_and_a_debug_line_without_the_key() {
    let api = Api::of(7);
    api.script(Target::Languages(3), |request| {
        (request.nth == 0).then(|| Reply::status(503))
    });
    let exporter = Setup::for_api(&api)
        .set("poll.interval", "1h")
        .set("log.level", "debug")
        .start();
    let metrics = exporter.wait_until_fresh(7);
    let bearer = format!("Bearer {KEY}");
    let requests = api.requests(Target::Everything);
    assert!(
        requests
            .iter()
            .all(|request| request.authorization.as_deref() == Some(&*bearer))
    );
    assert_eq!(requests.len(), 10);
    let counted = |operation, code| {
        metrics.value(
            "translation_exporter_api_requests_total",
            &[("operation", operation), ("code", code)],
        )
    };
    assert_eq!(counted("list_repositories", "200"), Some(2.0));
    assert_eq!(counted("list_languages", "200"), Some(7.0));
    assert_eq!(counted("list_languages", "503"), Some(1.0));
    assert_eq!(
        metrics.value(
            "translation_exporter_api_retries_total",
            &[("operation", "list_languages")]
        ),
        Some(1.0)
    );
    assert_eq!(metrics.failures("list_languages", "server_error"), 1.0);

    let lines = eventually("eight requests are logged", || {
        let log = exporter.log();
        let lines = log.lines().map(str::to_owned);
        let lines = lines.filter(|line| line.contains("operation=list_languages"));
        Some(lines.collect::<Vec<_>>()).filter(|lines| lines.len() >= 8)
    });
    assert_eq!(lines.len(), 8, "{lines:?}");
    let failed = lines.iter().find(|line| line.contains("status=503"));
    assert!(failed.unwrap().contains("duration="), "{failed:?}");
    assert!(!exporter.log().to_lowercase().contains("bearer"));
}
