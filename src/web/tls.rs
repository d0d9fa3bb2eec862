//! `tls_server_config` as rustls does it.

mod client;

use super::file::{Problem, RawTls};
use rustls::{
    CipherSuite, NamedGroup, RootCertStore, ServerConfig, SupportedProtocolVersion,
    crypto::{CryptoProvider, SupportedKxGroup, ring},
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    version::{TLS12, TLS13},
};
use serde_saphyr::Spanned;
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

/// Reads the files that the web configuration file refers to, and notes which.
pub(super) struct Files<'a> {
    /// Relative paths count from here.
    pub folder: &'a Path,
    pub sources: &'a mut Vec<PathBuf>,
}

impl Files<'_> {
    fn read(&mut self, key: &str, file: &Spanned<String>) -> Result<Vec<u8>, Problem> {
        let path = self.folder.join(&file.value);
        self.sources.push(path.clone());
        std::fs::read(&path).map_err(|error| {
            let message = format!(
                "cannot read tls_server_config.{key} {}: {error}; correct the path or its mode",
                path.display()
            );
            Problem::at(file, message)
        })
    }

    /// The PEM text that stands in the file itself, or in another file that it names.
    fn pem(&mut self, key: &str, inline: &Text, file: &Text) -> Result<Option<Pem>, Problem> {
        match (set(inline), set(file)) {
            (Some(inline), Some(_)) => {
                let message = format!("tls_server_config has both {key} and {key}_file; leave one of them out");
                Err(Problem::at(inline, message))
            }
            (Some(inline), None) => {
                let place = Spanned::new((), inline.referenced, inline.defined);
                Ok(Some(Pem {
                    text: inline.value.clone().into_bytes(),
                    name: format!("tls_server_config.{key}"),
                    place,
                }))
            }
            (None, Some(file)) => {
                let key = format!("{key}_file");
                let text = self.read(&key, file)?;
                let name = format!("tls_server_config.{key} {}", self.folder.join(&file.value).display());
                Ok(Some(Pem { text, name, place: Spanned::new((), file.referenced, file.defined) }))
            }
            (None, None) => Ok(None),
        }
    }
}

type Text = Option<Spanned<String>>;

/// A value that is given and not empty: the format means the same by both.
fn set(text: &Text) -> Option<&Spanned<String>> {
    text.as_ref().filter(|text| !text.value.is_empty())
}

struct Pem {
    text: Vec<u8>,
    name: String,
    place: Spanned<()>,
}

impl Pem {
    fn certificates(&self) -> Result<Vec<CertificateDer<'static>>, Problem> {
        let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&self.text).collect();
        match certificates {
            Ok(certificates) if !certificates.is_empty() => Ok(certificates),
            Ok(_) => Err(self.problem("has no certificate in PEM")),
            Err(error) => Err(self.problem(&format!("is no PEM: {error}"))),
        }
    }

    fn key(&self) -> Result<PrivateKeyDer<'static>, Problem> {
        // Only the kind of error is told: its details could hold a piece of the key.
        PrivateKeyDer::from_pem_slice(&self.text)
            .map_err(|_| self.problem("has no private key in unencrypted PEM (PKCS#8, PKCS#1 or SEC1)"))
    }

    fn problem(&self, what: &str) -> Problem {
        Problem::at(&self.place, format!("{} {what}", self.name))
    }
}

