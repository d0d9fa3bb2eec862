//! Requests to the API: no more in flight than allowed, each with the key, a count and a log line.

use crate::support::{
    Api, Reply, Repo, Setup, Target,
    api::{KEY, Request},
    eventually, until,
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
fn no_more_requests_are_in_flight_than_allowed() {
    let api = Api::of(30);
    let (in_flight, most) = (AtomicUsize::new(0), Arc::new(AtomicUsize::new(0)));
    let seen = most.clone();
    api.script(Target::AllLanguages, move |_| {
        let now = in_flight.fetch_add(1, Ordering::SeqCst) + 1;
        seen.fetch_max(now, Ordering::SeqCst);
        until("three are in flight", || seen.load(Ordering::SeqCst) >= 3);
        // A fourth request would arrive meanwhile.
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
    let failed = lines.iter().find(|line| line.contains("answered 503"));
    assert!(failed.unwrap().contains("duration="), "{failed:?}");
    assert!(!exporter.log().to_lowercase().contains("bearer"));
}

#[test]
fn requests_after_a_timeout_use_new_connections() {
    let api = Api::of(6);
    api.script(Target::Languages(3), |request| {
        (request.nth == 0).then(Reply::never)
    });
    // The second connection is idle when the first one times out.
    let output = Setup::for_api(&api)
        .set("api.timeout", "1s")
        .set("api.concurrency", "2")
        .arguments(&["once"])
        .run();
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let requests = api.requests(Target::Everything);
    let is_retry = |request: &Request| request.repository() == Some("3") && request.nth == 1;
    let retry = requests.iter().position(is_retry).unwrap();
    let (before, after) = requests.split_at(retry);
    let is_reused = |request: &Request| before.iter().any(|old| old.port == request.port);
    assert!(!after.iter().any(is_reused), "{requests:?}");
}

#[test]
fn the_path_prefix_of_the_base_url_is_kept() {
    let api = Api::start([]);
    api.script(Target::Everything, |request| {
        Some(match &*request.target {
            "/translation/v1/repositories?limit=1000" => {
                Reply::json(format!("[{}]", Repo::new(1, "owner/repo").entry))
            }
            "/translation/v1/repositories?limit=1000&after=1" => Reply::json("[]"),
            "/translation/v1/repositories/1/languages" => {
                Reply::json(r#"[{"code":"de","completion":25}]"#)
            }
            _ => return None,
        })
    });
    let exporter = Setup::for_url(&format!("{}/translation", api.base_url())).start();
    exporter.wait_for("the repository", |metrics| {
        metrics.ratio("owner/repo", "de") == Some(0.25)
    });
}
