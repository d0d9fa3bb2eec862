//! `health` asks the exporter of the same configuration, and says by its exit code how that went.

use crate::support::{Api, Exporter, Repo, Setup};
use std::{
    fs,
    net::TcpListener,
    path::Path,
    process::Output,
    time::{Duration, Instant},
};

const LIMIT: Duration = Duration::from_secs(3);

/// What `health` says with this configuration, and nothing of the API in it.
fn health(listen_address: &str, web_file: Option<&Path>) -> Output {
    let mut setup = Setup::new(&["health"]).set("web.listen_addresses", listen_address);
    if let Some(file) = web_file {
        setup = setup.set("web.config_file", file.to_str().unwrap());
    }
    let begin = Instant::now();
    let output = setup.run();
    assert!(begin.elapsed() < LIMIT, "{:?}", begin.elapsed());
    output
}

fn assert_code(output: &Output, code: i32, what: &str) {
    assert_eq!(output.status.code(), Some(code), "{what}: {}", String::from_utf8_lossy(&output.stderr));
}

/// An exporter with this web configuration file, beside which lie a certificate and its key.
fn protected(web_file: &str) -> Exporter {
    let setup = Setup::for_url("http://127.0.0.1:1");
    let certified = rcgen::generate_simple_self_signed(["elsewhere.test".to_owned()]).unwrap();
    setup.file("cert.pem", &certified.cert.pem());
    setup.file("key.pem", &certified.signing_key.serialize_pem());
    let file = setup.file("web.yaml", web_file);
    setup.set("web.config_file", &file).start()
}

#[test]
fn a_running_exporter_is_healthy_whatever_the_api_does() {
    let exporter = Setup::for_url("http://127.0.0.1:1").start();
    let port = exporter.address.port();
    for address in [format!("127.0.0.1:{port}"), format!("localhost:{port}"), format!("127.0.0.1:1, 127.0.0.1:{port}")]
    {
        assert_code(&health(&address, None), 0, &address);
    }
}

#[test]
fn a_wildcard_is_asked_on_loopback() {
    for host in ["", "0.0.0.0"] {
        let exporter = Setup::for_url("http://127.0.0.1:1").set("web.listen_addresses", &format!("{host}:0")).start();
        assert_code(&health(&format!("{host}:{}", exporter.address.port()), None), 0, host);
    }
}

#[test]
fn nobody_and_somebody_who_never_answers_are_not_healthy() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap().to_string();
    assert_code(&health(&address, None), 1, "who never answers");
    let exporter = Setup::for_url("http://127.0.0.1:1").start();
    assert_code(&health(&format!("{address},{}", exporter.address), None), 0, "who never answers, then one who does");
    drop(silent);
    let output = health(&address, None);
    assert_code(&output, 1, "nobody");
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains(&address) && error.contains("refused"), "{error}");
}

#[test]
fn another_answer_than_200_is_not_healthy() {
    let api = Api::start([Repo::new(1, "owner/repo")]);
    assert_code(&health(&api.address.to_string(), None), 1, "something else that speaks HTTP");
}

#[test]
fn passwords_and_a_certificate_of_another_name_are_no_obstacle() {
    let hash = bcrypt::hash("secret", 4).unwrap();
    let exporter = protected(&format!(
        "tls_server_config: {{cert_file: cert.pem, key_file: key.pem}}\nbasic_auth_users: {{someone: {hash}}}\n"
    ));
    let file = exporter.folder.path().join("web.yaml");
    assert_code(&health(&exporter.address.to_string(), Some(&file)), 0, "TLS");
    fs::write(&file, "torn: [").unwrap();
    assert_code(&health(&exporter.address.to_string(), Some(&file)), 0, "a file that is being written");
}

#[test]
fn where_certificates_are_mandatory_a_connection_is_enough() {
    for versions in ["", ", max_version: TLS12"] {
        let exporter = protected(&format!(
            "tls_server_config: {{cert_file: cert.pem, key_file: key.pem, client_ca_file: cert.pem, client_auth_type: \
             RequireAndVerifyClientCert{versions}}}\n"
        ));
        let file = exporter.folder.path().join("web.yaml");
        assert_code(&health(&exporter.address.to_string(), Some(&file)), 0, versions);
        let address = exporter.address.to_string();
        drop(exporter);
        assert_code(&health(&address, None), 1, "nobody");
    }
}

#[test]
fn a_configuration_that_cannot_be_read_ends_with_1_as_docker_wants_it() {
    let output = Setup::new(&["health", "--config.file=none.yaml"]).run();
    assert_code(&output, 1, "no file");
    assert!(String::from_utf8_lossy(&output.stderr).contains("none.yaml"));
}
