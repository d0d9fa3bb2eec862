//! Clients that misbehave, with and without TLS. Prometheus still gets its scrape.

use crate::support::{
    Api, Exporter, PATIENCE, Setup,
    tls::{self, Certificate, Identity, TlsStream},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
};

const TLS: &str = "tls_server_config: {cert_file: server.pem, key_file: server.key}\n";

struct Web {
    exporter: Exporter,
    root: String,
}

impl Web {
    /// Starts an exporter of this API with this web configuration file.
    fn start(api: &Api, web_config: &str) -> Self {
        let (identity, [certificate, key]) = tls::identity(Certificate::Good, "localhost");
        let Identity {
            authority: root, ..
        } = identity;
        let setup = Setup::for_api(api)
            .set("poll.interval", "1h")
            .set("log.level", "debug");
        setup.file("server.pem", &certificate);
        setup.file("server.key", &key);
        let file = match web_config {
            "" => String::new(),
            text => setup.file("web.yml", text),
        };
        let exporter = setup.set("web.config_file", &file).start();
        exporter.wait_for_line(&["poll ended"]);
        Self { exporter, root }
    }

    fn tls(&self) -> TlsStream {
        tls::connect(self.exporter.address, &self.root, None)
    }
}

fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

fn get(path: &str, headers: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n{headers}\r\n")
}

fn authorization(user: &str, password: &str) -> String {
    format!("Basic {}", STANDARD.encode(format!("{user}:{password}")))
}

/// Reads until the other side closes.
fn read_all(mut stream: impl Read) -> String {
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).ok();
    String::from_utf8_lossy(&answer).into_owned()
}

/// Scrapes over HTTP/1.1 on a new connection.
fn scrape(mut stream: impl Read + Write) -> bool {
    let request = get("/metrics", "connection: close\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let answer = read_all(stream);
    answer.starts_with("HTTP/1.1 200 ") && answer.contains("\ntranslation_exporter_polls_total ")
}

/// Requests more than the buffers of both ends can hold, and reads only the beginning of the
/// responses.
fn pipeline<S: Read + Write>(mut stream: S) -> S {
    let requests = get("/metrics", "").repeat(50);
    stream.write_all(requests.as_bytes()).unwrap();
    let mut begin = [0; 12];
    stream.read_exact(&mut begin).unwrap();
    assert_eq!(&begin, b"HTTP/1.1 200");
    stream
}

#[test]
fn responses_that_nobody_takes_over_http_1_keep_no_scrape_from_another() {
    let api = Api::of(300);
    let plain = Web::start(&api, "");
    let address = plain.exporter.address;
    let _held: Vec<_> = (0..60).map(|_| pipeline(connect(address))).collect();
    assert_eq!([(); 10].map(|()| scrape(connect(address))), [true; 10]);

    let protected = Web::start(&api, TLS);
    let _held: Vec<_> = (0..60).map(|_| pipeline(protected.tls())).collect();
    assert_eq!([(); 10].map(|()| scrape(protected.tls())), [true; 10]);
}

#[test]
fn a_flood_of_wrong_passwords_stops_no_scrape_and_takes_one_log_line() {
    let hash = bcrypt::hash("correct", 8).unwrap();
    let users = format!("{TLS}basic_auth_users: {{alice: \"{hash}\"}}\n");
    let web = Web::start(&Api::of(1), &users);
    let right = format!("authorization: {}\r\n", authorization("alice", "correct"));
    let scrape = || {
        let mut stream = web.tls();
        let request = get("/metrics", &format!("{right}connection: close\r\n"));
        stream.write_all(request.as_bytes()).unwrap();
        read_all(stream).starts_with("HTTP/1.1 200 ")
    };
    assert!(scrape());
    let body = "x".repeat(10_000);
    let _flood: Vec<_> = (0..200)
        .map(|number| {
            let wrong = authorization("alice", &number.to_string());
            let headers = format!("authorization: {wrong}\r\ncontent-length: 100000\r\n");
            let mut stream = web.tls();
            let request = get("/metrics", &headers) + &body;
            stream.write_all(request.as_bytes()).unwrap();
            stream
        })
        .collect();
    assert!(scrape());
    web.exporter.wait_for_line(&["level=warn", "password"]);
    let log = web.exporter.log();
    let lines = log.lines().filter(|line| line.contains("level=warn"));
    let lines: Vec<_> = lines.collect();
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(
        lines[0].contains("peer=127.0.0.1") && lines[0].contains("password"),
        "{lines:?}"
    );
}

#[test]
fn a_scrape_that_waits_for_its_password_outlives_520_idle_connections() {
    let hash = bcrypt::hash("correct", 10).unwrap();
    let users = format!("basic_auth_users: {{alice: \"{hash}\"}}\n");
    let web = Web::start(&Api::of(1), &users);
    let ask = |password: &str| {
        let header = format!("authorization: {}\r\n", authorization("alice", password));
        let mut stream = connect(web.exporter.address);
        stream
            .write_all(get("/metrics", &header).as_bytes())
            .unwrap();
        stream
    };
    // The first verification delays the second one.
    let _wrong = ask("wrong");
    let mut waiting = ask("correct");
    let _idle: Vec<_> = (0..520).map(|_| connect(web.exporter.address)).collect();
    let mut begin = [0; 12];
    waiting.read_exact(&mut begin).unwrap();
    assert_eq!(&begin, b"HTTP/1.1 200");
}

#[test]
fn a_request_is_one_line_of_the_log_at_debug() {
    let web = Web::start(&Api::of(1), "");
    web.exporter.get("/nothing?really");
    let line = web
        .exporter
        .wait_for_line(&["msg=request", "path=/nothing"]);
    for part in ["level=debug", "method=GET", "status=404", "peer=127.0.0.1:"] {
        assert!(line.contains(part), "{part}: {line}");
    }
    assert!(!line.contains("really"), "{line}");
}
