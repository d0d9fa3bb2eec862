//! What can go wrong with a request to the API, by what the caller does next.

use super::wire::DecodeError;
use crate::{
    domain::{Failure, Operation, PollFailure, Reason},
    support::escape::os_hint,
};
use reqwest::{StatusCode, Url};
use std::{error::Error, io, iter::successors, time::Duration};

/// What to do about a listing that cannot go on.
pub const CURSOR_HINT: &str = "the listing of the API is broken: report it to the API's operators";

/// Why a request to the API has no usable answer. No failure holds the key, or anything that the API sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApiError {
    /// The API works, but this resource cannot be read: keep what was known of it.
    Failed(RequestFailure),
    /// As many `requests` in a row failed in a way that suggests an outage of the API, or of the way
    /// to it: the poll's circuit breaker decides whose failure it is.
    Unreachable {
        failure: RequestFailure,
        requests: u32,
    },
    /// No further request can be sent in this poll.
    PollEnded(PollEnd),
}

/// The last failure of the attempts to read a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestFailure {
    pub reason: Reason,
    pub failure: Failure,
}

/// The reason for which a poll ends before it has requested everything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PollEnd {
    pub reason: PollFailure,
    pub failure: Failure,
}

impl ApiError {
    pub fn into_failure(self) -> Failure {
        match self {
            Self::Failed(RequestFailure { failure, .. })
            | Self::Unreachable {
                failure: RequestFailure { failure, .. },
                ..
            }
            | Self::PollEnded(PollEnd { failure, .. }) => failure,
        }
    }
}

/// How one request failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestError {
    pub reason: Reason,
    /// How it failed, in words: `the answer has status 503 Service Unavailable`.
    pub how: String,
    /// What to do about it.
    pub hint: &'static str,
    /// Whether the same request may succeed if it is sent again.
    pub retry: bool,
    /// The status of the response, if there was one.
    pub status: Option<StatusCode>,
    /// Whether the connection was closed before a response began, as an idle one that the server
    /// had closed already.
    pub is_closed_early: bool,
    /// How long the API asks for no requests.
    pub retry_after: Option<Duration>,
}

/// How hyper-util's error of a proxy begins, whose type is private.
const TUNNEL: &str = "tunnel error: ";

impl RequestError {
    pub fn new(reason: Reason, how: impl Into<String>) -> Self {
        let retry = matches!(
            reason,
            Reason::Timeout | Reason::Connect | Reason::Truncated
        );
        Self {
            reason,
            how: how.into(),
            hint: hint(reason),
            retry,
            status: None,
            is_closed_early: false,
            retry_after: None,
        }
    }

    /// An answer that cannot be decoded.
    pub fn decode(error: &DecodeError) -> Self {
        let reason = match error {
            DecodeError::Html | DecodeError::NotAnArray(_) => Reason::Decode,
            DecodeError::Truncated => Reason::Truncated,
            DecodeError::TooMany(_) => Reason::TooLarge,
        };
        let mut failed = Self::new(reason, error.to_string());
        if reason == Reason::TooLarge {
            failed.hint =
                "report it to the API's operators, or leave repositories out with filter.exclude";
        }
        failed
    }

    /// An answer whose status is not 200.
    pub fn status(status: StatusCode, retry_after: Option<Duration>) -> Self {
        let reason = match status.as_u16() {
            300..400 => Reason::Redirect,
            401 => Reason::Unauthorized,
            403 => Reason::Forbidden,
            404 => Reason::NotFound,
            429 => Reason::RateLimited,
            400..500 => Reason::ClientError,
            500..600 => Reason::ServerError,
            // The specification knows no other 2xx.
            _ => Reason::Decode,
        };
        let retry = matches!(status.as_u16(), 408 | 425 | 429 | 500 | 502 | 503 | 504);
        Self {
            retry,
            status: Some(status),
            retry_after,
            ..Self::new(reason, format!("the answer has status {status}"))
        }
    }

