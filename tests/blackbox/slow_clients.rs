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
fn connections_beyond_the_most_are_closed_at_once_until_others_end() {
    let (_api, exporter) = started();
    let mut held: Vec<_> = (0..MOST_CONNECTIONS).map(|_| dawdler(&exporter, b"GET ")).collect();
    eventually("one more is refused", || {
        let mut more = TcpStream::connect(exporter.address).ok()?;
        more.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
        // Closed in order or reset: either way there is nothing to wait for.
        let mut buffer = [0];
        match more.read(&mut buffer) {
            Ok(0) => Some(()),
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => Some(()),
            _ => {
                held.push(more);
                None
            }
        }
    });
    held.clear();
    eventually("there is room again", || {
        (http::get(exporter.address, "/-/healthy", &[]).is_ok_and(|response| response.status == 200)).then_some(())
    });
}
