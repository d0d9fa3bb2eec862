//! `tls_server_config`, translated to rustls.

use super::{
    client::Clients,
    files::Files,
    yaml::{Curve, TlsSection, Version, invalid_at},
};
use crate::support::clock::Timestamp;
use rustls::{
    Error, ServerConfig, SupportedCipherSuite, SupportedProtocolVersion,
    crypto::{
        CryptoProvider,
        ring::{default_provider, kx_group},
    },
    pki_types::CertificateDer,
    version::{TLS12, TLS13},
};
use serde_saphyr::Spanned;
use std::sync::Arc;
use tokio_rustls::TlsAcceptor;
use x509_parser::prelude::{FromDer, X509Certificate};

/// The TLS configuration of the file.
pub struct Tls {
    pub acceptor: TlsAcceptor,
    /// The expiry of the served certificate; `None` if it cannot be read.
    pub expires: Option<Timestamp>,
    /// A summary for people.
    pub description: String,
}

impl Tls {
    /// Builds the configuration, and adds the files that it reads to `files`.
    pub fn new(section: &Spanned<TlsSection>, files: &mut Files) -> Result<Self, String> {
        let keys = &section.value;
        let mut required = |key, inline, file| {
            files.pem(key, inline, file)?.ok_or_else(|| {
                let message = format!(
                    "tls_server_config lacks {key} and {key}_file; set one of them, or remove the \
                     section"
                );
                invalid_at(section, message)
            })
        };
        let certificate = required("cert", &keys.cert, &keys.cert_file)?;
        let key = required("key", &keys.key, &keys.key_file)?;
        let authorities = files.pem("client_ca", &keys.client_ca, &keys.client_ca_file)?;
        let (versions, version_names) = versions(keys)?;
        let clients = Clients::new(section, authorities.as_ref())?;
        let description = format!("TLS {version_names}, {}", clients.describe());
        let chain = certificate.certificates()?;
        let expires = expiry(&chain);
        let is_chain = chain.len() > 1;
        let mut config = ServerConfig::builder_with_provider(Arc::new(provider(keys)?))
            .with_protocol_versions(&versions)
            .map_err(|_| {
                let message = format!(
                    "tls_server_config.cipher_suites has none for TLS {version_names}; add one, or \
                     remove it"
                );
                match keys.cipher_suites.first() {
                    Some(first) => invalid_at(first, message),
                    None => invalid_at(section, message),
                }
            })?
            .with_client_cert_verifier(Arc::new(clients))
            .with_single_cert(chain, key.key()?)
            .map_err(|error| match error {
                // rustls has no other error for an unsupported kind of key.
                Error::General(_) => key.invalid(
                    "is of an unsupported kind; make one with: openssl ecparam -genkey -name \
                     prime256v1 -noout, or an RSA key of 2048 to 8192 bits",
                ),
                Error::InconsistentKeys(_) if is_chain => certificate.invalid(
                    "does not begin with the key's certificate; put that first, then the \
                     certificate that signed it, and so on",
                ),
                Error::InconsistentKeys(_) => certificate.invalid(
                    "is not the key's certificate; give two files that were made together",
                ),
                _ => certificate.unusable(&error),
            })?;
        config.ignore_client_order = keys.prefer_server_cipher_suites.unwrap_or(true);
        config.alpn_protocols.push(b"http/1.1".to_vec());
        Ok(Self {
            acceptor: Arc::new(config).into(),
            expires,
            description,
        })
    }
}

/// Returns the expiry of the first certificate.
fn expiry(chain: &[CertificateDer<'_>]) -> Option<Timestamp> {
    let (_, certificate) = X509Certificate::from_der(chain.first()?).ok()?;
    // ASN.1 times end with the year 9999, so milliseconds cannot overflow.
    let seconds = certificate.validity().not_after.timestamp();
    Some(Timestamp::from_millis(seconds * 1000))
}

/// Returns the allowed TLS versions and their names.
fn versions(
    keys: &TlsSection,
) -> Result<(Vec<&'static SupportedProtocolVersion>, &'static str), String> {
    let max = keys.max_version.unwrap_or(Version::Tls13);
    match (&keys.min_version, max) {
        (Some(min), Version::Tls12) if min.value == Version::Tls13 => {
            let message = "tls_server_config.min_version is above max_version; swap them";
            Err(invalid_at(min, message))
        }
        (_, Version::Tls12) => Ok((vec![&TLS12], "1.2")),
        (Some(min), _) if min.value == Version::Tls13 => Ok((vec![&TLS13], "1.3")),
        _ => Ok((vec![&TLS13, &TLS12], "1.2 and 1.3")),
    }
}

/// Returns rustls' cryptography, restricted to the suites and curves that the file allows.
fn provider(keys: &TlsSection) -> Result<CryptoProvider, String> {
    let mut provider = default_provider();
    // rustls marks TLS 1.3 suites in their names, Go does not. The suites that only Go has are
    // insecure: CBC modes and key exchange without forward secrecy.
    let name =
        |suite: &SupportedCipherSuite| format!("{:?}", suite.suite()).replace("TLS13_", "TLS_");
    let known: Vec<_> = provider.cipher_suites.iter().map(name).collect();
    let given = &keys.cipher_suites;
    if let Some(unknown) = given.iter().find(|given| !known.contains(&given.value)) {
        let message = format!(
            "tls_server_config.cipher_suites: {:?} is not supported; choose from {}",
            unknown.value,
            known.join(", ")
        );
        return Err(invalid_at(unknown, message));
    }
    if !given.is_empty() {
        // As in Go, the list restricts only TLS 1.2, and its order has no meaning.
        provider.cipher_suites.retain(|suite| {
            suite.tls13().is_some() || given.iter().any(|given| given.value == name(suite))
        });
    }
    if !keys.curve_preferences.is_empty() {
        let curves = keys.curve_preferences.iter().map(|curve| match curve {
            Curve::X25519 => kx_group::X25519,
            Curve::CurveP256 => kx_group::SECP256R1,
            Curve::CurveP384 => kx_group::SECP384R1,
        });
        provider.kx_groups = curves.collect();
    }
    Ok(provider)
}
