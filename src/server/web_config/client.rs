//! Client certificates, verified under the policies of Go's crypto/tls (`client_auth_type`).

use super::{
    files::Files,
    section::{Policy, TlsSection},
};
use anyhow::ensure;
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
use std::{net::IpAddr, sync::Arc};
use x509_parser::{
    extensions::GeneralName,
    prelude::{FromDer, X509Certificate, X509Version},
};

/// The verifier of client certificates.
#[derive(Debug)]
pub struct ClientVerifier {
    policy: Policy,
    /// The accepted alternative names; if empty, any.
    allowed_sans: Vec<String>,
    /// The verifier of the chain of trust, if there is an authority that issues certificates.
    chain: Option<Arc<dyn ClientCertVerifier>>,
    /// The certificates of `client_ca_file`. As in Go, a client may present one of them itself,
    /// and only authorities among them issue others.
    authorities: Vec<CertificateDer<'static>>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl ClientVerifier {
    /// Returns the verifier that `section` configures. It trusts the authorities of the file or,
    /// as in Go, the system's if the file names none.
    pub fn new(section: &TlsSection, files: &mut Files) -> anyhow::Result<Self> {
        let policy = section.client_auth_type;
        let allowed_sans = section.client_allowed_sans.clone();
        let (ca, ca_file) = (&section.client_ca, &section.client_ca_file);
        let is_of_system = ca.is_empty() && ca_file.is_empty();
        ensure!(
            policy != Policy::NoClientCert || (is_of_system && allowed_sans.is_empty()),
            "tls_server_config.client_auth_type requests no certificate, so that client_ca and \
             client_allowed_sans have no effect; set it, such as RequireAndVerifyClientCert"
        );
        let authorities = if !is_of_system {
            files.pem("client_ca", ca, ca_file)?
        } else if policy.verifies() {
            rustls_native_certs::load_native_certs().certs
        } else {
            Vec::new()
        };
        let mut roots = RootCertStore::empty();
        // As in Go, a certificate of version 3 has to say that it may issue others.
        let issuers = authorities.iter().filter(|authority| {
            X509Certificate::from_der(authority)
                .is_ok_and(|(_, issuer)| issuer.is_ca() || issuer.version() != X509Version::V3)
        });
        roots.add_parsable_certificates(issuers.cloned());
        ensure!(
            !policy.verifies() || !authorities.is_empty(),
            "tls_server_config has no authority for clients; set client_ca_file"
        );
        // Without an authority, only the certificates of the file themselves are trusted.
        let chain = (!roots.is_empty())
            .then(|| WebPkiClientVerifier::builder(roots.into()).build())
            .transpose()?;
        Ok(Self {
            policy,
            allowed_sans,
            chain,
            authorities,
            algorithms: default_provider().signature_verification_algorithms,
        })
    }

    /// Returns whether a certificate has one of the alternative names (RFC 5280, 4.2.1.6).
    fn allows(&self, certificate: &X509Certificate<'_>) -> bool {
        let Ok(Some(names)) = certificate.subject_alternative_name() else {
            return false;
        };
        let mut names = names.value.general_names.iter();
        names.any(|name| match *name {
            GeneralName::DNSName(name) | GeneralName::RFC822Name(name) | GeneralName::URI(name) => {
                self.allowed_sans.iter().any(|allowed| allowed == name)
            }
            GeneralName::IPAddress(name) => {
                let v4 = <[u8; 4]>::try_from(name).map(IpAddr::from);
                v4.or_else(|_| <[u8; 16]>::try_from(name).map(IpAddr::from))
                    .is_ok_and(|address| self.allowed_sans.contains(&address.to_string()))
            }
            _ => false,
        })
    }
}

impl ClientCertVerifier for ClientVerifier {
    fn offer_client_auth(&self) -> bool {
        self.policy != Policy::NoClientCert
    }

    fn client_auth_mandatory(&self) -> bool {
        matches!(
            self.policy,
            Policy::RequireAnyClientCert | Policy::RequireAndVerifyClientCert
        ) || !self.allowed_sans.is_empty()
    }

