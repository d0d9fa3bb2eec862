//! `tls_server_config` as rustls does it.

use super::{
    client::Clients,
    invalid::{Invalid, Text, set},
    yaml::RawTls,
};
use crate::model::Timestamp;
use ring::digest;
use rustls::{
    NamedGroup, RootCertStore, ServerConfig, SupportedCipherSuite, SupportedProtocolVersion,
    crypto::{CryptoProvider, SupportedKxGroup, ring as provided},
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    server::danger::ClientCertVerifier as _,
    version::{TLS12, TLS13},
};
use serde_saphyr::Spanned;
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};
use x509_parser::prelude::{FromDer, X509Certificate};

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
    identity: digest::Digest,
}

impl Tls {
    /// `None` if the section sets up no TLS.
    pub fn new(section: &Spanned<RawTls>, files: &mut Files<'_>, http2: bool) -> Result<Option<Self>, Invalid> {
        let raw = &section.value;
        if !asks_for_tls(raw) {
            return Ok(None);
        }
        let missing = |key: &str| {
            let message =
                format!("tls_server_config lacks {key} and {key}_file; set one of them, or remove the section");
            Invalid::at(section, message)
        };
        let certificate = files.pem("cert", &raw.cert, &raw.cert_file)?.ok_or_else(|| missing("cert"))?;
        let chain = certificate.certificates()?;
        let key = files.pem("key", &raw.key, &raw.key_file)?.ok_or_else(|| missing("key"))?.key()?;
        let authorities = files.pem("client_ca", &raw.client_ca, &raw.client_ca_file)?;
        let (min_version, versions) = versions(raw)?;
        let provider = Arc::new(provider(raw, &versions)?);

        let mut identity = digest::Context::new(&digest::SHA256);
        identity.update(key.secret_der());
        for certificate in &chain {
            identity.update(certificate);
        }
        let authorities = authorities.map(|authorities| authorities.roots(&mut identity)).transpose()?;
        let clients = Arc::new(Clients::new(section, authorities, Arc::clone(&provider))?);
        let (suites, groups, client_settings) = (&provider.cipher_suites, &provider.kx_groups, clients.settings());
        let prefer_own = raw.prefer_server_cipher_suites.unwrap_or(true);
        let settings = (&versions, suites, groups, client_settings, prefer_own, http2);
        identity.update(format!("{settings:?}").as_bytes());

        let description = format!(
            "{}, {clients}, {}",
            if min_version == 13 {
                "TLS 1.3"
            } else if versions.len() == 1 {
                "TLS 1.2"
            } else {
                "TLS 1.2 and 1.3"
            },
            if http2 { "HTTP/2 and HTTP/1.1" } else { "HTTP/1.1 only" }
        );
        let expires = expiry(&chain);
        let mut config = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&versions)
            .map_err(|error| Invalid::at(section, format!("tls_server_config: {error}; remove cipher_suites")))?
            .with_client_cert_verifier(Arc::<Clients>::clone(&clients))
            .with_single_cert(chain, key)
            .map_err(|error| certificate.invalid(&format!("and its key cannot be used ({error}); give a pair")))?;
        config.ignore_client_order = prefer_own;
        config.alpn_protocols = if http2 { vec!["h2".into(), "http/1.1".into()] } else { vec!["http/1.1".into()] };
        let (config, identity) = (Arc::new(config), identity.finish());
        Ok(Some(Self { config, expires, min_version, clients, description, identity }))
    }

    /// Whether both serve connections alike.
    pub fn is_like(&self, other: &Self) -> bool {
        self.identity.as_ref() == other.identity.as_ref()
    }

    /// Whether only clients with a certificate get an answer.
    pub fn requires_certificates(&self) -> bool {
        self.clients.client_auth_mandatory()
    }

    /// The keys by which `next` would protect less than this.
    pub fn weakened_by(&self, next: &Self) -> Vec<&'static str> {
        let lower_version = (next.min_version < self.min_version).then_some("tls_server_config.min_version");
        self.clients.weakened_by(&next.clients).chain(lower_version).collect()
    }
}

