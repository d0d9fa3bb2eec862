//! Certificates that are trusted themselves, and not for an authority that signed them.

use rustls::{
    CertificateError, Error,
    pki_types::{CertificateDer, UnixTime},
};
use x509_parser::prelude::{FromDer as _, X509Certificate};

/// The purpose of a certificate, as its extended key usage names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    Client,
    Server,
}

/// Verifies the validity period and the extended key usage of a certificate that is itself trusted.
/// webpki cannot do this: it refuses a certificate that is an authority too, and plain
/// `openssl req -x509` makes such certificates.
pub(crate) fn verify_trusted(
    certificate: &CertificateDer<'_>,
    purpose: Purpose,
    now: UnixTime,
) -> Result<(), Error> {
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
    let is_allowed = usage.is_none_or(|usage| {
        let named = match purpose {
            Purpose::Client => usage.value.client_auth,
            Purpose::Server => usage.value.server_auth,
        };
        usage.value.any || named
    });
    if is_allowed {
        Ok(())
    } else {
        Err(CertificateError::InvalidPurpose.into())
    }
}
