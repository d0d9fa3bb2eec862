//! Client certificates: the five policies of `client_auth_type`, which are those of Go's crypto/tls.

use super::yaml::{Invalid, Problem, RawTls, choose};
use rustls::{
    CertificateError, DigitallySignedStruct, DistinguishedName, Error, RootCertStore,
    SignatureScheme,
    client::danger::HandshakeSignatureValid,
    crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature},
    pki_types::{CertificateDer, UnixTime},
    server::{
        WebPkiClientVerifier,
        danger::{ClientCertVerified, ClientCertVerifier},
    },
};
use serde_saphyr::Spanned;
use std::{fmt, net::IpAddr, sync::Arc};
use x509_parser::{
    extensions::GeneralName,
    prelude::{FromDer, X509Certificate},
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Policy {
    /// No certificate is requested.
    None,
    /// A certificate is requested; it is not verified.
    Request,
    /// A certificate is required; it is not verified.
    RequireAny,
    /// A certificate is requested; if there is one, it must be from a known authority.
    VerifyIfGiven,
    /// A certificate from a known authority is required.
    RequireAndVerify,
}

impl Policy {
    const ALL: [(&str, Self); 6] = [
        ("NoClientCert", Self::None),
        ("RequestClientCert", Self::Request),
        ("RequireAnyClientCert", Self::RequireAny),
        ("RequireClientCert", Self::RequireAny),
        ("VerifyClientCertIfGiven", Self::VerifyIfGiven),
        ("RequireAndVerifyClientCert", Self::RequireAndVerify),
    ];

    fn requires(self) -> bool {
        matches!(self, Self::RequireAny | Self::RequireAndVerify)
    }

    fn verifies(self) -> bool {
        matches!(self, Self::VerifyIfGiven | Self::RequireAndVerify)
    }
}

/// Requests and verifies client certificates.
#[derive(Debug)]
pub struct Clients {
    policy: Policy,
    /// A certificate must have one of these names.
    allowed_sans: Option<Vec<String>>,
    /// Whether the authorities are those of the file instead of the system's.
    own_authorities: bool,
    /// Verifies the chain of trust, if anything does.
    chain: Option<Arc<dyn ClientCertVerifier>>,
    hints: Vec<DistinguishedName>,
    provider: Arc<CryptoProvider>,
}

/// What is in force, for people.
impl fmt::Display for Clients {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.policy == Policy::None {
            return f.write_str("no client certificates");
        }
        let needed = if self.client_auth_mandatory() {
            "required"
        } else {
            "optional"
        };
        let verified = if self.policy.verifies() {
            "verified"
        } else {
            "NOT verified"
        };
        write!(f, "client certificates {needed}, {verified}")?;
        self.allowed_sans
            .as_ref()
            .map_or(Ok(()), |sans| write!(f, ", of {}", sans.join(", ")))
    }
}

impl Clients {
    /// As the section says. Certificates are verified against `authorities` or, as in Go, against the system's if none are
    /// given.
    pub fn new(
        section: &Spanned<RawTls>,
        authorities: Option<RootCertStore>,
        provider: Arc<CryptoProvider>,
    ) -> Result<Self, Invalid> {
        let raw = &section.value;
        let policy = match &raw.client_auth_type.0 {
            Some(name) => choose("tls_server_config.client_auth_type", name, &Policy::ALL)?,
            None => Policy::None,
        };
        let own_authorities = authorities.is_some();
        let checks_nothing = |key: &str| {
            format!(
                "tls_server_config.{key} checks nothing where client_auth_type asks for no certificate; set it, such as \
                 RequireAndVerifyClientCert"
            )
        };
        let allowed_sans = match &raw.client_allowed_sans {
            Some(sans) if policy == Policy::None => {
                return Err(Invalid::at(sans, checks_nothing("client_allowed_sans")));
            }
            Some(sans) if sans.value.is_empty() => {
                let message = "tls_server_config.client_allowed_sans is empty, so that nobody could connect; remove it or \
                               fill it";
                return Err(Invalid::at(sans, message));
            }
            sans => sans.as_ref().map(|sans| sans.value.clone()),
        };
        if policy == Policy::None && own_authorities {
            return Err(Invalid::at(
                section,
                checks_nothing("client_ca or client_ca_file"),
            ));
        }
        let hints = authorities
            .as_ref()
            .map(RootCertStore::subjects)
            .unwrap_or_default();
        let chain = if policy.verifies() {
            Some(chain(section, authorities, &provider)?)
        } else {
            None
        };
        Ok(Self {
            policy,
            allowed_sans,
            own_authorities,
            chain,
            hints,
            provider,
        })
    }

