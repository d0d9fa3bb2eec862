//! What can be wrong with the way to the API.

use crate::support::{Api, Setup, Target, exposition::RATIO, tls::Certificate};

/// Nothing may be read or sent; the failure is counted and reported.
fn fails(setup: Setup, reason: &str) {
    let exporter = setup.set("api.max_attempts", "1").set("poll.interval", "1h").start();
    let metrics = exporter.wait_until_up_is(0.0);
    assert_eq!(metrics.failures("list_repositories", reason), 1.0, "{}", exporter.log());
    assert_eq!(metrics.count(RATIO), 0);
    let ready = exporter.get("/-/ready");
    assert_eq!(ready.status, 503);
    assert!(!ready.text().is_empty());
}

#[test]
fn a_trusted_certificate_is_accepted_by_address_and_by_name() {
    let api = Api::start_tls(Certificate::Good);
    for host in ["127.0.0.1", "localhost"] {
        let url = format!("https://{host}:{}", api.address.port());
        Setup::for_api(&api).set("api.base_url", &url).start().wait_until_fresh(1);
    }
}

#[test]
fn a_bad_certificate_gets_no_key() {
    let untrusted = |setup: Setup| setup.set("api.ca_file", "");
    for kind in [Certificate::Good, Certificate::Expired, Certificate::SelfSigned, Certificate::WrongName] {
        let api = Api::start_tls(kind);
        let setup = Setup::for_api(&api);
        fails(if kind == Certificate::Good { untrusted(setup) } else { setup }, "tls");
        assert_eq!(api.requests(Target::Everything).len(), 0, "{kind:?}");
    }
}

#[test]
fn a_name_that_does_not_exist_is_a_failure_to_connect() {
    fails(Setup::for_url("https://no-such-host.invalid"), "connect");
}

#[test]
fn a_system_without_roots_is_an_error_that_says_why_there_are_none() {
    let setup = Setup::for_url("https://api.example.com").variable("SSL_CERT_FILE", "/no/such/roots.pem");
    setup.arguments(&["check-config"]).run().failed(2, &["/no/such/roots.pem", "api.ca_file"]);
}
