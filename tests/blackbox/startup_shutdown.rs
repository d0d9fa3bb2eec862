//! The program is useful at once and ends when it is told to.

use crate::support::{Api, Reply, Repo, Setup, Target, eventually};
use std::time::Duration;

#[test]
fn the_first_series_are_there_within_a_second_of_the_start() {
    let api = Api::start([Repo::new(1, "owner/repo")]);
    let exporter = Setup::for_api(&api).set("poll.interval", "1h").start();
    exporter.wait_for("the first series", |metrics| metrics.ratio("owner/repo", "de").is_some());
    let took = exporter.started.elapsed();
    assert!(took < Duration::from_secs(1), "{took:?}");
}

#[test]
fn sigterm_and_sigint_end_it_in_the_middle_of_a_poll_that_hangs() {
    for signal in ["TERM", "INT"] {
        let api = Api::start([Repo::new(1, "owner/repo"), Repo::new(2, "owner/other")]);
        api.fault(Target::Languages(2), Reply::never());
        let mut exporter = Setup::for_api(&api).start();
        eventually("a request hangs", || api.requests(Target::Languages(2)).first().cloned());
        let begin = std::time::Instant::now();
        exporter.signal(signal);
        let status = exporter.wait();
        assert_eq!(status.code(), Some(0), "{signal}");
        assert!(begin.elapsed() < Duration::from_secs(5), "{signal} took {:?}", begin.elapsed());
    }
}

#[test]
fn it_is_healthy_from_the_start_and_ready_once_there_are_data() {
    let api = Api::start([Repo::new(1, "owner/repo")]);
    api.fault(Target::Listing, Reply::never());
    let exporter = Setup::for_api(&api).set("api.timeout", "1s").start();
    assert_eq!(exporter.status("/-/healthy"), 200);
    let ready = exporter.get("/-/ready");
    assert_eq!(ready.status, 503);
    assert!(!ready.text().trim().is_empty(), "the reason in words");
    assert_eq!(exporter.metrics().value("translation_up", &[]), None, "no poll has ended");
    api.heal();
    eventually("it is ready", || (exporter.status("/-/ready") == 200).then_some(()));
    api.refuse();
    exporter.wait_for("the API is down", |metrics| metrics.value("translation_up", &[]) == Some(0.0));
    assert_eq!(exporter.status("/-/ready"), 200, "it stays ready");
    assert_eq!(exporter.status("/-/healthy"), 200);
    api.listen_again();
    exporter.wait_for("it recovers", |metrics| metrics.value("translation_up", &[]) == Some(1.0));
}

#[test]
fn series_appear_during_a_long_poll() {
    let api = Api::start((1..=3).map(|id| Repo::new(id, &format!("owner/repo-{id}"))));
    api.fault(Target::Languages(2), Reply::never());
    let exporter = Setup::for_api(&api).set("poll.interval", "1h").start();
    let metrics = exporter.wait_for("what has been read is shown", |metrics| metrics.repositories("fresh") > 1.0);
    assert_eq!(metrics.value("translation_exporter_polls_total", &[]), Some(0.0), "the poll is still under way");
    assert_eq!(metrics.repositories("pending"), 1.0);
}

#[test]
fn an_address_in_use_is_an_error_that_names_it() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let output = Setup::for_url("http://127.0.0.1:1").set("web.listen_addresses", &address).run();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{error}");
    for part in [address.as_str(), "web.listen_addresses", "in use"] {
        assert!(error.contains(part), "{error}");
    }
}