    /// What decides how clients are judged, except the authorities themselves.
    pub fn settings(&self) -> String {
        format!(
            "{:?}",
            (self.policy, self.own_authorities, &self.allowed_sans)
        )
    }

    /// The keys by which `next` would protect less than this.
    pub fn weakened_by(&self, next: &Self) -> impl Iterator<Item = &'static str> {
        let (before, after) = (self.policy, next.policy);
        let lower = before.requires() && !after.requires()
            || before.verifies() && !after.verifies()
            || before != Policy::None && after == Policy::None;
        let keys = [
            (lower, "tls_server_config.client_auth_type"),
            (
                self.own_authorities && !next.own_authorities,
                "tls_server_config.client_ca_file",
            ),
            (
                self.allowed_sans.is_some() && next.allowed_sans.is_none(),
                "tls_server_config.client_allowed_sans",
            ),
        ];
        keys.into_iter()
            .filter_map(|(weakened, key)| weakened.then_some(key))
    }
}

fn chain(
    section: &Spanned<RawTls>,
    authorities: Option<RootCertStore>,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<dyn ClientCertVerifier>, Invalid> {
    let authorities = authorities.unwrap_or_else(|| {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        roots
    });
    let chain =
        WebPkiClientVerifier::builder_with_provider(authorities.into(), Arc::clone(provider))
            .build();
    chain.map_err(|error| Invalid::at(section, Problem::Authorities(error)))
}

impl ClientCertVerifier for Clients {
    fn offer_client_auth(&self) -> bool {
        self.policy != Policy::None
    }

    fn client_auth_mandatory(&self) -> bool {
        self.policy.requires() || self.allowed_sans.is_some()
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &self.hints
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        if let Some(chain) = &self.chain {
            chain.verify_client_cert(end_entity, intermediates, now)?;
        }
        if let Some(allowed) = &self.allowed_sans
            && !alternative_names(end_entity)?
                .iter()
                .any(|name| allowed.contains(name))
        {
            return Err(CertificateError::ApplicationVerificationFailure.into());
        }
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(
            message,
            cert,
            dss,
            &self.provider.signature_verification_algorithms,
        )
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(
            message,
            cert,
            dss,
            &self.provider.signature_verification_algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}

/// The DNS names, addresses, e-mail addresses and URIs that the certificate is for (RFC 5280, 4.2.1.6).
fn alternative_names(certificate: &CertificateDer<'_>) -> Result<Vec<String>, Error> {
    let malformed = || Error::from(CertificateError::BadEncoding);
    let (_, certificate) = X509Certificate::from_der(certificate).map_err(|_| malformed())?;
    let extension = certificate
        .subject_alternative_name()
        .map_err(|_| malformed())?;
    let names = extension
        .map(|extension| extension.value.general_names.as_slice())
        .unwrap_or_default();
    let text = |name: &GeneralName<'_>| match name {
        GeneralName::DNSName(text) | GeneralName::RFC822Name(text) | GeneralName::URI(text) => {
            Some((*text).to_owned())
        }
        GeneralName::IPAddress(bytes) => {
            let v4 = <[u8; 4]>::try_from(*bytes).map(IpAddr::from);
            v4.or_else(|_| <[u8; 16]>::try_from(*bytes).map(IpAddr::from))
                .ok()
                .map(|address| address.to_string())
        }
        _ => None,
    };
    Ok(names.iter().filter_map(text).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{CertificateParams, KeyPair, SanType};

    #[test]
    fn every_kind_of_alternative_name_is_read() {
        let mut parameters = CertificateParams::new(Vec::new()).unwrap();
        parameters.subject_alt_names = vec![
            SanType::DnsName("prometheus.example".try_into().unwrap()),
            SanType::Rfc822Name("ops@example.org".try_into().unwrap()),
            SanType::URI("spiffe://example.org/prometheus".try_into().unwrap()),
            SanType::IpAddress("192.0.2.1".parse().unwrap()),
            SanType::IpAddress("2001:db8::1".parse().unwrap()),
        ];
        let certificate = parameters
            .self_signed(&KeyPair::generate().unwrap())
            .unwrap();
        assert_eq!(
            alternative_names(certificate.der()).unwrap(),
            [
                "prometheus.example",
                "ops@example.org",
                "spiffe://example.org/prometheus",
                "192.0.2.1",
                "2001:db8::1"
            ]
        );
    }

    #[test]
    fn a_certificate_without_alternative_names_has_none_and_what_is_no_certificate_is_an_error() {
        let certificate = CertificateParams::new(Vec::new())
            .unwrap()
            .self_signed(&KeyPair::generate().unwrap())
            .unwrap();
        assert_eq!(alternative_names(certificate.der()).unwrap(), [""; 0]);
        assert!(alternative_names(&CertificateDer::from(b"no certificate".to_vec())).is_err());
    }
}