    /// The same with the hint for that operation: a failed listing may concern the complete account.
    pub fn of(mut self, operation: Operation) -> Self {
        if operation == Operation::ListRepositories {
            self.hint = match self.reason {
                Reason::NotFound => {
                    "set api.base_url to what stands before /v1 in the API's addresses"
                }
                Reason::Forbidden => {
                    "give the account of the key access to the API, or use the key of another account"
                }
                _ => self.hint,
            };
        }
        self
    }

    /// A request that got no answer, or an incomplete body.
    pub fn transport(error: &reqwest::Error) -> Self {
        let is_body = error.is_body() || error.is_decode();
        let reason = if find_source::<rustls::Error>(error).is_some() {
            Reason::Tls
        } else if error.is_timeout() {
            Reason::Timeout
        } else if is_body && !is_corrupt(error) {
            Reason::Truncated
        } else if is_body || find_source::<hyper::Error>(error).is_some_and(hyper::Error::is_parse)
        {
            Reason::Decode
        } else {
            Reason::Connect
        };
        let mut failed = Self::new(reason, innermost(error));
        // Checked first, since the failed TLS may be that of the proxy.
        if let Some(tunnel) = causes(error)
            .map(ToString::to_string)
            .find(|cause| cause.starts_with(TUNNEL))
        {
            (failed.how, failed.hint) = of_proxy(&tunnel[TUNNEL.len()..], &failed.how);
        } else if let Some(hint) = find_source(error).and_then(os_hint) {
            failed.hint = hint;
        } else if let Some(error) = find_source::<rustls::Error>(error) {
            of_tls(&mut failed, error);
        }
        failed.is_closed_early = reason == Reason::Connect
            && find_source::<hyper::Error>(error).is_some_and(|error| {
                error.is_incomplete_message() || error.is_canceled() || is_reset(error)
            });
        failed
    }

    /// Whether the failure suggests an outage of the API, or of the way to it. Then it says nothing
    /// about the requested resource, and further requests would only add to the load.
    fn suggests_outage(&self) -> bool {
        matches!(
            self.reason,
            Reason::Connect
                | Reason::Timeout
                | Reason::Tls
                | Reason::Redirect
                | Reason::ServerError
                | Reason::Truncated
                | Reason::Decode
        )
    }

    /// Why so many requests for `url` have no answer.
    pub fn into_api_error(self, url: &Url, requests: u32) -> ApiError {
        let suggests_outage = self.suggests_outage();
        let failure = RequestFailure {
            reason: self.reason,
            failure: Failure::new(format!("GET {url}: {}", self.how), self.hint),
        };
        if suggests_outage {
            ApiError::Unreachable { failure, requests }
        } else {
            ApiError::Failed(failure)
        }
    }
}

fn hint(reason: Reason) -> &'static str {
    match reason {
        Reason::Timeout => "raise api.timeout, or check why the API is slow",
        Reason::Connect => "check api.base_url, the network, and HTTPS_PROXY if there is a proxy",
        Reason::Tls => "check the certificate of api.base_url; a private CA belongs in api.ca_file",
        Reason::Redirect => {
            "set api.base_url to the address that the API redirects to; redirects are not followed"
        }
        Reason::Unauthorized => {
            "check the key that api.key_file or api.key gives, or create a new one in the account's settings"
        }
        Reason::Forbidden => {
            "give the account of the key access, or leave out with filter.exclude what it may not read"
        }
        Reason::NotFound => {
            "it may just have been removed; if this persists, check whether the API has changed"
        }
        Reason::RateLimited => "lower api.requests_per_second or raise poll.interval",
        Reason::ClientError => "check api.base_url and whether the API has changed",
        Reason::ServerError => "the API itself fails: nothing to do here but wait",
        Reason::TooLarge => {
            "raise api.max_response_size, or lower api.page_size if it is the listing"
        }
        Reason::Truncated => "check what cuts the API's answers short, such as a proxy",
        Reason::Decode => {
            "check that api.base_url is the API and not a page or proxy; or the API has changed"
        }
        Reason::Cursor => CURSOR_HINT,
    }
}

