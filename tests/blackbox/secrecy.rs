//! Secrecy: the API key reaches the API's own origin and no other place.

use crate::support::{
    Api, Exporter, Reply, Setup, Target,
    api::KEY,
    exporter::OPENMETRICS,
    http,
    tls::{Certificate, identity},
};
use rustls::pki_types::{PrivateKeyDer, pem::PemObject as _};
use std::fs;

/// Returns every output of the exporter in one text.
fn everything_shown(exporter: &Exporter) -> String {
    let pages = [
        "/",
        "/?q=owner",
        "/translations.json",
        "/-/ready",
        "/-/healthy",
        "/nothing",
    ];
    let pages = pages
        .map(|path| exporter.get(path))
        .map(|page| format!("{:?}\n{}", page.headers, page.text()));
    pages.concat()
        + &exporter.scrape("text/plain")
        + &exporter.scrape(OPENMETRICS)
        + &exporter.log()
}

#[test]
fn the_key_appears_nowhere_even_at_trace_level() {
    let api = Api::of(9);
    for format in ["logfmt", "json"] {
        api.accept_key(KEY);
        api.heal();
        let setup = Setup::for_api(&api)
            .set("log.level", "trace")
            .set("log.format", format);
        let exporter = setup.start();
        exporter.wait_until_fresh(9);
        let faults = [
            Reply::status(500),
            Reply::status(403),
            Reply::redirect(&format!("/{KEY}")),
            Reply::json("not JSON"),
            Reply::reset(),
            Reply::close(),
            Reply::cut_short("[1,2,3]"),
            Reply::json(format!("the key {KEY} is no good")).with_status(400),
        ];
        for (id, fault) in (1..).zip(faults) {
            api.fault(Target::Languages(id), fault);
        }
        exporter.wait_for("they fail", |metrics| metrics.repositories("failing") > 7.0);
        api.accept_key("another");
        exporter.wait_until_up_is(0.0);
        let shown = everything_shown(&exporter);
        assert!(
            shown.len() > 10_000,
            "trace level logs a lot: {}",
            shown.len()
        );
        assert!(
            !shown.contains(KEY),
            "{}",
            shown.lines().find(|line| line.contains(KEY)).unwrap()
        );
        assert_hidden(KEY.as_bytes(), &shown, format);
    }
}

/// Asserts that no 8 bytes of a secret appear: neither as text, nor as digits.
fn assert_hidden(secret: &[u8], shown: &str, at: &str) {
    for part in secret.windows(8) {
        let hex: Vec<_> = part.iter().map(|byte| format!("{byte:02x}")).collect();
        let decimals: Vec<_> = part.iter().map(ToString::to_string).collect();
        let text = String::from_utf8_lossy(part).into_owned();
        for form in [text, hex.concat(), decimals.join(", ")] {
            assert!(!shown.contains(&form), "{at}: {form} in {shown}");
        }
    }
}

/// Returns a PEM text as editors, copies and tools damage it.
fn damaged(pem: &str, der: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    let (certificate, key) = pem.split_at(pem.find("-----BEGIN PRIVATE").unwrap());
    let texts = [
        ("line ends lost", pem.replace('\n', "")),
        ("blanks for line ends", pem.replace('\n', " ")),
        ("escaped line ends", pem.replace('\n', "\\n")),
        ("cut", pem[..pem.len() - 60].to_owned()),
        ("swapped", format!("{}{certificate}", key.replace('\n', ""))),
        ("in quotes", format!("\"{}\"", pem.replace('\n', ""))),
        (
            "a name before it",
            format!("key: {}", pem.replace('\n', "")),
        ),
        ("another letter", pem.replace("MI", "M*")),
        ("a dash lost", pem.replace("KEY-----", "KEY----")),
        ("the key alone", key.to_owned()),
    ];
    let utf16 = pem.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let texts = texts.map(|(name, text)| (name, text.into_bytes()));
    texts
        .into_iter()
        .chain([("DER", der.to_vec()), ("UTF-16", utf16)])
        .collect()
}

