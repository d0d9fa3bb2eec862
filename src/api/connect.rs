//! The failures of connections to the API: the network, TLS and HTTP itself.

use super::error::RequestFailure;
use crate::domain::Reason;
use rustls::{AlertDescription as Alert, CertificateError as Bad, PeerIncompatible as Peer};
use std::{error::Error, io, iter::successors};

/// Converts the failure of a request without a response, or with an incomplete body.
impl From<reqwest::Error> for RequestFailure {
    fn from(error: reqwest::Error) -> Self {
        if let Some(tls) = causes(&error).find_map(<dyn Error>::downcast_ref) {
            return of_tls(tls);
        }
        let http = causes(&error).find_map(<dyn Error>::downcast_ref::<hyper::Error>);
        if let Some(http) = http.filter(|http| http.is_parse()) {
            return of_http(http);
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
        Self::new(reason, what)
    }
}

/// Returns the failure of a response that is not HTTP/1.1.
fn of_http(error: &hyper::Error) -> RequestFailure {
    let (what, hint) = if error.is_parse_too_large() {
        (
            "the headers of the response are too large",
            "check what adds them, such as a login in front of the API: 1,000 headers of 400 kB \
             together are accepted",
        )
    } else {
        (
            "the response is not HTTP/1.1",
            "check the scheme and the port of api.base_url: a port for https:// answers http:// \
             like this, and so does a server that speaks HTTP/2 alone, which has to offer HTTP/1.1",
        )
    };
    RequestFailure::new(Reason::Connect, what).hint(hint)
}

/// Returns the failure of a TLS handshake, with the hint for its cause. It quotes no name of the
/// API's certificate.
fn of_tls(error: &rustls::Error) -> RequestFailure {
    use rustls::Error;
    let (what, hint) = match error {
        Error::InvalidMessage(_) => (
            "the server at this address does not speak TLS",
            "check the scheme and the port of api.base_url",
        ),
        Error::InvalidCertificate(Bad::Expired | Bad::ExpiredContext { .. }) => (
            "the API's certificate has expired",
            "renew the certificate of the API's server; if it is valid, set the clock of this \
             machine",
        ),
        Error::InvalidCertificate(Bad::NotValidForNameContext { presented, .. })
            if presented.is_empty() =>
        {
            (
                "the API's certificate has no subjectAltName: a common name alone is not valid",
                "let the API's server present a certificate with this host as subjectAltName",
            )
        }
        Error::InvalidCertificate(Bad::NotValidForName | Bad::NotValidForNameContext { .. }) => (
            "the API's certificate is for another name",
            "set api.base_url to a name in the certificate, or let the API's server present a \
             certificate for this name",
        ),
        Error::InvalidCertificate(Bad::UnknownIssuer) => (
            "the API's certificate is of an unknown issuer",
            "put the certificate of its issuer into api.ca_file, or the certificate itself if it \
             is self-signed",
        ),
        Error::PeerIncompatible(
            Peer::ServerDoesNotSupportTls12Or13 | Peer::ServerTlsVersionIsDisabledByOurConfig,
        )
        | Error::AlertReceived(Alert::ProtocolVersion) => (
            "the API's server offers no TLS 1.2 or 1.3",
            "let the API's server, or the proxy in front of it, offer TLS 1.2 or 1.3",
        ),
        Error::AlertReceived(Alert::NoApplicationProtocol) | Error::NoApplicationProtocol => (
            "the API's server offers HTTP/2 alone",
            "let the API's server, or the proxy in front of it, offer HTTP/1.1 as well",
        ),
        Error::AlertReceived(Alert::CertificateRequired | Alert::BadCertificate) => (
            "the API's server demands a client certificate",
            "reach the API at an address that demands none: the exporter has only its key",
        ),
        Error::AlertReceived(Alert::HandshakeFailure | Alert::InsufficientSecurity) => (
            "the API's server ended the TLS handshake: it has no cipher in common with the \
             exporter, or demands a client certificate",
            "let the API's server offer ECDHE with AES-GCM or ChaCha20-Poly1305, and demand no \
             client certificate",
        ),
        other => return RequestFailure::new(Reason::Tls, other.to_string()),
    };
    RequestFailure::new(Reason::Tls, what).hint(hint)
}

/// Returns the causes of an error from the outside in, with the errors that I/O errors wrap and
/// skip in `source`.
fn causes(error: &reqwest::Error) -> impl Iterator<Item = &(dyn Error + 'static)> {
    successors(error.source(), |&error| {
        let io = error.downcast_ref::<io::Error>();
        match io.and_then(io::Error::get_ref) {
            Some(wrapped) => Some(wrapped),
            None => error.source(),
        }
    })
}
