//! Certificates that must not be trusted, and systems that trust none.

use crate::support::{Api, Setup, Target, tls::Certificate};

#[test]
fn a_bad_certificate_gets_no_key() {
    for kind in [
        Certificate::Expired,
        Certificate::SelfSigned,
        Certificate::WrongName,
    ] {
        let api = Api::start_tls(kind);
        let exporter = Setup::for_api(&api)
            .set("api.max_attempts", "1")
            .set("poll.interval", "1h")
            .start();
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
