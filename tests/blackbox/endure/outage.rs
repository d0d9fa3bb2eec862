//! Outages: a complete outage costs only a few requests, and no data.

use crate::support::{
    Api, Exposition, Reply, Setup, Target,
    exposition::{INFO, RATIO},
    repo,
    tls::{Authority, Certificate},
};
use std::{
    collections::HashSet,
    sync::atomic::{AtomicUsize, Ordering},
};

/// Runs an outage between `begin` and `end`, of an API with 60 repositories.
fn an_outage(api: &Api, begin: impl FnOnce(), end: impl FnOnce()) {
    let exporter = Setup::for_api(api).start();
    exporter.wait_until_fresh(60);
    let unavailable = |metrics: &Exposition| {
        let reason = [("reason", "unavailable")];
        metrics.sum("translation_exporter_poll_failures_total", &reason)
    };
    // Some kinds of outage let requests reach the API, others do not.
    let requests = |metrics: &Exposition| {
        let received = f64::from(u32::try_from(api.requests(Target::Everything).len()).unwrap());
        received.max(metrics.sum("translation_exporter_api_requests_total", &[]))
    };
    begin();
    let before = exporter.wait_for("the outage", |metrics| unavailable(metrics) >= 1.0);
    let requests_before = requests(&before);
    let metrics = exporter.wait_for("the outage goes on", |metrics| {
        assert_eq!(metrics.count(RATIO), 60, "nothing is lost");
        unavailable(metrics) >= 3.0
    });
    // One more poll may be under way.
    let polls = metrics.polls() - before.polls() + 1.0;
    let requests = requests(&metrics) - requests_before;
    assert!(requests <= 40.0 * polls, "{requests} in {polls} polls");
    let healthy = before.polls() - unavailable(&before);
    assert_eq!(metrics.polls() - unavailable(&metrics), healthy);
    end();
    api.forget();
    exporter.wait_until_up_is(1.0);
    exporter.wait_for("all are read again", |metrics| {
        let requests = api.requests(Target::AllLanguages);
        let read: HashSet<_> = requests.iter().map(|request| &request.target).collect();
        read.len() == 60 && metrics.repositories("fresh") >= 60.0
    });
}

#[test]
fn a_page_in_place_of_every_response_costs_few_requests_and_no_data() {
    let api = Api::of(60);
    let maintenance = || api.fault(Target::Everything, Reply::html());
    an_outage(&api, maintenance, || api.heal());
}

#[test]
fn an_expired_certificate_costs_few_requests_and_no_data() {
    let authority = Authority::new();
    let [good, expired] = [Certificate::Good, Certificate::Expired]
        .map(|kind| authority.identity(kind, "localhost").0);
    let server = good.server.clone();
    let api = Api::start_at("127.0.0.1:0", (1..=60).map(repo), Some(good));
    let expire = || {
        api.show(expired.server);
        // Existing connections are closed, so the client connects again.
        api.fault(Target::Everything, Reply::close());
    };
    let renew = || {
        api.heal();
        api.show(server);
    };
    an_outage(&api, expire, renew);
}

#[test]
fn a_listing_that_never_ends_is_ended_and_nothing_of_it_is_taken_over() {
    let api = Api::of(3);
    let exporter = Setup::for_api(&api).start();
    exporter.wait_until_fresh(3);
    api.script(Target::Listing, |request| {
        let after: u64 = request
            .query("after")
            .map_or(0, |after| after.parse().unwrap());
        let entries: Vec<_> = (after + 1..=after + 1000)
            .map(|id| repo(id).entry)
            .collect();
        Some(Reply::json(format!("[{}]", entries.join(","))))
    });
    let metrics = exporter.wait_for("it fails", |metrics| {
        assert_eq!(metrics.count(INFO), 3, "nothing new is taken over");
        metrics.failures("list_repositories", "too_large") >= 3.0
    });
    assert_eq!(metrics.up(), Some(0.0));
    let requests = api.requests(Target::Listing).len();
    // One more poll may be under way, and the first one found three repositories.
    let polls = exporter.metrics().polls() + 1.0;
    assert!(
        f64::from(u32::try_from(requests).unwrap()) <= 202.0 * polls,
        "{requests} requests in {polls} polls"
    );
    exporter.wait_for_line(&["more than 200000 repositories"]);
}

/// A load balancer or NAT may forget connections that answered before.
#[test]
fn connections_that_go_deaf_in_a_poll_cost_it_no_repository() {
    let api = Api::of(40);
    let deaf = AtomicUsize::new(0);
    api.script(Target::AllLanguages, move |request| {
        let is_later = request.repository().is_some_and(|id| id.len() == 2);
        // All connections in flight, which have answered the requests for repositories 1 to 9.
        (is_later && deaf.fetch_add(1, Ordering::Relaxed) < 4).then(Reply::never)
    });
    let exporter = Setup::for_api(&api)
        .set("api.concurrency", "4")
        .set("api.timeout", "2s")
        .set("poll.interval", "1h")
        .start();
    let metrics = exporter.wait_for("the poll has ended", |metrics| metrics.polls() >= 1.0);
    assert_eq!(metrics.failures("list_languages", "timeout"), 4.0);
    let failed = metrics.sum("translation_exporter_poll_failures_total", &[]);
    assert_eq!((metrics.polls(), failed), (1.0, 0.0));
    exporter.wait_until_fresh(40);
}
