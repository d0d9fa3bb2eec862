//! Outages: readable repositories are read in each poll, and a complete outage costs only a few
//! requests.

use crate::support::{
    Api, Exposition, Reply, Repo, Setup, Target,
    exposition::{self, Format, INFO, RATIO},
    repo,
    tls::{Authority, Certificate},
    until,
};
use std::{
    collections::BTreeSet,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

/// Returns the requests for languages of each poll, by repository, including the poll under way.
fn polls_of(api: &Api) -> Vec<Vec<u64>> {
    let mut polls: Vec<Vec<u64>> = Vec::new();
    for request in api.requests(Target::Everything) {
        match request.repository() {
            None if request.query("after").is_none() => polls.push(Vec::new()),
            None => {}
            Some(id) => {
                let id: u64 = id.parse().unwrap();
                if let Some(poll) = polls.last_mut() {
                    poll.push(id);
                }
            }
        }
    }
    polls
}

fn wait_for_polls(api: &Api, count: usize) -> Vec<Vec<u64>> {
    until("polls go on", || polls_of(api).len() > count);
    polls_of(api)
}

/// Each repository of 21 to 50 fails in this way; all others are read in each poll.
fn thirty_of_70_fail(reply: &Reply) {
    let api = Api::of(70);
    let broken = 21..=50;
    let (ids, failure) = (broken.clone(), reply.clone());
    api.script(Target::AllLanguages, move |request| {
        let id = request.repository()?.parse().ok()?;
        ids.contains(&id).then(|| failure.clone())
    });
    let exporter = Setup::for_api(&api)
        // The timeout is long enough for a busy machine.
        .set("api.timeout", "3s")
        .set("api.concurrency", "50")
        .set("api.max_attempts", "1")
        .start();
    let is_good = |id: &u64| !broken.contains(id);
    let reads_all = |poll: &Vec<u64>| {
        let read: BTreeSet<_> = poll.iter().filter(|id| is_good(id)).collect();
        read.len() == 40
    };
    // The first polls learn which repositories fail.
    let polls = wait_for_polls(&api, 6);
    assert!(polls[3..6].iter().all(reads_all), "{polls:?}");
    let metrics = exporter.metrics();
    assert_eq!(metrics.repositories("fresh"), 40.0);
    let log = exporter.log();
    assert_eq!(metrics.up(), Some(1.0), "no outage: {log}");

    let works_again = Reply::json(r#"[{"code":"de","completion":80}]"#);
    api.fault(Target::Languages(30), works_again);
    exporter.wait_for("one that works again is read", |metrics| {
        metrics.ratio("owner/repo-30", "de") == Some(0.8)
    });
}

#[test]
fn readable_repositories_are_read_in_each_poll_beside_failing_ones() {
    thread::scope(|scope| {
        for reply in [Reply::status(403), Reply::status(500), Reply::never()] {
            scope.spawn(move || thirty_of_70_fail(&reply));
        }
    });
}

/// Runs an outage between `begin` and `end`, of an API with 60 repositories.
fn an_outage(kind: &str, api: &Api, begin: impl FnOnce(), end: impl FnOnce()) {
    let exporter = Setup::for_api(api).set("api.max_attempts", "2").start();
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
    let before = exporter.wait_for(kind, |metrics| unavailable(metrics) >= 1.0);
    let requests_before = requests(&before);
    let metrics = exporter.wait_for(kind, |metrics| {
        assert_eq!(metrics.count(RATIO), 60, "{kind}: nothing is lost");
        unavailable(metrics) >= 3.0
    });
    // One more poll may be under way.
    let polls = metrics.polls() - before.polls() + 1.0;
    let requests = requests(&metrics) - requests_before;
    assert!(
        requests <= 40.0 * polls,
        "{kind}: {requests} requests in {polls} polls"
    );
    let healthy = before.polls() - unavailable(&before);
    assert_eq!(metrics.polls() - unavailable(&metrics), healthy, "{kind}");
    end();
    api.forget();
    // One more poll may be under way.
    let enough = exporter.metrics().polls() + 2.0;
    let metrics = exporter.wait_for("all are read again", |metrics| {
        // A poll is counted before its outcome is published.
        let is_up = metrics.up() == Some(1.0);
        is_up && metrics.polls() >= enough && metrics.repositories("fresh") >= 60.0
    });
    assert_eq!(metrics.count(RATIO), 60, "{kind}");
    let whole = |poll: &Vec<u64>| poll.iter().collect::<BTreeSet<_>>().len() == 60;
    // The poll under way at the end of the outage may have listed before.
    until("one poll reads all", || polls_of(api).iter().any(whole));
}

#[test]
fn an_outage_of_any_kind_costs_a_few_requests_a_poll_and_no_data() {
    thread::scope(|scope| {
        for (kind, target, reply) in [
            ("a page", Target::Everything, Reply::html()),
            ("503", Target::Everything, Reply::html().with_status(503)),
            (
                "cut bodies",
                Target::AllLanguages,
                Reply::cut_short("[1,2,3,4,5,6,7,8]"),
            ),
        ] {
            scope.spawn(move || {
                let api = Api::of(60);
                an_outage(kind, &api, || api.fault(target, reply), || api.heal());
            });
        }
        scope.spawn(|| {
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
            an_outage("an expired certificate", &api, expire, renew);
        });
    });
}

#[test]
fn with_100_of_140_forbidden_each_process_reads_all_others() {
    let api = Api::of(140);
    api.script(Target::AllLanguages, |request| {
        let id: u64 = request.repository()?.parse().ok()?;
        (21..=120).contains(&id).then(|| Reply::status(403))
    });
    let once = Setup::for_api(&api)
        .set("state.file", "state.json")
        .arguments(&["once"]);
    for _ in 0..3 {
        let finished = once.run();
        assert_eq!(finished.code, Some(1), "{}", finished.stderr);
        let metrics = exposition::parse(&finished.stdout, Format::OpenMetrics).unwrap();
        assert_eq!(metrics.repositories("fresh"), 40.0);
        assert_eq!(metrics.up(), Some(1.0));
    }
}

#[test]
fn an_incomplete_listing_renames_and_removes_nothing() {
    let api = Api::start([Repo::new(5, "o/b"), Repo::new(9, "o/a")]);
    api.cap_pages(1);
    let exporter = Setup::for_api(&api).set("api.max_attempts", "1").start();
    exporter.wait_until_fresh(2);
    api.script(Target::Listing, |request| {
        (request.query("after") == Some("5")).then(|| Reply::status(500))
    });
    api.put([Repo::new(5, "o/a"), Repo::new(6, "o/new")]);
    api.remove(9);
    let before = exporter.wait_until_up_is(0.0).polls();
    let metrics = exporter.wait_for("polls go on", |metrics| metrics.polls() > before);
    let has = |metrics: &Exposition, repo, id| {
        let labels = [("repo", repo), ("id", id), ("private", "false")];
        metrics.value(INFO, &labels) == Some(1.0)
    };
    assert!(has(&metrics, "o/b", "5") && has(&metrics, "o/a", "9"));
    let duplicates = [("reason", "duplicate_name")];
    let invalid = "translation_exporter_invalid_entries_total";
    assert_eq!(metrics.sum(invalid, &duplicates), 0.0);
    api.heal();
    exporter.wait_for("a complete listing is applied", |metrics| {
        has(metrics, "o/a", "5") && has(metrics, "o/new", "6") && metrics.count(INFO) == 2
    });
}

#[test]
fn a_listing_that_never_ends_is_ended_and_nothing_of_it_is_taken_over() {
    let api = Api::of(3);
    let exporter = Setup::for_api(&api)
        .set("api.max_repositories", "4500")
        .start();
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
        f64::from(u32::try_from(requests).unwrap()) <= 6.0 * polls,
        "{requests} requests in {polls} polls"
    );
    exporter.wait_for_line(&["more than 4500 repositories", "api.max_repositories"]);
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