fn expiry(chain: &[CertificateDer<'_>]) -> Option<Timestamp> {
    let (_, certificate) = X509Certificate::from_der(chain.first()?).ok()?;
    Some(Timestamp::from_millis(certificate.validity().not_after.timestamp().checked_mul(1000)?))
}

/// Reads the files that the web configuration file refers to, and notes which.
pub struct Files<'a> {
    /// Relative paths are relative to this.
    pub folder: &'a Path,
    pub sources: &'a mut Vec<PathBuf>,
}

impl Files<'_> {
    fn read(&mut self, key: &str, file: &Spanned<String>) -> Result<Vec<u8>, Invalid> {
        let path = self.folder.join(&file.value);
        self.sources.push(path.clone());
        std::fs::read(&path).map_err(|error| {
            let message = format!(
                "cannot read tls_server_config.{key} {}: {error}; correct the path or its mode",
                path.display()
            );
            Invalid::at(file, message)
        })
    }

    /// The PEM text in the file itself, or in another file that it names.
    fn pem(&mut self, key: &str, inline: &Text, file: &Text) -> Result<Option<Pem>, Invalid> {
        let (text, name, place) = match (set(inline), set(file)) {
            (Some(inline), Some(_)) => {
                let message = format!("tls_server_config has both {key} and {key}_file; leave one of them out");
                return Err(Invalid::at(inline, message));
            }
            (Some(inline), None) => (inline.value.clone().into_bytes(), format!("tls_server_config.{key}"), inline),
            (None, Some(file)) => {
                let key = format!("{key}_file");
                let name = format!("tls_server_config.{key} {}", self.folder.join(&file.value).display());
                (self.read(&key, file)?, name, file)
            }
            (None, None) => return Ok(None),
        };
        Ok(Some(Pem { text, name, place: Spanned::new((), place.referenced, place.defined) }))
    }
}

struct Pem {
    text: Vec<u8>,
    name: String,
    place: Spanned<()>,
}

impl Pem {
    // The parser's error is not shown: its details could hold a piece of the file.
    fn certificates(&self) -> Result<Vec<CertificateDer<'static>>, Invalid> {
        let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&self.text).collect();
        match certificates {
            Ok(certificates) if !certificates.is_empty() => Ok(certificates),
            Ok(_) => Err(self.invalid("has no certificate in PEM; give one")),
            Err(_) => Err(self.invalid("is not PEM; give certificates in PEM")),
        }
    }

    fn key(&self) -> Result<PrivateKeyDer<'static>, Invalid> {
        let hint = "has no private key in PEM; give one that is not encrypted (PKCS#8, PKCS#1 or SEC1)";
        PrivateKeyDer::from_pem_slice(&self.text).map_err(|_| self.invalid(hint))
    }

    /// All certificates, as authorities; they become part of `identity`.
    fn roots(&self, identity: &mut digest::Context) -> Result<RootCertStore, Invalid> {
        let mut roots = RootCertStore::empty();
        for certificate in self.certificates()? {
            identity.update(&certificate);
            roots.add(certificate).map_err(|error| {
                self.invalid(&format!("has a certificate that cannot be used ({error}); replace it"))
            })?;
        }
        Ok(roots)
    }

    fn invalid(&self, what: &str) -> Invalid {
        Invalid::at(&self.place, format!("{} {what}", self.name))
    }
}

/// Whether the section sets anything.
fn asks_for_tls(raw: &RawTls) -> bool {
    let texts = [
        &raw.cert,
        &raw.key,
        &raw.client_ca,
        &raw.cert_file,
        &raw.key_file,
        &raw.client_ca_file,
        &raw.client_auth_type,
        &raw.min_version,
        &raw.max_version,
    ];
    texts.into_iter().any(|text| set(text).is_some())
        || raw.client_allowed_sans.is_some()
        || raw.cipher_suites.is_some()
        || raw.curve_preferences.is_some()
        || raw.prefer_server_cipher_suites.is_some()
}

