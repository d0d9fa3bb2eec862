//! Status 429 with every kind of Retry-After.

use crate::support::{Api, Reply, Setup, Target, exposition::RATIO};
use jiff::{Timestamp, fmt::rfc2822::DateTimePrinter};
use std::time::Duration;

const YEAR: &str = "31536000";

/// Answers the first request with 429 and this Retry-After. Returns the time until the next
/// request.
fn pause_after(target: Target, retry_after: &str, max_retry_after: &str) -> Duration {
    let api = Api::of(3);
    let retry_after = retry_after.to_owned();
    api.script(target, move |request| {
        (request.nth == 0).then(|| Reply::status(429).header("retry-after", &retry_after))
    });
    let setup = Setup::for_api(&api)
        .set("poll.interval", "1h")
        .set("api.concurrency", "1");
    let metrics = setup
        .set("api.max_retry_after", max_retry_after)
        .start()
        .wait_until_fresh(3);
    let operation = if target == Target::Listing {
        "list_repositories"
    } else {
        "list_languages"
    };
    assert_eq!(metrics.failures(operation, "rate_limited"), 1.0);
    let requests = api.requests(Target::Everything);
    let limited = requests
        .iter()
        .position(|request| target.holds(request))
        .unwrap();
    requests[limited + 1].at - requests[limited].at
}

#[test]
fn retry_after_in_seconds_or_as_a_date_is_obeyed_up_to_max_retry_after() {
    // A date has whole seconds. Six of them leave a busy machine time to send the first request.
    let date = DateTimePrinter::new()
        .timestamp_to_rfc9110_string(&(Timestamp::now() + Duration::from_secs(6)))
        .unwrap();
    for (target, retry_after, most, least) in [
        (Target::Languages(2), &*date, "1h", 500),
        (Target::Listing, "1", "1h", 990),
        (Target::Listing, YEAR, "1s", 990),
    ] {
        let pause = pause_after(target, retry_after, most);
        assert!(
            (Duration::from_millis(least)..Duration::from_secs(10)).contains(&pause),
            "{retry_after}: {pause:?}"
        );
    }
}

#[test]
fn a_retry_after_of_a_year_ends_the_poll_and_outlives_a_reload() {
    let api = Api::of(3);
    let exporter = Setup::for_api(&api)
        .set("api.max_retry_after", "24h")
        .start();
    let before = exporter.wait_until_fresh(3);
    api.fault(
        Target::Listing,
        Reply::status(429).header("retry-after", YEAR),
    );
    let metrics = exporter.wait_until_up_is(0.0);
    assert!(
        metrics.polls() > before.polls(),
        "the poll that was asked to wait has ended"
    );
    assert_eq!(metrics.count(RATIO), 3);
    // The hold lasts for api.max_retry_after; the page shows the rest in whole hours.
    let page = exporter.get("/").text();
    assert!(
        page.contains(">23 h<") || page.contains(">1 d<"),
        "the page shows until when it waits: {page}"
    );
    exporter.wait_for_line(&["Retry-After"]);
    api.heal();
    api.forget();
    exporter.signal("HUP");
    exporter.wait_for_line(&["was read again"]);
    // Only time can prove that no request is sent: without the hold, the next poll begins within
    // the interval of 1 s.
    std::thread::sleep(Duration::from_millis(1200));
    assert_eq!(api.requests(Target::Everything).len(), 0);
}
