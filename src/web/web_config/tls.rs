//! `tls_server_config` as rustls does it.

use super::{
    client::Clients,
    files::{Files, Pem},
    yaml::{Invalid, RawTls, Text, choose},
};
use crate::model::Timestamp;
use ring::digest;
use rustls::{
    ServerConfig, SupportedProtocolVersion,
    crypto::{
        CryptoProvider, SupportedKxGroup,
        ring::{default_provider, kx_group},
    },
    pki_types::CertificateDer,
    version::{TLS12, TLS13},
};
use serde_saphyr::Spanned;
use std::sync::Arc;
use x509_parser::prelude::{FromDer, X509Certificate};

/// The curves by Go's names.
const CURVES: [(&str, &dyn SupportedKxGroup); 3] = [
    ("X25519", kx_group::X25519),
    ("CurveP256", kx_group::SECP256R1),
    ("CurveP384", kx_group::SECP384R1),
];

/// TLS as set in the file.
pub struct Tls {
    pub config: Arc<ServerConfig>,
    /// When the served TLS certificate expires; `None` if it cannot be read.
    pub expires: Option<Timestamp>,
    /// 12 or 13.
    min_version: u8,
    clients: Arc<Clients>,
    /// For people.
    pub description: String,
    /// A digest of everything that affects connections, so that a reload that changes none of it can keep them open.
    pub identity: Vec<u8>,
}

impl Tls {
    /// `None` if the section sets up no TLS.
    pub fn new(
        section: &Spanned<RawTls>,
        files: &mut Files,
        http2: bool,
    ) -> Result<Option<Self>, Invalid> {
        let raw = &section.value;
        if *raw == RawTls::default() {
            return Ok(None);
        }
        let missing = |key: &str| {
            let message = format!(
                "tls_server_config lacks {key} and {key}_file; set one of them, or remove the section"
            );
            Invalid::at(section, message)
        };
        let certificate = files
            .pem("cert", &raw.cert, &raw.cert_file)?
            .ok_or_else(|| missing("cert"))?;
        let chain = certificate.certificates()?;
        let key = files
            .pem("key", &raw.key, &raw.key_file)?
            .ok_or_else(|| missing("key"))?;
        let authorities = files.pem("client_ca", &raw.client_ca, &raw.client_ca_file)?;
        let (min_version, versions) = versions(raw)?;
        let provider = Arc::new(provider(raw, &versions)?);
        let roots = authorities.as_ref().map(Pem::roots).transpose()?;
        let clients = Arc::new(Clients::new(section, roots, Arc::clone(&provider))?);
        let prefer_own = raw.prefer_server_cipher_suites.unwrap_or(true);

        let settings = (
            &versions,
            &provider.cipher_suites,
            &provider.kx_groups,
            clients.settings(),
            prefer_own,
            http2,
        );
        let mut identity = digest::Context::new(&digest::SHA256);
        identity.update(format!("{settings:?}").as_bytes());
        for pem in [Some(&certificate), Some(&key), authorities.as_ref()]
            .into_iter()
            .flatten()
        {
            identity.update(&pem.text);
        }

        let description = format!(
            "TLS {}, {clients}, {}",
            match &versions[..] {
                [_, _] => "1.2 and 1.3",
                _ if min_version == 12 => "1.2",
                _ => "1.3",
            },
            if http2 {
                "HTTP/2 and HTTP/1.1"
            } else {
                "HTTP/1.1 only"
            }
        );
        let expires = expiry(&chain);
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&versions)
            .map_err(|error| {
                Invalid::at(
                    section,
                    format!("tls_server_config: {error}; remove cipher_suites"),
                )
            })?
            .with_client_cert_verifier(Arc::<Clients>::clone(&clients))
            .with_single_cert(chain, key.key()?)
            .map_err(|error| {
                certificate.unusable("and its key cannot be used", error, "give a pair")
            })?;
        config.ignore_client_order = prefer_own;
        config.alpn_protocols = if http2 {
            vec!["h2".into(), "http/1.1".into()]
        } else {
            vec!["http/1.1".into()]
        };
        let (config, identity) = (Arc::new(config), identity.finish().as_ref().to_vec());
        Ok(Some(Self {
            config,
            expires,
            min_version,
            clients,
            description,
            identity,
        }))
    }

    /// The keys by which `next` would protect less than this.
    pub fn weakened_by(&self, next: &Self) -> Vec<&'static str> {
        let lower_version =
            (next.min_version < self.min_version).then_some("tls_server_config.min_version");
        self.clients
            .weakened_by(&next.clients)
            .chain(lower_version)
            .collect()
    }
}

