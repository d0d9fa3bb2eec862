//! The connections to the API: certificates, proxy, timeouts.
//!
//! Each poll loads a new [`Connector`], so that a replaced `api.ca_file` and renewed system roots
//! are trusted without a reload. Connections use HTTP/1.1 only: over HTTP/2 all requests share one
//! connection, and a dead connection would fail every retry.

use super::proxy::{ProxyError, https_proxy};
use crate::{
    config::ApiConfig,
    support::certificate::{Purpose, verify_trusted},
};
use reqwest::{Proxy, redirect::Policy};
use rustls::{
    ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
    client::{
        WebPkiServerVerifier,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
        verify_server_name,
    },
    pki_types::{CertificateDer, ServerName, UnixTime, pem::PemObject},
    server::ParsedCertificate,
};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

/// The time for which an idle connection is kept: less than the 5 s after which some servers close
/// theirs.
const LONGEST_IDLE: Duration = Duration::from_secs(4);

/// The reason why no HTTP client can be built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    #[error(
        "cannot read certificates from {path}: {why}; set api.ca_file to a file of PEM \
         certificates",
        path = path.display()
    )]
    CaFile { path: PathBuf, why: String },
    #[error(
        "no trusted certificates were found on this system{}; install them (Debian: \
         ca-certificates) or set api.ca_file",
        causes(.0)
    )]
    NoRoots(Vec<rustls_native_certs::Error>),
    #[error(transparent)]
    Proxy(#[from] ProxyError),
    #[error("the HTTP client cannot be set up: {0:?}")]
    Http(#[from] reqwest::Error),
    #[error("the certificates cannot be verified: {0}")]
    Verifier(#[from] rustls::client::VerifierBuilderError),
}

/// Returns the reasons why the system's certificates could not be read, if there are any.
fn causes(errors: &[rustls_native_certs::Error]) -> String {
    let causes: Vec<_> = errors.iter().map(ToString::to_string).collect();
    if causes.is_empty() {
        String::new()
    } else {
        format!(" ({})", causes.join("; "))
    }
}

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
    pub fn load(config: &ApiConfig) -> Result<Self, BuildError> {
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
    pub fn client(&self) -> Result<reqwest::Client, BuildError> {
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
            .connect_timeout(self.connect_timeout)
            .pool_idle_timeout(LONGEST_IDLE)
            .pool_max_idle_per_host(self.concurrency);
        if let Some(proxy) = &self.proxy {
            builder = builder.proxy(proxy.clone());
        }
        Ok(builder.build()?)
    }
}

/// Returns a TLS configuration that trusts nothing. reqwest asks for one even if it is never used.
fn without_roots() -> ClientConfig {
    ClientConfig::builder()
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth()
}

/// Checks that `api.ca_file` holds certificates that can be trusted.
pub fn check_ca_file(path: &Path) -> Result<(), BuildError> {
    trust(path, &mut RootCertStore::empty()).map(drop)
}

/// Adds the certificates of a file to `roots`, and returns them.
fn trust(
    path: &Path,
    roots: &mut RootCertStore,
) -> Result<Vec<CertificateDer<'static>>, BuildError> {
    let refused = |why: String| BuildError::CaFile {
        path: path.to_owned(),
        why,
    };
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_file_iter(path)
        .and_then(Iterator::collect)
        .map_err(|error| refused(error.to_string()));
    let certificates = certificates?;
    if certificates.is_empty() {
        return Err(refused("it holds none".to_owned()));
    }
    for certificate in &certificates {
        roots
            .add(certificate.clone())
            .map_err(|error| refused(error.to_string()))?;
    }
    Ok(certificates)
}

fn tls_config(config: &ApiConfig) -> Result<ClientConfig, BuildError> {
    let mut roots = RootCertStore::empty();
    let system = rustls_native_certs::load_native_certs();
    roots.add_parsable_certificates(system.certs);
    let mut trusted = Vec::new();
    if let Some(path) = &config.ca_file {
        trusted = trust(path, &mut roots)?;
    }
    if roots.is_empty() {
        return Err(BuildError::NoRoots(system.errors));
    }
    let chain = WebPkiServerVerifier::builder(roots.into()).build()?;
    let verifier = Arc::new(ApiCertificateVerifier { chain, trusted });
    let mut tls = ClientConfig::builder()
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    tls.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(tls)
}

/// A verifier of the API's certificate that also accepts a certificate in `api.ca_file` itself.
///
/// webpki refuses a certificate authority as the certificate of a server, but a plain
/// `openssl req -x509` creates such a certificate. curl and Go accept it if it is trusted itself.
#[derive(Debug)]
struct ApiCertificateVerifier {
    chain: Arc<WebPkiServerVerifier>,
    /// The certificates of `api.ca_file`.
    trusted: Vec<CertificateDer<'static>>,
}

impl ServerCertVerifier for ApiCertificateVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if !self.trusted.contains(end_entity) {
            return self.chain.verify_server_cert(
                end_entity,
                intermediates,
                server_name,
                ocsp_response,
                now,
            );
        }
        verify_trusted(end_entity, Purpose::Server, now)?;
        verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.chain.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.chain.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.chain.supported_verify_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{
        BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, KeyPair, date_time_ymd,
    };
    use rustls::CertificateError;

    /// Verifies a self-signed certificate that is in `api.ca_file` itself.
    fn verify(name: &str, change: impl FnOnce(&mut CertificateParams)) -> Result<(), Error> {
        let mut params = CertificateParams::new(["api.test".to_owned()]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        change(&mut params);
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap().der().clone();
        let mut roots = RootCertStore::empty();
        roots.add(certificate.clone()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let chain = WebPkiServerVerifier::builder_with_provider(roots.into(), provider);
        let verifier = ApiCertificateVerifier {
            chain: chain.build().unwrap(),
            trusted: vec![certificate.clone()],
        };
        let name = ServerName::try_from(name.to_owned()).unwrap();
        let now = UnixTime::since_unix_epoch(Duration::from_secs(1_790_000_000));
        let result = verifier.verify_server_cert(&certificate, &[], &name, &[], now);
        result.map(|_| ())
    }

    #[test]
    fn a_trusted_authority_is_accepted_as_a_server_certificate() {
        assert_eq!(verify("api.test", |_| {}), Ok(()));
        let error = verify("other.test", |_| {}).unwrap_err();
        assert!(error.to_string().contains("other.test"), "{error}");
        let expired = verify("api.test", |params| {
            params.not_after = date_time_ymd(2026, 1, 1);
        });
        assert_eq!(expired, Err(CertificateError::Expired.into()));
        let early = verify("api.test", |params| {
            params.not_before = date_time_ymd(2030, 1, 1);
        });
        assert_eq!(early, Err(CertificateError::NotValidYet.into()));
        let uses = |uses: Vec<_>| verify("api.test", |params| params.extended_key_usages = uses);
        let wrong = uses(vec![ExtendedKeyUsagePurpose::ClientAuth]);
        assert_eq!(wrong, Err(CertificateError::InvalidPurpose.into()));
        assert_eq!(uses(vec![ExtendedKeyUsagePurpose::ServerAuth]), Ok(()));
    }
}
