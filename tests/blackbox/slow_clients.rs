//! Clients that dawdle: they hold nobody up, neither those who scrape nor the shutdown, and cannot pile up.

use crate::support::{Api, Exporter, Repo, Setup, eventually, exposition::Format, http};
use std::{
    io::{Read, Write},
    net::TcpStream,
    time::Duration,
};

/// The most connections that the exporter keeps.
const MOST_CONNECTIONS: usize = 512;

fn started() -> (Api, Exporter) {
    let api = Api::start([Repo::new(1, "owner/repo").languages(&[("de", 50.0)])]);
    // Two files for each connection: its ends may both be in one process's limit where that is inherited.
    let exporter = Setup::for_api(&api).after("ulimit -n 4096").start();
    exporter.wait_for("it is read", |metrics| metrics.repositories("fresh") > 0.0);
    (api, exporter)
}

fn dawdler(exporter: &Exporter, begin: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(exporter.address).unwrap();
    stream.write_all(begin).unwrap();
    stream
}

#[test]
fn those_who_never_finish_a_request_or_never_take_an_answer_hold_up_neither_scrapes_nor_the_end() {
    let (_api, mut exporter) = started();
    let begins: [&[u8]; 4] = [
        b"",
        b"GET /metrics HTTP/1.1\r\nx: ",
        b"POST /-/reload HTTP/1.1\r\nhost: a\r\ncontent-length: 1000\r\n\r\nx",
        b"GET /metrics HTTP/1.1\r\nhost: a\r\n\r\nGET /metrics HTTP/1.1\r\nhost: a\r\n\r\n",
    ];
    let dawdlers: Vec<_> = (0..400).map(|number| dawdler(&exporter, begins[number % begins.len()])).collect();
    for _ in 0..20 {
        assert_eq!(exporter.scrape(Format::OpenMetrics).ratio("owner/repo", "de"), Some(0.5));
    }
    let (status, took) = exporter.terminate();
    assert_eq!(status.code(), Some(0));
    assert!(took < Duration::from_secs(5), "{took:?}");
    drop(dawdlers);
}

#[test]
fn where_all_places_are_taken_the_connection_that_moved_no_byte_for_longest_makes_room() {
    let (_api, exporter) = started();
    let mut held = vec![dawdler(&exporter, b"GET ")];
    // By then its bytes have been read, before those of all others.
    for _ in 0..20 {
        assert_eq!(exporter.status("/-/healthy"), 200);
    }
    held.extend((1..MOST_CONNECTIONS).map(|_| dawdler(&exporter, b"GET ")));
    for _ in 0..3 {
        assert_eq!(exporter.status("/-/healthy"), 200);
    }
    let is_open = |mut stream: &TcpStream| {
        stream.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        // Closed in order or reset: either way it answers at once.
        stream.read(&mut [0]).is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock)
    };
    assert!(!is_open(&held[0]), "the first has been idle for longest");
    assert!(is_open(&held[MOST_CONNECTIONS - 1]), "the last has not");
}

#[test]
fn a_lack_of_file_descriptors_is_logged_when_it_begins_and_when_it_ends() {
    let api = Api::start([Repo::new(1, "owner/repo")]);
    let setup = Setup::for_api(&api).set("poll.interval", "1h").set("log.level", "debug");
    let exporter = setup.after("ulimit -n 64").start();
    let held: Vec<_> = (0..100).map(|_| dawdler(&exporter, b"GET ")).collect();
    let lines = |part: &str| exporter.log().lines().filter(|line| line.contains(part)).count();
    eventually("it lasts", || (lines("accepting failed again") >= 3).then_some(()));
    drop(held);
    eventually("its end is logged", || {
        http::get(exporter.address, "/-/healthy", &[]).ok();
        (lines("connections are accepted again") > 0).then_some(())
    });
    let log = exporter.log();
    let end = log.lines().find(|line| line.contains("connections are accepted again")).unwrap();
    let failed = end.split(" failed=").nth(1).and_then(|rest| rest.split(' ').next()).unwrap();
    assert!(failed.parse::<u64>().unwrap() >= 4, "{end}");
    assert_eq!(lines("cannot accept connections"), 1, "{log}");
}

#[test]
fn the_soft_limit_of_open_files_is_raised_to_the_hard_one() {
    let api = Api::start([Repo::new(1, "owner/repo")]);
    let exporter = Setup::for_api(&api).after("ulimit -S -n 200; ulimit -H -n 1000").start();
    assert_eq!(exporter.metrics().value("process_max_fds", &[]), Some(1000.0));
}