    /// Returns no hints: the client then offers any certificate it has.
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        let (_, certificate) =
            X509Certificate::from_der(end_entity).map_err(|_| CertificateError::BadEncoding)?;
        if self.policy.verifies() {
            // webpki refuses the certificate of an authority, and plain `openssl req -x509` makes
            // such certificates.
            if !self.authorities.contains(end_entity) {
                let chain = self.chain.as_ref();
                let chain = chain.ok_or(CertificateError::UnknownIssuer)?;
                chain.verify_client_cert(end_entity, intermediates, now)?;
            } else if !certificate.validity().is_valid() {
                return Err(CertificateError::Expired.into());
            }
        }
        if !self.allowed_sans.is_empty() && !self.allows(&certificate) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{
        BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, SanType,
    };

    /// Verifies a client certificate that is itself listed in `client_ca_file`.
    fn verified(
        allowed_sans: &[&str],
        change: impl FnOnce(&mut CertificateParams),
    ) -> Result<(), Error> {
        let mut parameters = CertificateParams::new(Vec::new()).unwrap();
        // Plain `openssl req -x509` makes authorities.
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        parameters
            .distinguished_name
            .push(DnType::CommonName, "prometheus");
        change(&mut parameters);
        let certificate = parameters
            .self_signed(&KeyPair::generate().unwrap())
            .unwrap();
        let section = TlsSection {
            client_ca: certificate.pem(),
            client_auth_type: Policy::RequireAndVerifyClientCert,
            client_allowed_sans: allowed_sans.iter().map(ToString::to_string).collect(),
            ..TlsSection::default()
        };
        let clients =
            ClientVerifier::new(&section, &mut Files::beside("web.yml".as_ref())).unwrap();
        let verified = clients.verify_client_cert(certificate.der(), &[], UnixTime::now());
        verified.map(drop)
    }

    #[test]
    fn a_directly_trusted_certificate_must_be_current() {
        assert_eq!(verified(&[], |_| {}), Ok(()));
        assert_eq!(
            verified(&[], |parameters| parameters.is_ca = IsCa::NoCa),
            Ok(())
        );
        let expired = verified(&[], |parameters| {
            parameters.not_after = rcgen::date_time_ymd(2020, 1, 1);
        });
        assert_eq!(expired, Err(CertificateError::Expired.into()));
    }

    #[test]
    fn only_an_authority_of_the_file_issues_certificates() {
        for (is_ca, is_accepted) in [
            (IsCa::Ca(BasicConstraints::Unconstrained), true),
            (IsCa::ExplicitNoCa, false),
            (IsCa::NoCa, false),
        ] {
            let mut parameters = CertificateParams::new(Vec::new()).unwrap();
            parameters.is_ca = is_ca;
            let issuer = CertifiedIssuer::self_signed(parameters, KeyPair::generate().unwrap());
            let issuer = issuer.unwrap();
            let section = TlsSection {
                client_ca: issuer.pem(),
                client_auth_type: Policy::RequireAndVerifyClientCert,
                ..TlsSection::default()
            };
            let clients =
                ClientVerifier::new(&section, &mut Files::beside("web.yml".as_ref())).unwrap();
            let mut parameters = CertificateParams::new(Vec::new()).unwrap();
            parameters.distinguished_name = rcgen::DistinguishedName::new();
            let signed = parameters.signed_by(&KeyPair::generate().unwrap(), &issuer);
            let verified = clients.verify_client_cert(signed.unwrap().der(), &[], UnixTime::now());
            assert_eq!(verified.is_ok(), is_accepted);
        }
    }

    #[test]
    fn every_kind_of_alternative_name_is_read() {
        let named = |parameters: &mut CertificateParams| {
            parameters.subject_alt_names = vec![
                SanType::DnsName("prometheus.example".try_into().unwrap()),
                SanType::Rfc822Name("ops@example.org".try_into().unwrap()),
                SanType::URI("spiffe://example.org/prometheus".try_into().unwrap()),
                SanType::IpAddress("192.0.2.1".parse().unwrap()),
                SanType::IpAddress("2001:db8::1".parse().unwrap()),
            ];
        };
        for name in [
            "prometheus.example",
            "ops@example.org",
            "spiffe://example.org/prometheus",
            "192.0.2.1",
            "2001:db8::1",
        ] {
            assert_eq!(verified(&["another", name], named), Ok(()), "{name}");
            let refused = Err(CertificateError::ApplicationVerificationFailure.into());
            assert_eq!(verified(&[name], |_| {}), refused, "{name}");
        }
        assert!(verified(&["another"], named).is_err());
    }
}
