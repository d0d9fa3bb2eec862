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
        assert_eq!(
            metrics.failures("list_repositories", "tls"),
            1.0,
            "{kind:?}: {}",
            exporter.log()
        );
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