#[test]
fn nothing_of_a_damaged_file_is_shown() {
    let api = Api::start_tls(Certificate::Good);
    let (_, pair) = identity(Certificate::Good, "localhost");
    let der = PrivateKeyDer::from_pem_slice(pair[1].as_bytes()).unwrap();
    let body: String = pair[1]
        .lines()
        .filter(|line| !line.starts_with('-'))
        .collect();
    let hidden = |shown: &str, at: &str| {
        assert_hidden(body.as_bytes(), shown, at);
        assert_hidden(der.secret_der(), shown, at);
    };
    let setup = Setup::for_api(&api);
    let (file, state) = (setup.file("damaged", ""), setup.file("state", ""));
    let web = "tls_server_config: {cert_file: damaged, key_file: damaged}";
    let web = setup.file("web.yml", web);
    let check = Setup::for_api(&api)
        .arguments(&["check-config"])
        .set("api.key", "");
    let check = check.set("api.key_file", &file).set("api.ca_file", &file);
    let check = check.set("web.config_file", &web).set("state.file", &state);
    let plain = Setup::new(&["check-config", &format!("--config.file={file}")])
        .set("web.config_file", &file);
    let damages = damaged(&pair.concat(), der.secret_der());
    for (name, bytes) in &damages {
        fs::write(&file, bytes).unwrap();
        fs::write(&state, bytes).unwrap();
        for setup in [&check, &plain] {
            let output = setup.run();
            assert_eq!(output.code, Some(2), "{name}: {}", output.stderr);
            hidden(&output.stderr, name);
        }
    }
    let ca = setup.folder.path().join("authority.pem");
    let exporter = setup.start();
    exporter.wait_until_fresh(1);
    fs::write(ca, &damages[0].1).unwrap();
    exporter.wait_for_line(&["cannot read certificates"]);
    hidden(&everything_shown(&exporter), "while it runs");
}

#[test]
fn nothing_that_may_be_the_password_of_a_proxy_is_shown() {
    let address = http::refusing_address();
    let setup = |userinfo: &str| {
        let proxy = format!("http://{userinfo}{address}");
        Setup::for_url("https://api.example.com").variable("HTTPS_PROXY", &proxy)
    };
    for userinfo in ["user:s3@cret@", "user:1/s3cret@", "user:s3cret?"] {
        let output = setup(userinfo).arguments(&["check-config"]).run();
        output.assert_failed(2, &["HTTPS_PROXY is not the URL of a proxy", "%40"]);
        assert_hidden(b"s3@cret", &output.stderr, userinfo);
        assert!(!output.stderr.contains("s3"), "{}", output.stderr);
    }
    let exporter = setup("user:%40s3cret@").start();
    exporter.wait_for_line(&["The API was unavailable"]);
    let shown = everything_shown(&exporter);
    assert!(
        shown.contains(&address.to_string()) && !shown.contains("s3cret"),
        "{shown}"
    );
}

#[test]
fn no_redirect_is_followed() {
    let (elsewhere, api) = (Api::of(1), Api::of(1));
    let there = format!("{}/v1/repositories", elsewhere.base_url());
    for (status, location) in [
        (301, &*there),
        (302, &there),
        (303, "/v1/other"),
        (307, ""),
        (308, &there),
    ] {
        let redirect = Reply::redirect(location).with_status(status);
        api.fault(Target::Listing, redirect);
        let once = Setup::for_api(&api).arguments(&["once"]).run();
        once.assert_failed(1, &[&status.to_string()]);
    }
    assert_eq!(elsewhere.requests(Target::Everything).len(), 0);
    let asked = api.requests(Target::Everything);
    assert!(
        asked
            .iter()
            .all(|request| request.path() == "/v1/repositories")
    );
}