/// The server's TLS, and what of it is in force in words; `None` where the section asks for none.
pub(super) fn server_config(
    raw: &RawTls,
    files: &mut Files<'_>,
    http2: bool,
) -> Result<Option<(ServerConfig, String)>, Problem> {
    if !asks_for_tls(raw)? {
        return Ok(None);
    }
    let missing = |key: &str| Problem::new(format!("tls_server_config lacks {key} and {key}_file; set one of them"));
    let certificate = files.pem("cert", &raw.cert, &raw.cert_file)?.ok_or_else(|| missing("cert"))?;
    let key = files.pem("key", &raw.key, &raw.key_file)?.ok_or_else(|| missing("key"))?;
    let authorities = match files.pem("client_ca", &raw.client_ca, &raw.client_ca_file)? {
        Some(pem) => Some(roots(&pem)?),
        None => None,
    };
    let (versions, in_force) = versions(raw)?;
    let provider = Arc::new(provider(raw, &versions)?);
    let (clients, clients_in_force) = client::verifier(raw, authorities, &provider)?;
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&versions)
        .map_err(|error| Problem::new(format!("tls_server_config: {error}")))?
        .with_client_cert_verifier(clients)
        .with_single_cert(certificate.certificates()?, key.key()?)
        .map_err(|error| certificate.problem(&format!("and its key cannot be used: {error}")))?;
    config.ignore_client_order = raw.prefer_server_cipher_suites.as_ref().is_none_or(|prefer| prefer.value);
    config.alpn_protocols = if http2 { vec![b"h2".to_vec(), b"http/1.1".to_vec()] } else { vec![b"http/1.1".to_vec()] };
    Ok(Some((config, format!("{in_force}, {clients_in_force}"))))
}

/// Whether the section asks for TLS. One that only fine-tunes it would be served in the clear, against its intent.
fn asks_for_tls(raw: &RawTls) -> Result<bool, Problem> {
    let asks = [
        &raw.cert,
        &raw.key,
        &raw.client_ca,
        &raw.cert_file,
        &raw.key_file,
        &raw.client_ca_file,
        &raw.client_auth_type,
    ];
    let fine_tunes = raw.min_version.is_some()
        || raw.max_version.is_some()
        || raw.client_allowed_sans.is_some()
        || raw.cipher_suites.is_some()
        || raw.curve_preferences.is_some()
        || raw.prefer_server_cipher_suites.is_some();
    match asks.into_iter().any(|text| set(text).is_some()) {
        false if fine_tunes => Err(Problem::new(
            "tls_server_config has no certificate, so that all would be served in the clear; set cert_file and key_file, \
             or remove the section",
        )),
        asks => Ok(asks),
    }
}

fn roots(pem: &Pem) -> Result<RootCertStore, Problem> {
    let mut roots = RootCertStore::empty();
    for certificate in pem.certificates()? {
        roots
            .add(certificate)
            .map_err(|error| pem.problem(&format!("has a certificate that cannot be used: {error}")))?;
    }
    Ok(roots)
}

/// Orders the versions that the format knows.
fn version(key: &str, text: &Text, default: u8) -> Result<u8, Problem> {
    let Some(text) = set(text) else { return Ok(default) };
    match text.value.as_str() {
        "TLS12" => Ok(12),
        "TLS13" => Ok(13),
        old @ ("TLS10" | "TLS11") => {
            let message =
                format!("tls_server_config.{key}: {old} is not secure and not supported; write TLS12 or TLS13");
            Err(Problem::at(text, message))
        }
        other => {
            let message = format!("tls_server_config.{key}: there is no version {other:?}; write TLS12 or TLS13");
            Err(Problem::at(text, message))
        }
    }
}

fn versions(raw: &RawTls) -> Result<(Vec<&'static SupportedProtocolVersion>, &'static str), Problem> {
    match (version("min_version", &raw.min_version, 12)?, version("max_version", &raw.max_version, 13)?) {
        (12, 12) => Ok((vec![&TLS12], "TLS 1.2")),
        (12, _) => Ok((vec![&TLS13, &TLS12], "TLS 1.2 and 1.3")),
        (_, 13) => Ok((vec![&TLS13], "TLS 1.3")),
        _ => Err(Problem::new("tls_server_config.min_version is above max_version; swap them")),
    }
}

