//! The failures of connections to the API: the network, TLS and HTTP itself.

use super::error::{RequestFailure, hint};
use crate::{domain::Reason, support::clock::Timestamp};
use rustls::{CertificateError as Bad, Error as TlsError, pki_types::UnixTime};
use std::{error::Error, io, iter::successors};

const RENEW: &str = "renew the API's certificate; if it is valid, set this machine's clock";

/// Converts the failure of a request without a response, or with an incomplete body.
impl From<reqwest::Error> for RequestFailure {
    fn from(error: reqwest::Error) -> Self {
        if let Some(tls) = causes(&error).find_map(<dyn Error>::downcast_ref) {
            return of_tls(tls);
        }
        let reason = if error.is_timeout() && !error.is_connect() {
            Reason::Timeout
        } else if error.is_body() || error.is_decode() {
            Reason::Truncated
        } else {
            Reason::Connect
        };
        // The innermost cause: the outer ones only say that a request failed. reqwest's own error
        // would repeat the URL of the surrounding message.
        let what = match causes(&error).last() {
            Some(cause) if !error.is_timeout() => cause.to_string(),
            _ => "no answer in time".to_owned(),
        };
        let failure = Self::new(reason, what);
        match causes(&error).find_map(<dyn Error>::downcast_ref::<hyper::Error>) {
            // The first number is MAX_HEADERS, the second a limit of hyper.
            Some(hyper) if hyper.is_parse_too_large() => {
                failure.hint("let the API answer with at most 256 headers, of 400 kB in all")
            }
            Some(hyper) if hyper.is_parse() => {
                failure.hint("check that the port of api.base_url speaks HTTP/1.1")
            }
            _ => failure,
        }
    }
}

/// Returns the failure of a TLS handshake, with the hint for its cause.
fn of_tls(error: &TlsError) -> RequestFailure {
    let plain = |hint| (error.to_string(), hint);
    let (what, hint) = match error {
        // rustls would write seconds since 1970.
        TlsError::InvalidCertificate(Bad::ExpiredContext { not_after, .. }) => (
            format!("the certificate expired at {}", time(*not_after)),
            RENEW,
        ),
        TlsError::InvalidCertificate(Bad::NotValidYetContext { not_before, .. }) => (
            format!("the certificate is valid from {} on", time(*not_before)),
            RENEW,
        ),
        // rustls would quote the names of the API's certificate.
        TlsError::InvalidCertificate(Bad::NotValidForNameContext { .. }) => (
            "the certificate is for another name".to_owned(),
            "set api.base_url to a subjectAltName of the certificate, or let the API's server \
             present a certificate that has this host as one (a common name does not count)",
        ),
        TlsError::InvalidMessage(_) => {
            plain("check the scheme and the port of api.base_url: no TLS is spoken there")
        }
        TlsError::PeerIncompatible(_)
        | TlsError::AlertReceived(_)
        | TlsError::NoApplicationProtocol => plain(
            "let the API's server, or the proxy in front of it, offer TLS 1.2 or 1.3, ECDHE with \
             AES-GCM or ChaCha20-Poly1305, and HTTP/1.1, and demand no client certificate: the \
             exporter has only its key",
        ),
        _ => plain(hint(Reason::Tls)),
    };
    RequestFailure::new(Reason::Tls, format!("no TLS with the API: {what}")).hint(hint)
}

fn time(unix: UnixTime) -> Timestamp {
    Timestamp::from_millis(i64::try_from(unix.as_secs() * 1000).unwrap_or(i64::MAX))
}

/// Returns the causes of an error from the outside in, with the errors that I/O errors wrap and
/// skip in `source`.
pub fn causes(error: &reqwest::Error) -> impl Iterator<Item = &(dyn Error + 'static)> {
    successors(error.source(), |&error| {
        let io = error.downcast_ref::<io::Error>();
        match io.and_then(io::Error::get_ref) {
            Some(wrapped) => Some(wrapped),
            None => error.source(),
        }
    })
}
