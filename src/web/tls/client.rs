//! Client certificates: the five policies of `client_auth_type`, which are those of Go's crypto/tls.

use super::{Problem, RawTls, set};
use rustls::{
    CertificateError, DigitallySignedStruct, DistinguishedName, Error, RootCertStore, SignatureScheme,
    client::danger::HandshakeSignatureValid,
    crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature},
    pki_types::{CertificateDer, UnixTime},
    server::{
        NoClientAuth, WebPkiClientVerifier,
        danger::{ClientCertVerified, ClientCertVerifier},
    },
};
use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    sync::Arc,
};
use x509_parser::{
    extensions::GeneralName,
    prelude::{FromDer, X509Certificate},
};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Policy {
    /// Nobody is asked for a certificate.
    None,
    /// Whoever has one may show it; it is not verified.
    Request,
    /// Everybody must show one; it is not verified.
    RequireAny,
    /// Whoever shows one must have it from a known authority.
    VerifyIfGiven,
    /// Everybody must show one from a known authority.
    RequireAndVerify,
}

/// The verifier, and what it does in words.
pub(super) fn verifier(
    raw: &RawTls,
    authorities: Option<RootCertStore>,
    provider: &Arc<CryptoProvider>,
) -> Result<(Arc<dyn ClientCertVerifier>, String), Problem> {
    let policy = policy(raw)?;
    let allowed_sans = allowed_sans(raw, policy)?;
    if policy == Policy::None {
        if authorities.is_some() {
            return Err(Problem::new(
                "tls_server_config has a client_ca or client_ca_file, but no client_auth_type that asks for a \
                 certificate; set it, such as RequireAndVerifyClientCert",
            ));
        }
        return Ok((Arc::new(NoClientAuth), "no client certificates".to_owned()));
    }
    let hints = authorities.as_ref().map(RootCertStore::subjects).unwrap_or_default();
    let chain = match policy {
        Policy::VerifyIfGiven | Policy::RequireAndVerify => Some(chain_verifier(authorities, provider)?),
        _ => None,
    };
    let mandatory = matches!(policy, Policy::RequireAny | Policy::RequireAndVerify) || allowed_sans.is_some();
    let description = format!(
        "client certificates {}, {}{}",
        if mandatory { "required" } else { "optional" },
        if chain.is_some() { "verified" } else { "NOT verified" },
        allowed_sans.as_ref().map(|sans| format!(", of {}", sans.join(", "))).unwrap_or_default(),
    );
    let verifier = Clients { chain, mandatory, allowed_sans, hints, provider: Arc::clone(provider) };
    Ok((Arc::new(verifier), description))
}

fn policy(raw: &RawTls) -> Result<Policy, Problem> {
    let Some(name) = set(&raw.client_auth_type) else { return Ok(Policy::None) };
    Ok(match name.value.as_str() {
        "NoClientCert" => Policy::None,
        "RequestClientCert" => Policy::Request,
        "RequireAnyClientCert" | "RequireClientCert" => Policy::RequireAny,
        "VerifyClientCertIfGiven" => Policy::VerifyIfGiven,
        "RequireAndVerifyClientCert" => Policy::RequireAndVerify,
        other => {
            let message = format!(
                "tls_server_config.client_auth_type: there is no policy {other:?}; choose from NoClientCert, \
                 RequestClientCert, RequireAnyClientCert, VerifyClientCertIfGiven, RequireAndVerifyClientCert"
            );
            return Err(Problem::at(name, message));
        }
    })
}

fn allowed_sans(raw: &RawTls, policy: Policy) -> Result<Option<Vec<String>>, Problem> {
    let Some(sans) = &raw.client_allowed_sans else { return Ok(None) };
    if sans.value.is_empty() {
        let message =
            "tls_server_config.client_allowed_sans is empty, so that nobody could connect; remove it or fill it";
        return Err(Problem::at(sans, message));
    }
    if policy == Policy::None {
        let message = "tls_server_config.client_allowed_sans checks nothing where client_auth_type asks for no \
                       certificate; set it, such as RequireAndVerifyClientCert";
        return Err(Problem::at(sans, message));
    }
    Ok(Some(sans.value.clone()))
}

/// Verifies against `authorities`, or against the system's, as Go does where none are given.
fn chain_verifier(
    authorities: Option<RootCertStore>,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<dyn ClientCertVerifier>, Problem> {
    let authorities = authorities.unwrap_or_else(|| {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        roots
    });
    WebPkiClientVerifier::builder_with_provider(Arc::new(authorities), Arc::clone(provider)).build().map_err(|error| {
        Problem::new(format!("tls_server_config: cannot verify client certificates: {error}; set client_ca_file"))
    })
}

/// Asks for certificates and judges them.
#[derive(Debug)]
struct Clients {
    /// Verifies the chain of trust, if anything does.
    chain: Option<Arc<dyn ClientCertVerifier>>,
    mandatory: bool,
    /// A certificate must bear one of these names.
    allowed_sans: Option<Vec<String>>,
    hints: Vec<DistinguishedName>,
    provider: Arc<CryptoProvider>,
}

impl ClientCertVerifier for Clients {
    fn client_auth_mandatory(&self) -> bool {
        self.mandatory
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
            && !alternative_names(end_entity)?.iter().any(|name| allowed.contains(name))
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
        verify_tls12_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// The DNS names, addresses, e-mail addresses and URIs that the certificate is for (RFC 5280, 4.2.1.6).
fn alternative_names(certificate: &CertificateDer<'_>) -> Result<Vec<String>, Error> {
    let malformed = || Error::from(CertificateError::BadEncoding);
    let (_, certificate) = X509Certificate::from_der(certificate).map_err(|_| malformed())?;
    let extension = certificate.subject_alternative_name().map_err(|_| malformed())?;
    let names = extension.map(|extension| extension.value.general_names.as_slice()).unwrap_or_default();
    Ok(names
        .iter()
        .filter_map(|name| match name {
            GeneralName::DNSName(text) | GeneralName::RFC822Name(text) | GeneralName::URI(text) => {
                Some((*text).to_owned())
            }
            GeneralName::IPAddress(bytes) => address(bytes).map(|address| address.to_string()),
            _ => None,
        })
        .collect())
}

fn address(bytes: &[u8]) -> Option<IpAddr> {
    let v4 = <[u8; 4]>::try_from(bytes).map(|bytes| Ipv4Addr::from(bytes).into());
    v4.or_else(|_| <[u8; 16]>::try_from(bytes).map(|bytes| Ipv6Addr::from(bytes).into())).ok()
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
        let certificate = parameters.self_signed(&KeyPair::generate().unwrap()).unwrap();
        assert_eq!(
            alternative_names(certificate.der()).unwrap(),
            ["prometheus.example", "ops@example.org", "spiffe://example.org/prometheus", "192.0.2.1", "2001:db8::1"]
        );
    }

    #[test]
    fn a_certificate_without_alternative_names_has_none_and_what_is_no_certificate_is_an_error() {
        let certificate =
            CertificateParams::new(Vec::new()).unwrap().self_signed(&KeyPair::generate().unwrap()).unwrap();
        assert_eq!(alternative_names(certificate.der()).unwrap(), [""; 0]);
        assert!(alternative_names(&CertificateDer::from(b"no certificate".to_vec())).is_err());
    }
}