/// Orders the versions that are served.
fn version(key: &str, text: &Text, default: u8) -> Result<u8, Invalid> {
    let Some(text) = set(text) else { return Ok(default) };
    match text.value.as_str() {
        "TLS12" => Ok(12),
        "TLS13" => Ok(13),
        other => {
            let message =
                format!("tls_server_config.{key}: {other:?} is not secure, or not a version; write TLS12 or TLS13");
            Err(Invalid::at(text, message))
        }
    }
}

/// The lowest version, and all of them.
fn versions(raw: &RawTls) -> Result<(u8, Vec<&'static SupportedProtocolVersion>), Invalid> {
    match (version("min_version", &raw.min_version, 12)?, version("max_version", &raw.max_version, 13)?) {
        (12, 12) => Ok((12, vec![&TLS12])),
        (12, _) => Ok((12, vec![&TLS13, &TLS12])),
        (_, 13) => Ok((13, vec![&TLS13])),
        _ => {
            let message = "tls_server_config.min_version is above max_version; swap them";
            Err(set(&raw.min_version).map_or_else(|| Invalid::new(message), |place| Invalid::at(place, message)))
        }
    }
}

/// What rustls supports, limited to what the file allows.
fn provider(raw: &RawTls, versions: &[&SupportedProtocolVersion]) -> Result<CryptoProvider, Invalid> {
    let mut provider = provided::default_provider();
    let suites = raw.cipher_suites.as_deref().unwrap_or_default();
    if !suites.is_empty() {
        let chosen = suites.iter().map(|name| cipher_suite(name, &provider.cipher_suites));
        let mut chosen = chosen.collect::<Result<Vec<_>, _>>()?;
        // The list is about TLS 1.2; the suites of TLS 1.3 are always on, as they are in Go.
        chosen.retain(|suite| suite.tls13().is_none());
        if chosen.is_empty() && !versions.contains(&&TLS13) {
            let message =
                "tls_server_config.cipher_suites has none for TLS 1.2, and max_version allows no newer one; add one";
            return Err(Invalid::at(&suites[0], message));
        }
        provider.cipher_suites.retain(|suite| suite.tls13().is_some());
        provider.cipher_suites.extend(chosen);
    }
    let curves = raw.curve_preferences.as_deref().unwrap_or_default();
    if !curves.is_empty() {
        let chosen = curves.iter().map(|curve| key_exchange(curve, &provider.kx_groups));
        provider.kx_groups = chosen.collect::<Result<_, _>>()?;
    }
    Ok(provider)
}

/// Finds a suite by Go's name. Those that only Go knows are not secure: CBC, and key exchange without forward secrecy.
fn cipher_suite(name: &Spanned<String>, suites: &[SupportedCipherSuite]) -> Result<SupportedCipherSuite, Invalid> {
    // rustls marks those of TLS 1.3 in their names, Go does not.
    let known = |suite: &SupportedCipherSuite| format!("{:?}", suite.suite()).replace("TLS13_", "TLS_");
    suites.iter().find(|suite| known(suite) == name.value).copied().ok_or_else(|| {
        let known = suites.iter().map(known).collect::<Vec<_>>().join(", ");
        let message = format!("{:?} is not secure, or not a cipher suite; choose from {known}", name.value);
        Invalid::at(name, format!("tls_server_config.cipher_suites: {message}"))
    })
}

fn key_exchange(
    curve: &Spanned<String>,
    groups: &[&'static dyn SupportedKxGroup],
) -> Result<&'static dyn SupportedKxGroup, Invalid> {
    let wanted = match curve.value.as_str() {
        "X25519" => Some(NamedGroup::X25519),
        "CurveP256" => Some(NamedGroup::secp256r1),
        "CurveP384" => Some(NamedGroup::secp384r1),
        _ => None,
    };
    groups.iter().copied().find(|group| Some(group.name()) == wanted).ok_or_else(|| {
        let message = format!("{:?} is not supported; choose from X25519, CurveP256, CurveP384", curve.value);
        Invalid::at(curve, format!("tls_server_config.curve_preferences: {message}"))
    })
}
