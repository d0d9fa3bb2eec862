//! The HTTP client: certificates, proxy, timeouts.

use crate::config::ApiConfig;
use reqwest::{NoProxy, Proxy, redirect::Policy};
use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, pem::PemObject},
};
use std::path::PathBuf;

/// Why no request could ever be sent.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    #[error("api.ca_file: cannot read certificates from {path}: {why}; give a file of PEM certificates", path = path.display())]
    CaFile { path: PathBuf, why: String },
    #[error(
        "no trusted certificates were found on this system{}; install them (Debian: ca-certificates) or set api.ca_file",
        causes(.0)
    )]
    NoRoots(Vec<rustls_native_certs::Error>),
    #[error(
        "{variable}: not the address of a proxy; give one such as http://proxy.example.com:3128"
    )]
    Proxy { variable: &'static str },
    #[error("the HTTP client cannot be set up: {0:?}")]
    Http(#[from] reqwest::Error),
}

/// Why the system's certificates could not be read, if known.
fn causes(errors: &[rustls_native_certs::Error]) -> String {
    let causes: Vec<_> = errors.iter().map(ToString::to_string).collect();
    if causes.is_empty() {
        String::new()
    } else {
        format!(" ({})", causes.join("; "))
    }
}

/// A client that trusts the system's roots and `api.ca_file`, follows no redirect, and uses `HTTPS_PROXY`.
pub fn http_client(config: &ApiConfig) -> Result<reqwest::Client, BuildError> {
    let is_https = config.base_url.scheme() == "https";
    let mut builder = reqwest::Client::builder()
        .tls_backend_preconfigured(tls_config(config, is_https)?)
        .user_agent(concat!(
            env!("CARGO_PKG_NAME"),
            "/",
            env!("CARGO_PKG_VERSION")
        ))
        .redirect(Policy::none())
        // Only HTTPS_PROXY is honoured: a proxy for http would see the key.
        .no_proxy()
        .retry(reqwest::retry::never())
        .connect_timeout(config.connect_timeout)
        .pool_max_idle_per_host(config.concurrency);
    if is_https && let Some(proxy) = https_proxy()? {
        builder = builder.proxy(proxy);
    }
    Ok(builder.build()?)
}

fn https_proxy() -> Result<Option<Proxy>, BuildError> {
    for variable in ["HTTPS_PROXY", "https_proxy"] {
        let Some(address) = std::env::var_os(variable).filter(|address| !address.is_empty()) else {
            continue;
        };
        // Without a scheme, it is http.
        let is_http = |address: &&str| {
            let scheme = address
                .split_once("://")
                .map(|(scheme, _)| scheme.to_ascii_lowercase());
            matches!(scheme.as_deref(), None | Some("http" | "https"))
        };
        let proxy = address.to_str().filter(is_http);
        let proxy = proxy.and_then(|address| Proxy::https(address).ok());
        let proxy = proxy.ok_or(BuildError::Proxy { variable })?;
        return Ok(Some(proxy.no_proxy(NoProxy::from_env())));
    }
    Ok(None)
}

fn tls_config(config: &ApiConfig, is_https: bool) -> Result<ClientConfig, BuildError> {
    let mut roots = RootCertStore::empty();
    // Without TLS, no roots are required.
    if is_https {
        let system = rustls_native_certs::load_native_certs();
        roots.add_parsable_certificates(system.certs);
        if let Some(path) = &config.ca_file {
            let refused = |why: String| BuildError::CaFile {
                path: path.clone(),
                why,
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
        }
        if roots.is_empty() {
            return Err(BuildError::NoRoots(system.errors));
        }
    }
    let mut tls = ClientConfig::builder()
        .with_root_certificates(roots)
        .with_no_client_auth();
    tls.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(tls)
}
