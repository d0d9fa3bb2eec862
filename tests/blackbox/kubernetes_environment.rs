//! Kubernetes injects variables for every Service of the namespace; those of one named translation-exporter bear the
//! prefix of the configuration and mean nothing.

use crate::support::{Api, Repo, Setup};

const INJECTED: [(&str, &str); 11] = [
    ("TRANSLATION_EXPORTER_SERVICE_HOST", "10.96.0.17"),
    ("TRANSLATION_EXPORTER_SERVICE_PORT", "10018"),
    ("TRANSLATION_EXPORTER_SERVICE_PORT_METRICS", "10018"),
    ("TRANSLATION_EXPORTER_PORT", "tcp://10.96.0.17:10018"),
    ("TRANSLATION_EXPORTER_PORT_10018_TCP", "tcp://10.96.0.17:10018"),
    ("TRANSLATION_EXPORTER_PORT_10018_TCP_PROTO", "tcp"),
    ("TRANSLATION_EXPORTER_PORT_10018_TCP_PORT", "10018"),
    ("TRANSLATION_EXPORTER_PORT_10018_TCP_ADDR", "10.96.0.17"),
    ("TRANSLATION_EXPORTER_WEB_SERVICE_HOST", "10.96.0.18"),
    ("TRANSLATION_EXPORTER_WEB_PORT", "tcp://10.96.0.18:80"),
    ("KUBERNETES_SERVICE_HOST", "10.96.0.1"),
];

fn with_injected(setup: Setup) -> Setup {
    INJECTED.into_iter().fold(setup, |setup, (name, value)| setup.variable(name, value))
}

#[test]
fn the_variables_of_a_service_change_nothing() {
    let api = Api::start([Repo::new(1, "owner/repo")]);
    let exporter = with_injected(Setup::for_api(&api)).start();
    exporter.wait_for("it is read", |metrics| metrics.ratio("owner/repo", "de") == Some(0.5));

    let shown = |setup: Setup| {
        let output = setup.argument("check-config").run();
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(shown(with_injected(Setup::for_api(&api))), shown(Setup::for_api(&api)));
}

#[test]
fn a_variable_that_spells_a_key_with_one_underscore_is_an_error_that_says_so() {
    let output = Setup::for_url("http://127.0.0.1:1").variable("TRANSLATION_EXPORTER_POLL_INTERVAL", "1m").run();
    assert_eq!(output.status.code(), Some(2));
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains("TRANSLATION_EXPORTER_POLL_INTERVAL"), "{error}");
    assert!(error.contains("TRANSLATION_EXPORTER_POLL__INTERVAL"), "{error}");
}