/// What rustls can do, cut down to what the file allows.
fn provider(raw: &RawTls, versions: &[&SupportedProtocolVersion]) -> Result<CryptoProvider, Problem> {
    let mut provider = ring::default_provider();
    let suites = raw.cipher_suites.as_deref().unwrap_or_default();
    if !suites.is_empty() {
        // The list is about TLS 1.2; the three suites of TLS 1.3 are always on, as they are in Go.
        let (mut chosen, below): (Vec<_>, Vec<_>) =
            provider.cipher_suites.into_iter().partition(|suite| suite.tls13().is_some());
        for name in suites {
            let id = cipher_suite(name)?;
            chosen.extend(below.iter().find(|suite| suite.suite() == id));
        }
        provider.cipher_suites = chosen;
        if !versions.contains(&&TLS13) && provider.cipher_suites.iter().all(|suite| suite.tls13().is_some()) {
            let message = "tls_server_config.cipher_suites has none for TLS 1.2, and max_version allows no newer one";
            return Err(Problem::at(&suites[0], message));
        }
    }
    let curves = raw.curve_preferences.as_deref().unwrap_or_default();
    if !curves.is_empty() {
        provider.kx_groups =
            curves.iter().map(|curve| key_exchange(curve, &provider.kx_groups)).collect::<Result<_, _>>()?;
    }
    Ok(provider)
}

const CIPHER_SUITES: [(&str, CipherSuite); 9] = [
    ("TLS_AES_128_GCM_SHA256", CipherSuite::TLS13_AES_128_GCM_SHA256),
    ("TLS_AES_256_GCM_SHA384", CipherSuite::TLS13_AES_256_GCM_SHA384),
    ("TLS_CHACHA20_POLY1305_SHA256", CipherSuite::TLS13_CHACHA20_POLY1305_SHA256),
    ("TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256),
    ("TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384),
    ("TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256),
    ("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256),
    ("TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", CipherSuite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384),
    ("TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", CipherSuite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256),
];

/// Suites that the format knows and rustls leaves out for good: CBC, and key exchange without forward secrecy.
const LEFT_OUT: [&str; 12] = [
    "TLS_RSA_WITH_AES_128_CBC_SHA",
    "TLS_RSA_WITH_AES_256_CBC_SHA",
    "TLS_RSA_WITH_AES_128_GCM_SHA256",
    "TLS_RSA_WITH_AES_256_GCM_SHA384",
    "TLS_RSA_WITH_AES_128_CBC_SHA256",
    "TLS_RSA_WITH_3DES_EDE_CBC_SHA",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA",
    "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256",
];

fn cipher_suite(name: &Spanned<String>) -> Result<CipherSuite, Problem> {
    if let Some((_, suite)) = CIPHER_SUITES.iter().find(|(known, _)| *known == name.value) {
        return Ok(*suite);
    }
    let known: Vec<_> = CIPHER_SUITES.iter().map(|(name, _)| *name).collect();
    let known = known.join(", ");
    let message = if LEFT_OUT.contains(&name.value.as_str()) {
        format!("{} is not secure and not supported; remove it, or choose from {known}", name.value)
    } else {
        format!("there is no cipher suite {:?}; choose from {known}", name.value)
    };
    Err(Problem::at(name, format!("tls_server_config.cipher_suites: {message}")))
}

fn key_exchange(
    curve: &Spanned<String>,
    groups: &[&'static dyn SupportedKxGroup],
) -> Result<&'static dyn SupportedKxGroup, Problem> {
    let wanted = match curve.value.as_str() {
        "X25519" => NamedGroup::X25519,
        "CurveP256" => NamedGroup::secp256r1,
        "CurveP384" => NamedGroup::secp384r1,
        "CurveP521" => NamedGroup::secp521r1,
        other => {
            let message = format!("there is no curve {other:?}; choose from X25519, CurveP256, CurveP384");
            return Err(Problem::at(curve, format!("tls_server_config.curve_preferences: {message}")));
        }
    };
    groups.iter().copied().find(|group| group.name() == wanted).ok_or_else(|| {
        let message = format!("{} is not supported; choose from X25519, CurveP256, CurveP384", curve.value);
        Problem::at(curve, format!("tls_server_config.curve_preferences: {message}"))
    })
}