fn expiry(chain: &[CertificateDer<'_>]) -> Option<Timestamp> {
    let (_, certificate) = X509Certificate::from_der(chain.first()?).ok()?;
    Some(Timestamp::from_millis(
        certificate
            .validity()
            .not_after
            .timestamp()
            .checked_mul(1000)?,
    ))
}

/// The lowest version, 12 or 13, and all of them.
fn versions(raw: &RawTls) -> Result<(u8, Vec<&'static SupportedProtocolVersion>), Invalid> {
    let version = |key: &str, text: &Text, default| {
        let choices = [("TLS12", 12), ("TLS13", 13)];
        text.0.as_ref().map_or(Ok(default), |name| {
            choose(&format!("tls_server_config.{key}"), name, &choices)
        })
    };
    match (
        version("min_version", &raw.min_version, 12)?,
        version("max_version", &raw.max_version, 13)?,
    ) {
        (12, 12) => Ok((12, vec![&TLS12])),
        (12, _) => Ok((12, vec![&TLS13, &TLS12])),
        (_, 13) => Ok((13, vec![&TLS13])),
        _ => {
            let message = "tls_server_config.min_version is above max_version; swap them";
            Err(raw.min_version.0.as_ref().map_or_else(
                || Invalid::new(message),
                |place| Invalid::at(place, message),
            ))
        }
    }
}

/// What rustls supports, limited to what the file allows.
fn provider(
    raw: &RawTls,
    versions: &[&SupportedProtocolVersion],
) -> Result<CryptoProvider, Invalid> {
    let mut provider = default_provider();
    let suites = raw.cipher_suites.as_deref().unwrap_or_default();
    if let Some(first) = suites.first() {
        // rustls marks those of TLS 1.3 in their names, Go does not. Those that only Go knows are not secure: CBC, and key
        // exchange without forward secrecy.
        let known = provider
            .cipher_suites
            .iter()
            .map(|suite| (format!("{:?}", suite.suite()), *suite));
        let known: Vec<_> = known
            .map(|(name, suite)| (name.replace("TLS13_", "TLS_"), suite))
            .collect();
        let chosen = suites
            .iter()
            .map(|name| choose("tls_server_config.cipher_suites", name, &known));
        let mut chosen = chosen.collect::<Result<Vec<_>, _>>()?;
        // The list is about TLS 1.2; the suites of TLS 1.3 are always on, as they are in Go.
        chosen.retain(|suite| suite.tls13().is_none());
        if chosen.is_empty() && !versions.contains(&&TLS13) {
            let message = "tls_server_config.cipher_suites has none for TLS 1.2, and max_version allows no newer one; add one";
            return Err(Invalid::at(first, message));
        }
        provider
            .cipher_suites
            .retain(|suite| suite.tls13().is_some());
        provider.cipher_suites.extend(chosen);
    }
    let curves = raw.curve_preferences.as_deref().unwrap_or_default();
    if !curves.is_empty() {
        let chosen = curves
            .iter()
            .map(|curve| choose("tls_server_config.curve_preferences", curve, &CURVES));
        provider.kx_groups = chosen.collect::<Result<_, _>>()?;
    }
    Ok(provider)
}
