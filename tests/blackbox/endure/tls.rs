//! Certificates that must not be trusted, and systems that trust none.

use crate::support::{
    Api, Setup, Target,
    api::repo,
    tls::{Authority, Certificate, identity},
};
use std::fs;

#[test]
fn a_bad_certificate_gets_no_key() {
    for kind in [
        Certificate::Expired,
        Certificate::SelfSigned,
        Certificate::WrongName,
    ] {
        let api = Api::start_tls(kind);
        let exporter = Setup::for_api(&api).set("poll.interval", "1h").start();
        let metrics = exporter.wait_until_up_is(0.0);
        let failures = metrics.failures("list_repositories", "tls");
        assert!(failures >= 1.0, "{kind:?}: {}", exporter.log());
        let reason = [("reason", "unavailable")];
        let unavailable = metrics.sum("translation_exporter_poll_failures_total", &reason);
        assert_eq!(unavailable, metrics.polls(), "{kind:?}");
        let requests = metrics.sum("translation_exporter_api_requests_total", &[]);
        assert!(requests <= metrics.polls() + 1.0, "{kind:?}: {requests}");
        assert_eq!(api.requests(Target::Everything).len(), 0, "{kind:?}");
    }
}

#[test]
fn a_system_without_roots_is_an_error_that_says_why_there_are_none() {
    let setup =
        Setup::for_url("https://api.example.com").variable("SSL_CERT_FILE", "/no/such/roots.pem");
    setup
        .arguments(&["check-config"])
        .run()
        .assert_failed(2, &["/no/such/roots.pem", "api.ca_file"]);
}

#[test]
fn a_replaced_ca_file_is_trusted_without_a_reload() {
    let [before, after] = [(); 2].map(|()| Authority::new());
    let [before, after] = [before, after].map(|one| one.identity(Certificate::Good, "localhost").0);
    let api = Api::start_at("127.0.0.1:0", [repo(1)], Some(before));
    let exporter = Setup::for_api(&api).start();
    exporter.wait_until_up_is(1.0);
    api.show(after.server);
    exporter.wait_until_up_is(0.0);
    let path = exporter.folder.path().join("authority.pem");
    fs::write(path, after.authority).unwrap();
    exporter.wait_until_up_is(1.0);
}

#[test]
fn a_self_signed_certificate_is_trusted_itself_unless_it_is_an_authority() {
    for (kind, words) in [
        (Certificate::SelfSigned, None),
        (
            Certificate::SelfSignedAuthority,
            Some(["CaUsedAsEndEntity", "CA:FALSE"]),
        ),
    ] {
        let (mut identity, [certificate, _]) = identity(kind, "localhost");
        identity.authority = certificate;
        let api = Api::start_at("127.0.0.1:0", [repo(1)], Some(identity));
        let once = Setup::for_api(&api).arguments(&["once"]);
        match words {
            None => assert_eq!(once.run().code, Some(0)),
            Some(words) => once.run().assert_failed(1, &words),
        }
    }
}
