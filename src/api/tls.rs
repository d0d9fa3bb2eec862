//! The connections to the API: certificates, proxy, timeouts.
//!
//! Each poll reads the roots again, so that a replaced `api.ca_file` and renewed system roots are
//! trusted without a restart. Connections use HTTP/1.1 only: over HTTP/2 all requests share one
//! connection, and a dead connection would fail every retry.

use crate::{
    config::ApiConfig,
    support::{files::read_file, hint::Failure},
};
use reqwest::redirect::Policy;
use rustls::{ClientConfig, RootCertStore, pki_types::pem::ReadIter};
use std::{env, error::Error, io::BufRead as _, path::Path, time::Duration};

/// The time for which an idle connection is kept: less than the 5 s after which some servers close
/// theirs.
const LONGEST_IDLE: Duration = Duration::from_secs(4);

/// The maximum number of headers of a response: more than any login or proxy adds. hyper fills as
/// many places for each response. The hint of a head that is too large names the number.
const MAX_HEADERS: usize = 256;

/// The time limit of a connection attempt.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Creates an HTTP client without open connections.
pub fn http_client(config: &ApiConfig, tls: &ClientConfig) -> reqwest::Client {
    let mut builder = reqwest::Client::builder()
        .tls_backend_preconfigured(tls.clone())
        .http1_only()
        .http1_max_headers(MAX_HEADERS)
        .user_agent(concat!(
            env!("CARGO_PKG_NAME"),
            "/",
            env!("CARGO_PKG_VERSION")
        ))
        .redirect(Policy::none())
        .retry(reqwest::retry::never())
        .connect_timeout(CONNECT_TIMEOUT)
        .pool_idle_timeout(LONGEST_IDLE)
        .pool_max_idle_per_host(*config.concurrency as usize);
    if !is_https(config) {
        // A proxy for plain HTTP would see the key.
        builder = builder.no_proxy();
    }
    builder
        .build()
        .expect("all but TLS, which is set up already, are constants and numbers")
}

/// Returns whether requests use TLS. A configuration that lacks a base URL has another mistake.
fn is_https(config: &ApiConfig) -> bool {
    config
        .base_url
        .as_ref()
        .is_some_and(|url| url.scheme() == "https")
}

/// Adds the certificates of a file to `roots`.
fn trust(path: &Path, roots: &mut RootCertStore) -> Result<(), Box<dyn Error>> {
    let (before, text) = (roots.len(), read_file(path, 16)?);
    let mut rest = &text[..];
    let added = ReadIter::new(&mut rest).try_for_each(|certificate| {
        // The parser's error quotes the text, which may be a private key.
        let certificate = certificate.map_err(|_| "the PEM text that ends here is damaged")?;
        Ok::<_, Box<dyn Error>>(roots.add(certificate)?)
    });
    let line = text[..text.len() - rest.len()].lines().count();
    added.map_err(|problem| format!("line {line}: {problem}"))?;
    if roots.len() == before {
        return Err("it holds none".into());
    }
    Ok(())
}

/// Reads the certificates to trust, from the system and `api.ca_file`.
pub fn read_roots(config: &ApiConfig) -> Result<ClientConfig, Failure> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if let Some(path) = config.ca_file.as_deref() {
        trust(path, &mut roots).map_err(|why| {
            Failure::new(
                format!("cannot read certificates from {}: {why}", path.display()),
                "set api.ca_file to a file of PEM certificates",
            )
        })?;
    }
    if roots.is_empty() && is_https(config) {
        let [file, folders] = ["SSL_CERT_FILE", "SSL_CERT_DIR"].map(env::var_os);
        let what = format!(
            "no trusted certificates were found on this system (SSL_CERT_FILE: {file:?}, \
             SSL_CERT_DIR: {folders:?})"
        );
        let hint = "install them (Debian: ca-certificates), correct or unset these variables, or \
                    set api.ca_file";
        return Err(Failure::new(what, hint));
    }
    let mut tls = ClientConfig::builder()
        .with_root_certificates(roots)
        .with_no_client_auth();
    tls.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(tls)
}
