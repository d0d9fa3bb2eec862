//! `health` asks the exporter with the same configuration whether it is healthy, and reports that by its exit code.

use crate::support::{Api, Exporter, Setup, exporter::Finished, http};
use std::{
    fs,
    net::TcpListener,
    path::Path,
    time::{Duration, Instant},
};

/// Runs `health` with nothing of the API in its configuration; it must end in time and with this code.
fn health(listen_address: &str, web_file: Option<&Path>, code: i32) -> Finished {
    let web_file = web_file.map_or("", |file| file.to_str().unwrap());
    let setup = Setup::new(&["health"])
        .set("web.listen_addresses", listen_address)
        .set("web.config_file", web_file);
    let begin = Instant::now();
    let output = setup.run();
    assert!(
        begin.elapsed() < Duration::from_secs(3),
        "{listen_address}: {:?}",
        begin.elapsed()
    );
    assert_eq!(
        output.code,
        Some(code),
        "{listen_address}: {}",
        output.stderr
    );
    output
}

/// An exporter with this web configuration file and, beside it, a certificate and its key.
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
    for address in [
        format!("127.0.0.1:{port}"),
        format!("localhost:{port}"),
        format!("127.0.0.1:1, 127.0.0.1:{port}"),
    ] {
        health(&address, None, 0);
    }
}

#[test]
fn a_wildcard_is_asked_on_loopback() {
    for host in ["", "0.0.0.0"] {
        let exporter = Setup::for_url("http://127.0.0.1:1")
            .set("web.listen_addresses", &format!("{host}:0"))
            .start();
        health(&format!("{host}:{}", exporter.address.port()), None, 0);
    }
}

#[test]
fn no_answer_no_listener_and_another_answer_than_200_are_not_healthy() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap().to_string();
    health(&address, None, 1);
    let exporter = Setup::for_url("http://127.0.0.1:1").start();
    // The first never answers, the second does.
    health(&format!("{address},{}", exporter.address), None, 0);
    let refusing = http::refusing_address().to_string();
    health(&refusing, None, 1).assert_failed(1, &[&refusing, "refused"]);
    let something_else = Api::of(1);
    health(&something_else.address.to_string(), None, 1);
    Setup::new(&["health", "--config.file=none.yaml"])
        .run()
        .assert_failed(1, &["none.yaml"]);
}

#[test]
fn passwords_and_a_certificate_for_another_name_do_not_matter() {
    let hash = bcrypt::hash("secret", 4).unwrap();
    let exporter = protected(&format!(
        "tls_server_config: {{cert_file: cert.pem, key_file: key.pem}}\nbasic_auth_users: {{someone: {hash}}}\n"
    ));
    let file = exporter.folder.path().join("web.yaml");
    health(&exporter.address.to_string(), Some(&file), 0);
    // The file is read while it is being written.
    fs::write(&file, "torn: [").unwrap();
    health(&exporter.address.to_string(), Some(&file), 0);
}

#[test]
fn where_client_certificates_are_mandatory_a_connection_is_enough() {
    for versions in ["", ", max_version: TLS12"] {
        let exporter = protected(&format!(
            "tls_server_config: {{cert_file: cert.pem, key_file: key.pem, client_ca_file: cert.pem, client_auth_type: \
             RequireAndVerifyClientCert{versions}}}\n"
        ));
        let file = exporter.folder.path().join("web.yaml");
        health(&exporter.address.to_string(), Some(&file), 0);
        // What weakens the protection is not in force.
        fs::write(
            &file,
            "tls_server_config: {cert_file: cert.pem, key_file: key.pem}\n",
        )
        .unwrap();
        health(&exporter.address.to_string(), Some(&file), 0);
        exporter.signal("STOP");
        health(&exporter.address.to_string(), Some(&file), 1);
        exporter.signal("CONT");
    }
}
