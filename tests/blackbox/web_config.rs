//! The web configuration file of a running exporter: its certificates, and failed handshakes.

use crate::support::{
    Exporter, Setup, eventually,
    tls::{self, Certificate, Identity, TlsStream},
};
use std::{
    io::{Read, Write},
    net::TcpStream,
};

const TLS: &str = "tls_server_config:\n  cert_file: server.pem\n  key_file: server.key\n";
const CLIENTS: &str = "  client_auth_type: RequireAndVerifyClientCert\n  client_ca_file: ca.pem\n";

/// An exporter with a certificate, which its clients present too.
struct Protected {
    exporter: Exporter,
    root: String,
    certificate: String,
    key: String,
}

impl Protected {
    fn start(web_config: &str) -> Self {
        let (
            Identity {
                authority: root, ..
            },
            [certificate, key],
        ) = tls::identity(Certificate::Good, "localhost");
        let setup = Setup::for_url("http://127.0.0.1:1");
        setup.file("ca.pem", &root);
        setup.file("server.pem", &certificate);
        setup.file("server.key", &key);
        let file = setup.file("web.yml", web_config);
        let setup = setup.set("log.level", "debug");
        let exporter = setup.set("web.config_file", &file).start();
        Self {
            exporter,
            root,
            certificate,
            key,
        }
    }

    fn connect(&self, root: &str) -> TlsStream {
        let client = [&*self.certificate, &self.key];
        tls::connect(self.exporter.address, root, Some(client))
    }

    /// Returns the body of a GET on a new connection; `None` if it is refused.
    fn get(&self, path: &str, with_certificate: bool) -> Option<String> {
        let mut stream = if with_certificate {
            self.connect(&self.root)
        } else {
            tls::connect(self.exporter.address, &self.root, None)
        };
        stream
            .write_all(
                format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
                    .as_bytes(),
            )
            .ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        answer
            .split_once("\r\n\r\n")
            .map(|(_, body)| body.to_owned())
    }

    /// Returns the value of a metric, by its name and labels as written.
    fn metric(&self, name: &str) -> Option<String> {
        let text = self.get("/metrics", true)?;
        text.lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))
            .map(str::to_owned)
    }

    fn wait_for_metric(&self, name: &str, value: &str) {
        eventually(&format!("{name} is {value}"), || {
            (self.metric(name)? == value).then_some(())
        });
    }
}

#[test]
fn failed_handshakes_are_counted_from_0_and_the_log_says_why() {
    let protected = Protected::start(&format!("{TLS}{CLIENTS}"));
    let failures = "translation_exporter_tls_handshake_failures_total";
    assert_eq!(protected.metric(failures).as_deref(), Some("0"));
    assert_eq!(protected.get("/", false), None);
    protected.wait_for_metric(failures, "1");
    let (other, _) = tls::identity(Certificate::Good, "localhost");
    let mut distrusting = protected.connect(&other.authority);
    assert!(distrusting.write_all(b"GET / HTTP/1.1\r\n\r\n").is_err());
    protected.wait_for_metric(failures, "2");
    // A client that leaves, as TCP probes do, is no failure.
    let mut torn = TcpStream::connect(protected.exporter.address).unwrap();
    torn.write_all(b"\x16\x03\x01\x02\x00\x01").unwrap();
    drop(torn);
    protected.exporter.wait_for_line(&["handshake eof"]);
    let mut plain = TcpStream::connect(protected.exporter.address).unwrap();
    plain
        .write_all(b"GET /metrics HTTP/1.1\r\nhost: a\r\n\r\n")
        .unwrap();
    protected.exporter.wait_for_line(&["InvalidContentType"]);
    protected.wait_for_metric(failures, "3");
    let expiry = protected
        .metric("translation_exporter_tls_certificate_expiry_timestamp_seconds")
        .unwrap();
    assert!(expiry.parse::<f64>().unwrap() > 1_800_000_000.0, "{expiry}");
}
