//! What can be wrong with the way to the API.

use super::failures;
use crate::support::{Api, Repo, Setup, Target, tls::Flaw};

fn repo() -> [Repo; 1] {
    [Repo::new(1, "owner/repo")]
}

/// Nothing may be read, and nothing sent; the failure is counted and told.
fn fails(setup: Setup, reason: &str) {
    let exporter = setup.set("api.max_attempts", "1").set("poll.interval", "1h").start();
    let metrics = exporter.wait_for("the poll fails", |metrics| metrics.value("translation_up", &[]) == Some(0.0));
    assert_eq!(failures(&metrics, "list_repositories", reason), 1.0, "{}", exporter.log());
    assert_eq!(metrics.samples("translation_completion_ratio").count(), 0);
    let ready = exporter.get("/-/ready");
    assert_eq!(ready.status, 503);
    assert!(!ready.text().is_empty());
}

#[test]
fn a_trusted_certificate_is_accepted_by_address_and_by_name() {
    let api = Api::start_tls(repo(), Flaw::None);
    let setup = Setup::for_api(&api);
    let by_name = Setup::for_api(&api).set("api.base_url", &format!("https://localhost:{}", api.address.port()));
    for setup in [setup, by_name] {
        let exporter = setup.start();
        exporter.wait_for("it is read", |metrics| metrics.ratio("owner/repo", "de") == Some(0.5));
    }
}

#[test]
fn bad_certificates_get_no_key() {
    for flaw in [Flaw::Expired, Flaw::SelfSigned, Flaw::WrongName] {
        let api = Api::start_tls(repo(), flaw);
        fails(Setup::for_api(&api), "tls");
        assert_eq!(api.requests(Target::Everything).len(), 0, "{flaw:?}");
    }
}

#[test]
fn an_authority_that_is_not_trusted_gets_no_key() {
    let api = Api::start_tls(repo(), Flaw::None);
    fails(Setup::for_api(&api).unset("api.ca_file"), "tls");
    assert_eq!(api.requests(Target::Everything).len(), 0);
}

#[test]
fn a_name_that_does_not_exist() {
    fails(Setup::for_url("https://no-such-host.invalid"), "connect");
}

#[test]
fn a_system_without_roots_is_an_error_that_says_why_there_are_none() {
    let setup = Setup::for_url("https://api.example.com").variable("SSL_CERT_FILE", "/no/such/roots.pem");
    let output = setup.argument("check-config").run();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains("/no/such/roots.pem") && error.contains("api.ca_file"), "{error}");
}
