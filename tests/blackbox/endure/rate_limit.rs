//! 429, with every kind of Retry-After.

use super::{failures, polls};
use crate::support::{Api, Reply, Repo, Setup, Target, eventually};
use std::time::{Duration, SystemTime};

/// Answers the first request with 429 and this Retry-After; how long it took until the next request came.
fn pause_after(target: Target, retry_after: Option<&str>) -> Duration {
    let api = Api::start((1..=3).map(|id| Repo::new(id, &format!("owner/repo-{id}"))));
    let retry_after = retry_after.map(str::to_owned);
    api.script(target, move |request| {
        (request.nth == 0).then(|| match &retry_after {
            Some(value) => Reply::status(429).header("retry-after", value),
            None => Reply::status(429),
        })
    });
    let exporter = Setup::for_api(&api).set("poll.interval", "1h").set("api.concurrency", "1").start();
    let metrics = exporter.wait_for("all are read in spite of it", |metrics| metrics.repositories("fresh") > 2.0);
    let operation = if target == Target::Listing { "list_repositories" } else { "list_languages" };
    assert_eq!(failures(&metrics, operation, "rate_limited"), 1.0);
    let requests = api.requests(Target::Everything);
    let limited = requests.iter().position(|request| target.holds(request)).unwrap();
    requests[limited + 1].at - requests[limited].at
}

#[test]
fn retry_after_in_seconds_or_as_a_date_is_waited_for() {
    for target in [Target::Listing, Target::Languages(2)] {
        let pause = pause_after(target, Some("1"));
        assert!((Duration::from_millis(990)..Duration::from_secs(10)).contains(&pause), "seconds: {pause:?}");
        // A date has whole seconds: three from now are between two and three.
        let date = httpdate::fmt_http_date(SystemTime::now() + Duration::from_secs(3));
        let pause = pause_after(target, Some(&date));
        assert!((Duration::from_millis(500)..Duration::from_secs(10)).contains(&pause), "date: {pause:?}");
    }
}

#[test]
fn a_retry_after_of_a_year_ends_the_poll_and_keeps_what_is_known() {
    for year in ["31536000".to_owned(), httpdate::fmt_http_date(SystemTime::now() + Duration::from_secs(31_536_000))] {
        let api = Api::start((1..=3).map(|id| Repo::new(id, &format!("owner/repo-{id}"))));
        let exporter = Setup::for_api(&api).set("api.concurrency", "1").set("api.max_retry_after", "24h").start();
        let before = exporter.wait_for("all are read", |metrics| metrics.repositories("fresh") > 2.0);
        api.fault(Target::Listing, Reply::status(429).header("retry-after", &year));
        let metrics = exporter.wait_for("it shows", |metrics| metrics.value("translation_up", &[]) == Some(0.0));
        assert!(polls(&metrics) > polls(&before), "the poll that was asked to wait has ended");
        // It waits for as long as api.max_retry_after; the page shows the rest of that in whole hours.
        let page = exporter.get("/").text();
        assert!(page.contains(">in 23 h<") || page.contains(">in 24 h<"), "until when it waits: {page}");
        assert_eq!(metrics.samples("translation_completion_ratio").count(), 3);
        api.forget();
        api.heal();
        exporter.signal("HUP");
        eventually("the reload", || exporter.log().contains("was read again").then_some(()));
        // That nothing is sent shows in time alone: without the hold, a poll begins one interval of 1 s after this one.
        std::thread::sleep(Duration::from_secs(2));
        assert_eq!(api.requests(Target::Everything).len(), 0, "two intervals have passed: {year}");
        assert_eq!(polls(&exporter.metrics()), polls(&metrics), "no poll has begun: {year}");
        assert!(exporter.log().contains("Retry-After"), "the log says why it waits");
    }
}

#[test]
fn a_retry_after_longer_than_max_retry_after_counts_as_that() {
    let api = Api::start([Repo::new(1, "owner/repo")]);
    api.script(Target::Listing, |request| {
        (request.nth == 0).then(|| Reply::status(429).header("retry-after", "31536000"))
    });
    let exporter = Setup::for_api(&api).set("poll.interval", "1h").set("api.max_retry_after", "1s").start();
    exporter.wait_for("the poll goes on", |metrics| metrics.repositories("fresh") > 0.0);
    let requests = api.requests(Target::Listing);
    let pause = requests[1].at - requests[0].at;
    assert!(pause >= Duration::from_millis(990), "{pause:?}");
}

#[test]
fn a_429_in_the_middle_of_a_poll_holds_all_that_is_in_flight() {
    let api = Api::start((1..=40).map(|id| Repo::new(id, &format!("owner/repo-{id}"))));
    api.script(Target::Languages(10), |request| {
        (request.nth == 0).then(|| Reply::status(429).header("retry-after", "1"))
    });
    let exporter = Setup::for_api(&api).set("poll.interval", "1h").set("api.concurrency", "8").start();
    exporter.wait_for("all are read", |metrics| metrics.repositories("fresh") > 39.0);
    let requests =
        eventually("all requests", || Some(api.requests(Target::AllLanguages)).filter(|all| all.len() == 41));
    let at = requests.iter().find(|request| request.repository() == Some("10")).unwrap().at;
    // Those that were under way when the answer came may still arrive; after them there is silence.
    let within = |from: u64, to: u64| {
        let (from, to) = (at + Duration::from_millis(from), at + Duration::from_millis(to));
        requests.iter().filter(|request| (from..to).contains(&request.at)).count()
    };
    assert_eq!(within(300, 950), 0);
}
