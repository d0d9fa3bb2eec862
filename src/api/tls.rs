//! The connections to the API: certificates, proxy, timeouts.
//!
//! Each poll loads a new [`Connector`], so that a replaced `api.ca_file` and renewed system roots
//! are trusted without a reload. Connections use HTTP/1.1 only: over HTTP/2 all requests share one
//! connection, and a dead connection would fail every retry.

use super::proxy::https_proxy;
use crate::{config::ApiConfig, support::hint::SetupError};
use reqwest::{Proxy, redirect::Policy};
use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, pem::PemObject},
};
use std::{path::Path, time::Duration};

/// The time for which an idle connection is kept: less than the 5 s after which some servers close
/// theirs.
const LONGEST_IDLE: Duration = Duration::from_secs(4);

/// A factory of HTTP clients that trust the same certificates and use the same proxy.
#[derive(Debug, Clone)]
pub struct Connector {
    /// `None` for an API without TLS.
    tls: Option<ClientConfig>,
    proxy: Option<Proxy>,
    connect_timeout: Duration,
    concurrency: usize,
}

impl Connector {
    /// Reads `api.ca_file`, the system's roots and the proxy of the environment.
    pub fn load(config: &ApiConfig) -> Result<Self, SetupError> {
        let is_https = config.base_url.scheme() == "https";
        Ok(Self {
            tls: is_https.then(|| tls_config(config)).transpose()?,
            // Only HTTPS_PROXY is honoured: a proxy for http would see the key.
            proxy: if is_https { https_proxy()? } else { None },
            connect_timeout: config.connect_timeout,
            concurrency: config.concurrency,
        })
    }

    /// Creates a client without open connections.
    pub fn client(&self) -> Result<reqwest::Client, SetupError> {
        let mut builder = reqwest::Client::builder()
            .tls_backend_preconfigured(self.tls.clone().unwrap_or_else(without_roots))
            .http1_only()
            .user_agent(concat!(
                env!("CARGO_PKG_NAME"),
                "/",
                env!("CARGO_PKG_VERSION")
            ))
            .redirect(Policy::none())
            .no_proxy()
            .retry(reqwest::retry::never())
            .gzip(true)
            .connect_timeout(self.connect_timeout)
            .pool_idle_timeout(LONGEST_IDLE)
            .pool_max_idle_per_host(self.concurrency);
        if let Some(proxy) = &self.proxy {
            builder = builder.proxy(proxy.clone());
        }
        builder.build().map_err(|error| {
            let what = format!("the HTTP client cannot be set up: {error:?}");
            SetupError::new(what, "report this: it is a bug")
        })
    }
}

/// Returns a TLS configuration that trusts nothing. reqwest asks for one even if it is never used.
fn without_roots() -> ClientConfig {
    ClientConfig::builder()
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth()
}

/// Checks that `api.ca_file` holds certificates that can be trusted.
pub fn check_ca_file(path: &Path) -> Result<(), SetupError> {
    trust(path, &mut RootCertStore::empty())
}

/// Adds the certificates of a file to `roots`.
fn trust(path: &Path, roots: &mut RootCertStore) -> Result<(), SetupError> {
    let refused = |why: String| {
        SetupError::new(
            format!("cannot read certificates from {}: {why}", path.display()),
            "set api.ca_file to a file of PEM certificates",
        )
    };
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_file_iter(path)
        .and_then(Iterator::collect)
        .map_err(|error| refused(error.to_string()));
    let certificates = certificates?;
    if certificates.is_empty() {
        return Err(refused("it holds none".to_owned()));
    }
    for certificate in certificates {
        roots
            .add(certificate)
            .map_err(|error| refused(error.to_string()))?;
    }
    Ok(())
}

fn tls_config(config: &ApiConfig) -> Result<ClientConfig, SetupError> {
    let mut roots = RootCertStore::empty();
    let system = rustls_native_certs::load_native_certs();
    roots.add_parsable_certificates(system.certs);
    if let Some(path) = &config.ca_file {
        trust(path, &mut roots)?;
    }
    if roots.is_empty() {
        let mut what = "no trusted certificates were found on this system".to_owned();
        for error in system.errors {
            what = format!("{what}; {error}");
        }
        let hint = "install them (Debian: ca-certificates) or set api.ca_file";
        return Err(SetupError::new(what, hint));
    }
    let mut tls = ClientConfig::builder()
        .with_root_certificates(roots)
        .with_no_client_auth();
    tls.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(tls)
}
