//! Many and slow clients delay neither scrapes nor the shutdown, even with few file descriptors.

use crate::support::{Api, Exporter, Setup, Target, exporter::OPENMETRICS, http, until};
use std::{io::Write, net::TcpStream, thread};

fn started() -> Exporter {
    let exporter = Setup::for_api(&Api::of(1)).after("ulimit -n 4096").start();
    exporter.wait_until_fresh(1);
    exporter
}

fn slow_client(exporter: &Exporter, begin: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(exporter.address).unwrap();
    stream.write_all(begin).unwrap();
    stream
}

#[test]
fn clients_that_stall_delay_neither_scrapes_nor_the_shutdown() {
    let mut exporter = started();
    let begins: [&[u8]; 4] = [
        b"",
        b"GET /metrics HTTP/1.1\r\nx: ",
        b"POST /metrics HTTP/1.1\r\nhost: a\r\ncontent-length: 1000\r\n\r\nx",
        b"GET /metrics HTTP/1.1\r\nhost: a\r\n\r\nGET /metrics HTTP/1.1\r\nhost: a\r\n\r\n",
    ];
    let clients: Vec<_> = (0..400)
        .map(|number| slow_client(&exporter, begins[number % begins.len()]))
        .collect();
    for _ in 0..20 {
        assert_eq!(exporter.metrics().ratio("owner/repo-1", "de"), Some(0.5));
    }
    exporter.end("TERM");
    drop(clients);
}

#[test]
fn silent_clients_with_few_open_files_stop_no_scrape_poll_or_save() {
    const WRITES: &str = "translation_exporter_state_writes_total";
    for (limit, clients) in [(64, 60), (128, 130)] {
        let api = Api::of(4);
        let setup = Setup::for_api(&api).set("state.file", "state.json");
        let exporter = setup.after(&format!("ulimit -n {limit}")).start();
        exporter.wait_until_fresh(4);
        let _held: Vec<_> = (0..clients).map(|_| slow_client(&exporter, b"")).collect();
        let before = exporter.metrics().sum(WRITES, &[]);
        exporter.wait_for_polls(3.0);
        exporter.wait_for("the state is written", |metrics| {
            metrics.sum(WRITES, &[]) > before
        });
        let metrics = exporter.metrics();
        for failures in [
            "poll_failures",
            "api_request_failures",
            "state_write_failures",
        ] {
            let name = format!("translation_exporter_{failures}_total");
            assert_eq!(metrics.sum(&name, &[]), 0.0, "{name} of {limit}");
        }
    }
}

#[test]
fn a_shortage_of_file_descriptors_is_logged_once() {
    let api = Api::of(1);
    let setup = Setup::for_api(&api)
        .set("poll.interval", "1h")
        .set("log.level", "debug");
    let exporter = setup.after("ulimit -n 22").start();
    let held: Vec<_> = (0..100).map(|_| slow_client(&exporter, b"GET ")).collect();
    exporter.wait_for_line(&["cannot accept connections"]);
    drop(held);
    until("it serves again", || {
        http::get(exporter.address, "/-/healthy", &[("connection", "close")]).is_ok()
    });
    let logged = exporter.log().matches("cannot accept connections").count();
    assert_eq!(logged, 1, "{}", exporter.log());
}

#[test]
fn a_hundred_scrapers_get_complete_responses_during_a_large_poll() {
    let api = Api::of(2000);
    let exporter = Setup::for_api(&api).set("api.concurrency", "32").start();
    let polled = || api.requests(Target::AllLanguages).len();
    until("repositories are read", || polled() > 0);
    let before = polled();
    thread::scope(|scope| {
        for _ in 0..100 {
            scope.spawn(|| {
                for _ in 0..3 {
                    let headers = [("accept", OPENMETRICS), ("accept-encoding", "gzip")];
                    let response =
                        http::get(exporter.address, "/metrics", &headers).expect("an answer");
                    // `text` requires a single complete gzip member. Complete OpenMetrics ends with
                    // this line.
                    assert_eq!(response.status, 200);
                    assert!(response.text().ends_with("# EOF\n"));
                }
            });
        }
    });
    until("polling goes on", || polled() > before);
}
