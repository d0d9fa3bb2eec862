//! Client certificates: the policies of `client_auth_type`, which are those of Go's crypto/tls.

use super::yaml::{Invalid, Policy, TlsSection};
use rustls::{
    CertificateError, DigitallySignedStruct, DistinguishedName, Error, RootCertStore,
    SignatureScheme,
    client::danger::HandshakeSignatureValid,
    crypto::{
        WebPkiSupportedAlgorithms, ring::default_provider, verify_tls12_signature,
        verify_tls13_signature,
    },
    pki_types::{CertificateDer, UnixTime},
    server::{
        WebPkiClientVerifier,
        danger::{ClientCertVerified, ClientCertVerifier},
    },
};
use serde_saphyr::Spanned;
use std::{net::IpAddr, sync::Arc};
use x509_parser::{
    extensions::GeneralName,
    prelude::{FromDer, X509Certificate},
};

/// Requests and verifies client certificates.
#[derive(Debug)]
pub struct Clients {
    policy: Policy,
    /// If there are any, a certificate must have one of these names.
    allowed_sans: Vec<String>,
    /// Verifies the chain of trust, if anything does.
    chain: Option<Arc<dyn ClientCertVerifier>>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl Clients {
    /// As the section says. Certificates are verified against `authorities` or, as in Go, against the system's if none are
    /// given.
    pub fn new(
        section: &Spanned<TlsSection>,
        authorities: Option<RootCertStore>,
    ) -> Result<Self, Invalid> {
        let keys = &section.value;
        let policy = keys.client_auth_type.unwrap_or_default();
        for (key, given) in [
            ("client_ca", keys.client_ca.0.as_ref()),
            ("client_ca_file", keys.client_ca_file.0.as_ref()),
            ("client_allowed_sans", keys.client_allowed_sans.first()),
        ] {
            if let Some(given) = given
                && policy == Policy::NoClientCert
            {
                let message = format!(
                    "tls_server_config.{key} checks nothing where client_auth_type asks for no certificate; set it, such as \
                     RequireAndVerifyClientCert"
                );
                return Err(Invalid::at(given, message));
            }
        }
        let mut chain = None;
        if let Policy::VerifyClientCertIfGiven | Policy::RequireAndVerifyClientCert = policy {
            let authorities = authorities.unwrap_or_else(system_authorities).into();
            let verifier = WebPkiClientVerifier::builder(authorities).build();
            chain = Some(verifier.map_err(|_| {
                let message = "tls_server_config: this system trusts no authority that could verify client certificates; set \
                               client_ca_file";
                Invalid::at(section, message)
            })?);
        }
        Ok(Self {
            policy,
            allowed_sans: keys
                .client_allowed_sans
                .iter()
                .map(|san| san.value.clone())
                .collect(),
            chain,
            algorithms: default_provider().signature_verification_algorithms,
        })
    }

    /// For people.
    pub fn describe(&self) -> String {
        let policy = match self.policy {
            Policy::NoClientCert => "no client certificates",
            Policy::RequestClientCert => "client certificates requested, NOT verified",
            Policy::RequireAnyClientCert => "client certificates required, NOT verified",
            Policy::VerifyClientCertIfGiven => "client certificates verified if given",
            Policy::RequireAndVerifyClientCert => "client certificates required and verified",
        };
        if self.allowed_sans.is_empty() {
            return policy.to_owned();
        }
        format!("{policy}, only of {}", self.allowed_sans.join(", "))
    }
}

fn system_authorities() -> RootCertStore {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    roots
}

impl ClientCertVerifier for Clients {
    fn offer_client_auth(&self) -> bool {
        self.policy != Policy::NoClientCert
    }

    fn client_auth_mandatory(&self) -> bool {
        matches!(
            self.policy,
            Policy::RequireAnyClientCert | Policy::RequireAndVerifyClientCert
        ) || !self.allowed_sans.is_empty()
    }

    /// None: a client offers whichever certificate it has.
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
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
        if !self.allowed_sans.is_empty() {
            let names = alternative_names(end_entity).unwrap_or_default();
            if !names.iter().any(|name| self.allowed_sans.contains(name)) {
                return Err(CertificateError::ApplicationVerificationFailure.into());
            }
        }
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, cert, dss, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, dss, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

/// The DNS names, addresses, e-mail addresses and URIs that the certificate is for (RFC 5280, 4.2.1.6); `None` if it says
/// none or is malformed.
fn alternative_names(certificate: &CertificateDer<'_>) -> Option<Vec<String>> {
    let (_, certificate) = X509Certificate::from_der(certificate).ok()?;
    let extension = certificate.subject_alternative_name().ok()??;
    let mut names = Vec::new();
    for name in &extension.value.general_names {
        match *name {
            GeneralName::DNSName(text) | GeneralName::RFC822Name(text) | GeneralName::URI(text) => {
                names.push(text.to_owned());
            }
            GeneralName::IPAddress(bytes) => {
                let v4 = <[u8; 4]>::try_from(bytes).map(IpAddr::from);
                let address = v4.or_else(|_| <[u8; 16]>::try_from(bytes).map(IpAddr::from));
                names.extend(address.map(|address| address.to_string()));
            }
            _ => {}
        }
    }
    Some(names)
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
    fn a_certificate_without_alternative_names_has_none_as_what_is_no_certificate() {
        let certificate = CertificateParams::new(Vec::new())
            .unwrap()
            .self_signed(&KeyPair::generate().unwrap())
            .unwrap();
        assert!(alternative_names(certificate.der()).is_none());
        assert!(alternative_names(&CertificateDer::from(b"no certificate".to_vec())).is_none());
    }
}
