//! Client certificates, verified under the policies of Go's crypto/tls (`client_auth_type`).

use super::{
    files::Pem,
    yaml::{Policy, TlsSection, invalid_at},
};
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

/// The verifier of client certificates.
#[derive(Debug)]
pub struct Clients {
    policy: Policy,
    /// The accepted alternative names; if empty, any.
    allowed_sans: Vec<String>,
    /// The verifier of the chain of trust, if the policy verifies it.
    chain: Option<Arc<dyn ClientCertVerifier>>,
    /// The certificates of `client_ca_file`. As in Go, a client may present one of them itself.
    authorities: Vec<CertificateDer<'static>>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl Clients {
    /// Returns the verifier that `section` configures. It trusts `authorities` or, as in Go, the
    /// system's authorities if there are none.
    pub fn new(section: &Spanned<TlsSection>, authorities: Option<&Pem>) -> Result<Self, String> {
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
                    "tls_server_config.{key} has no effect while client_auth_type requests no \
                     certificate; set it, such as RequireAndVerifyClientCert"
                );
                return Err(invalid_at(given, message));
            }
        }
        let mut chain = None;
        if let Policy::VerifyClientCertIfGiven | Policy::RequireAndVerifyClientCert = policy {
            let roots = authorities.map(Pem::roots).transpose()?;
            let roots = roots.unwrap_or_else(system_authorities).into();
            let verifier = WebPkiClientVerifier::builder(roots).build();
            chain = Some(verifier.map_err(|_| {
                let message = "tls_server_config: this system trusts no authority that could \
                               verify client certificates; set client_ca_file";
                invalid_at(section, message)
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
            authorities: authorities
                .map(Pem::certificates)
                .transpose()?
                .unwrap_or_default(),
            algorithms: default_provider().signature_verification_algorithms,
        })
    }

    /// Describes the policy for people.
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
        format!("{policy}, only for {}", self.allowed_sans.join(", "))
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
        if let Some(chain) = &self.chain {
            if self.authorities.contains(end_entity) {
                verify_trusted(end_entity, now)?;
            } else {
                chain.verify_client_cert(end_entity, intermediates, now)?;
            }
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

/// Verifies the validity period and the extended key usage of a certificate that is itself trusted.
/// webpki cannot do this: it refuses a certificate that is an authority too, and plain
/// `openssl req -x509` makes such certificates.
fn verify_trusted(certificate: &CertificateDer<'_>, now: UnixTime) -> Result<(), Error> {
    let (_, certificate) =
        X509Certificate::from_der(certificate).map_err(|_| CertificateError::BadEncoding)?;
    let now = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
    let validity = certificate.validity();
    if now < validity.not_before.timestamp() {
        return Err(CertificateError::NotValidYet.into());
    }
    if now > validity.not_after.timestamp() {
        return Err(CertificateError::Expired.into());
    }
    let usage = certificate
        .extended_key_usage()
        .map_err(|_| CertificateError::BadEncoding)?;
    if usage.is_none_or(|usage| usage.value.any || usage.value.client_auth) {
        Ok(())
    } else {
        Err(CertificateError::InvalidPurpose.into())
    }
}

/// Returns the DNS names, IP addresses, e-mail addresses and URIs of a certificate (RFC 5280,
/// 4.2.1.6); `None` if it has no such extension or is malformed.
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
    use crate::server::web_config::{files::Files, yaml::parse};
    use rcgen::{
        BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
        SanType,
    };

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

    /// Verifies a client certificate that is itself listed in `client_ca_file`.
    fn verified(change: impl FnOnce(&mut CertificateParams)) -> Result<(), Error> {
        let key = KeyPair::generate().unwrap();
        let mut parameters = CertificateParams::new(Vec::new()).unwrap();
        // Plain `openssl req -x509` makes authorities.
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        parameters
            .distinguished_name
            .push(DnType::CommonName, "prometheus");
        change(&mut parameters);
        let certificate = parameters.self_signed(&key).unwrap();
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("ca.pem"), certificate.pem()).unwrap();
        std::fs::write(folder.path().join("key.pem"), key.serialize_pem()).unwrap();
        let text = "tls_server_config: {cert_file: ca.pem, key_file: key.pem, \
                    client_ca_file: ca.pem, client_auth_type: RequireAndVerifyClientCert}\n";
        let path = folder.path().join("web.yml");
        std::fs::write(&path, text).unwrap();
        let mut files = Files::default();
        let sections = parse(&files.read(path).unwrap()).unwrap();
        let section = sections.tls_server_config.unwrap();
        let keys = &section.value;
        let authorities = files.pem("client_ca", &keys.client_ca, &keys.client_ca_file);
        let clients = Clients::new(&section, authorities.unwrap().as_ref()).unwrap();
        let now = UnixTime::since_unix_epoch(std::time::Duration::from_secs(1_800_000_000));
        let verified = clients.verify_client_cert(certificate.der(), &[], now);
        verified.map(drop)
    }

    #[test]
    fn a_directly_trusted_certificate_must_be_current_and_for_clients() {
        assert_eq!(verified(|_| {}), Ok(()));
        assert_eq!(verified(|parameters| parameters.is_ca = IsCa::NoCa), Ok(()));
        let client = |parameters: &mut CertificateParams| {
            parameters.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        };
        assert_eq!(verified(client), Ok(()));
        let server = |parameters: &mut CertificateParams| {
            parameters.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        };
        let purpose = Err(CertificateError::InvalidPurpose.into());
        assert_eq!(verified(server), purpose);
        let expired = |parameters: &mut CertificateParams| {
            parameters.not_after = rcgen::date_time_ymd(2020, 1, 1);
        };
        assert_eq!(verified(expired), Err(CertificateError::Expired.into()));
        let early = |parameters: &mut CertificateParams| {
            parameters.not_before = rcgen::date_time_ymd(2100, 1, 1);
        };
        assert_eq!(verified(early), Err(CertificateError::NotValidYet.into()));
    }

    #[test]
    fn only_certificates_with_alternative_names_have_names() {
        let certificate = CertificateParams::new(Vec::new())
            .unwrap()
            .self_signed(&KeyPair::generate().unwrap())
            .unwrap();
        assert!(alternative_names(certificate.der()).is_none());
        assert!(alternative_names(&CertificateDer::from(b"no certificate".to_vec())).is_none());
    }
}