/// How it failed, and the hint; `innermost` is why there is no connection, if there is none.
fn of_proxy(tunnel: &str, innermost: &str) -> (String, &'static str) {
    match tunnel {
        "proxy authorization required" => (
            "the proxy of HTTPS_PROXY asks for a user and a password".to_owned(),
            "set HTTPS_PROXY to http://user:password@host:port",
        ),
        "unsuccessful" => (
            "the proxy of HTTPS_PROXY refuses to connect to it".to_owned(),
            "allow the host of api.base_url in the proxy, or put it into NO_PROXY to bypass it",
        ),
        _ => (
            format!("the proxy of HTTPS_PROXY cannot be used ({innermost})"),
            "check HTTPS_PROXY and that the proxy runs, or put the host of api.base_url into NO_PROXY to bypass it",
        ),
    }
}

/// Sets the hint that fits the failed TLS handshake.
fn of_tls(failed: &mut RequestError, error: &rustls::Error) {
    use rustls::{AlertDescription as Alert, CertificateError as Bad, Error};
    failed.hint = match error {
        Error::InvalidMessage(_) => {
            failed.how = "the server there does not speak TLS".into();
            "check the scheme and the port of api.base_url"
        }
        Error::AlertReceived(Alert::CertificateRequired) => {
            failed.how = "the server demands a client certificate".into();
            "the exporter has none: use an address of the API that takes the key alone"
        }
        Error::AlertReceived(Alert::HandshakeFailure | Alert::ProtocolVersion)
        | Error::PeerIncompatible(_) => {
            failed.how = format!(
                "no common TLS version or cipher suite, or the server demands a client certificate ({error})"
            );
            "let the server offer TLS 1.3, or TLS 1.2 with ECDHE and AES-GCM or ChaCha20, and demand no client certificate"
        }
        Error::InvalidCertificate(Bad::Expired | Bad::ExpiredContext { .. }) => {
            "renew the certificate of the API's server; if it is valid, set the clock of this machine"
        }
        Error::InvalidCertificate(Bad::NotValidYet | Bad::NotValidYetContext { .. }) => {
            "set the clock of this machine; if it is right, wait until the certificate of the API's server is valid"
        }
        Error::InvalidCertificate(Bad::NotValidForName | Bad::NotValidForNameContext { .. }) => {
            "set api.base_url to a name that the certificate is for, or let the API's server present one for this name"
        }
        Error::InvalidCertificate(Bad::UnknownIssuer) => {
            "put the certificate of the authority that issued it into api.ca_file; a self-signed one itself"
        }
        Error::InvalidCertificate(Bad::InvalidPurpose | Bad::InvalidPurposeContext { .. }) => {
            "let the API's server present a certificate for servers (extended key usage serverAuth)"
        }
        _ => failed.hint,
    };
}

/// Whether the connection was reset.
fn is_reset(error: &hyper::Error) -> bool {
    let error = error
        .source()
        .and_then(<dyn Error>::downcast_ref::<io::Error>);
    error.is_some_and(|error| {
        matches!(
            error.kind(),
            io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe
        )
    })
}

/// Whether the body is badly encoded, as opposed to being cut short.
fn is_corrupt(error: &reqwest::Error) -> bool {
    find_source::<io::Error>(error).is_some_and(|error| {
        matches!(
            error.kind(),
            io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput
        )
    })
}

/// Its causes, from the outside in; also those that I/O errors wrap, which they hide.
fn causes(error: &reqwest::Error) -> impl Iterator<Item = &(dyn Error + 'static)> {
    successors(error.source(), |&error| {
        let io = error.downcast_ref::<io::Error>();
        match io.and_then(io::Error::get_ref) {
            Some(wrapped) => Some(wrapped),
            None => error.source(),
        }
    })
}

/// The first cause of that type.
fn find_source<E: Error + 'static>(error: &reqwest::Error) -> Option<&E> {
    causes(error).find_map(<dyn Error>::downcast_ref)
}

/// The innermost cause; the outer ones only say that a request failed.
fn innermost(error: &reqwest::Error) -> String {
    if error.is_timeout() && error.is_connect() {
        return "no connection within api.connect_timeout".to_owned();
    }
    // reqwest's own error would print the URL, which is in the surrounding message already.
    let cause = causes(error)
        .last()
        .filter(|cause| !cause.is::<reqwest::Error>());
    cause.map_or_else(|| "the request failed".to_owned(), ToString::to_string)
}
