//! `health` requests `/-/healthy` from the exporter with the same configuration. Its exit code
//! reports the response.

use crate::support::{
    Api, Exporter, Setup,
    exporter::Finished,
    http,
    tls::{self, Certificate},
};
use rustls::{ServerConnection, StreamOwned};
use std::{
    fs,
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream},
    path::Path,
    sync::{Arc, Mutex},
    thread,
};

/// Runs `health` without any key of the API section and asserts its exit code.
fn health(listen_address: &str, web_file: Option<&Path>, code: i32) -> Finished {
    let web_file = web_file.map_or("", |file| file.to_str().unwrap());
    let setup = Setup::new(&["health"])
        .set("web.listen_addresses", listen_address)
        .set("web.config_file", web_file);
    let output = setup.run();
    assert_eq!(
        output.code,
        Some(code),
        "{listen_address}: {}",
        output.stderr
    );
    output
}

/// Starts an exporter with this web configuration file, beside a certificate and its key.
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
        format!("127.0.0.1:{port}, 127.0.0.1:1"),
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
    // The first address alone counts.
    health(&format!("{address},{}", exporter.address), None, 1);
    let refusing = http::refusing_address().to_string();
    health(&refusing, None, 1).assert_failed(1, &[&refusing, "refused"]);
    let something_else = Api::of(1);
    health(&something_else.address.to_string(), None, 1);
    let by_port = format!(":{}", something_else.address.port());
    let named = format!("http://0.0.0.0{by_port}/-/healthy does not say that");
    health(&by_port, None, 1).assert_failed(1, &[&named]);
    Setup::new(&["health", "--config.file=none.yaml"])
        .run()
        .assert_failed(
            1,
            &["--config.file: none.yaml cannot be read: No such file"],
        );
}

#[test]
fn passwords_and_a_certificate_for_another_name_do_not_matter() {
    let hash = bcrypt::hash("secret", 4).unwrap();
    let exporter = protected(&format!(
        "tls_server_config: {{cert_file: cert.pem, key_file: key.pem}}\n\
         basic_auth_users: {{someone: {hash}}}\n"
    ));
    let file = exporter.folder.path().join("web.yaml");
    health(&exporter.address.to_string(), Some(&file), 0);
    // Imitates a file that is still being written.
    fs::write(&file, "torn: [").unwrap();
    health(&exporter.address.to_string(), Some(&file), 0);
}

/// Runs `health` with a web configuration file that promises TLS, against a server that passes each
/// connection to `serve`. Returns the exit code.
fn other_program(serve: impl Fn(TcpStream) + Send + 'static) -> i32 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        listener
            .incoming()
            .for_each(|stream| serve(stream.unwrap()));
    });
    let exporter = protected("tls_server_config: {cert_file: cert.pem, key_file: key.pem}\n");
    let file = exporter.folder.path().join("web.yaml");
    let setup = Setup::new(&["health"])
        .set("web.listen_addresses", &address)
        .set("web.config_file", file.to_str().unwrap());
    setup.run().code.unwrap()
}

#[test]
fn a_port_of_another_program_is_not_taken_for_an_exporter_with_tls() {
    assert_eq!(other_program(drop), 1, "closes");
    let kept = Mutex::new(Vec::new());
    assert_eq!(
        other_program(move |stream| kept.lock().unwrap().push(stream)),
        1,
        "hangs"
    );
    let answer = |answer: &'static [u8]| {
        move |mut stream: TcpStream| {
            let _ = stream.read(&mut [0; 10_000]);
            let _ = stream.write_all(answer);
        }
    };
    let plain = answer(b"HTTP/1.1 404 Not Found\r\n\r\n");
    assert_eq!(other_program(plain), 1, "speaks no TLS");
    // An alert record (RFC 8446, 6): fatal, protocol_version.
    let alert = answer(&[21, 3, 3, 0, 2, 2, 70]);
    assert_eq!(other_program(alert), 1, "speaks another TLS");
    let handshake = |then: fn(&mut StreamOwned<ServerConnection, TcpStream>)| {
        let (identity, _) = tls::identity(Certificate::Good, "localhost");
        move |stream: TcpStream| {
            let connection = ServerConnection::new(Arc::clone(&identity.server)).unwrap();
            let mut stream = StreamOwned::new(connection, stream);
            while stream.conn.is_handshaking() && stream.conn.complete_io(&mut stream.sock).is_ok()
            {
            }
            then(&mut stream);
        }
    };
    assert_eq!(
        other_program(handshake(|_| {})),
        1,
        "closes after the handshake"
    );
    let polite = answer(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok");
    assert_eq!(other_program(polite), 1, "is healthy itself");
    let not_found = handshake(|stream| {
        let _ = stream.read(&mut [0; 1000]);
        let _ = stream.write_all(b"HTTP/1.1 404 Not Found\r\n\r\n");
    });
    assert_eq!(other_program(not_found), 1, "answers something else");
}

#[test]
fn where_client_certificates_are_mandatory_the_alert_is_enough() {
    for versions in ["", ", max_version: TLS12"] {
        let exporter = protected(&format!(
            "tls_server_config: {{cert_file: cert.pem, key_file: key.pem, \
             client_ca_file: cert.pem, client_auth_type: RequireAndVerifyClientCert{versions}}}\n"
        ));
        let file = exporter.folder.path().join("web.yaml");
        health(&exporter.address.to_string(), Some(&file), 0);
        // The change is not active yet.
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
