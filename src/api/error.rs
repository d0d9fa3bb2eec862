//! The failures of requests to the API.

use crate::{
    domain::{Failure, Operation, Reason},
    support::clock::Timestamp,
};
use reqwest::{StatusCode, Url};
use std::{error::Error, io, iter::successors, time::Duration};

/// The hint for a listing with a bad cursor.
pub const CURSOR_HINT: &str = "the listing of the API is broken: report it to the API's operators";

/// The failure of one request. It never quotes the key or text of the API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestFailure {
    pub reason: Reason,
    /// The failure in words, such as `the API answered 503 Service Unavailable`.
    pub what: String,
    /// The next step for the operator.
    pub hint: &'static str,
    /// True if the failure is transient: another attempt may succeed.
    pub is_momentary: bool,
    /// The status of the response, if there was one.
    pub status: Option<StatusCode>,
    /// The hold that Retry-After demands of all requests.
    pub hold: Option<Duration>,
}

impl RequestFailure {
    pub fn new(reason: Reason, what: impl Into<String>) -> Self {
        let is_momentary = matches!(
            reason,
            Reason::Timeout | Reason::Connect | Reason::Truncated
        );
        Self {
            reason,
            what: what.into(),
            hint: hint(reason),
            is_momentary,
            status: None,
            hold: None,
        }
    }

    /// Creates the failure of a response whose status is not 200. Only 429 and 503 can hold
    /// requests.
    pub fn status(status: StatusCode, retry_after: Option<Duration>) -> Self {
        let reason = match status.as_u16() {
            300..400 => Reason::Redirect,
            401 => Reason::Unauthorized,
            403 => Reason::Forbidden,
            404 => Reason::NotFound,
            429 => Reason::RateLimited,
            400..500 => Reason::ClientError,
            500..600 => Reason::ServerError,
            // The specification has no other 2xx than 200.
            _ => Reason::Decode,
        };
        let failure = Self {
            is_momentary: matches!(status.as_u16(), 408 | 425 | 429 | 500..600),
            status: Some(status),
            ..Self::new(reason, format!("the API answered {status}"))
        };
        Self {
            hold: retry_after.filter(|_| failure.is_refusal()),
            ..failure
        }
    }

    /// Returns whether the API refused the request, perhaps because of its pace.
    pub fn is_refusal(&self) -> bool {
        let refusals = [
            StatusCode::TOO_MANY_REQUESTS,
            StatusCode::SERVICE_UNAVAILABLE,
        ];
        self.status.is_some_and(|status| refusals.contains(&status))
    }

    /// Returns the failure for people, dated to `since`.
    pub fn dated(&self, since: Timestamp) -> Failure {
        Failure {
            reason: Some(self.reason),
            ..Failure::new(self.what.as_str(), self.hint, since)
        }
    }

    /// Returns the failure of a request of `operation`, with the hint for it. A failed listing may
    /// concern the whole account.
    pub fn of(mut self, operation: Operation, url: &Url) -> Self {
        self.what = format!("GET {url}: {}", self.what);
        if operation == Operation::ListRepositories {
            self.hint = match self.reason {
                Reason::NotFound => {
                    "set api.base_url to the part before /v1 in the API's addresses"
                }
                Reason::Forbidden => {
                    "give the key's account access to the API, or use the key of another \
                     account"
                }
                _ => self.hint,
            };
        }
        self
    }
}

/// Converts the failure of a request without a response, or with an incomplete body.
impl From<reqwest::Error> for RequestFailure {
    fn from(error: reqwest::Error) -> Self {
        let tls = causes(&error).find_map(<dyn Error>::downcast_ref::<rustls::Error>);
        let reason = if tls.is_some() {
            Reason::Tls
        } else if error.is_timeout() && !error.is_connect() {
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
        let failed = Self::new(reason, what);
        match tls {
            Some(error) => of_tls(failed, error),
            None => failed,
        }
    }
}

fn hint(reason: Reason) -> &'static str {
    match reason {
        Reason::Timeout => "raise api.timeout, or check why the API is slow",
        Reason::Connect => {
            "check api.base_url, the network, and HTTPS_PROXY if there is a proxy: its form is \
             http://user:password@host:port, and the proxy must let requests to the API pass"
        }
        Reason::Tls => {
            "check the certificate of api.base_url; a private CA belongs in api.ca_file, and so \
             does a self-signed certificate, which has to be made with CA:FALSE (`openssl req \
             -x509 -addext basicConstraints=critical,CA:FALSE`)"
        }
        Reason::Redirect => {
            "set api.base_url to the address that the API redirects to; redirects are not followed"
        }
        Reason::Unauthorized => {
            "check the key in api.key_file or api.key, or create a new key in the account's \
             settings"
        }
        Reason::Forbidden => {
            "give the key's account access, or leave the repository out with filter.exclude"
        }
        Reason::NotFound => {
            "the repository may just have been removed; if this persists, check whether the API \
             has changed"
        }
        Reason::RateLimited => "lower api.requests_per_second or raise poll.interval",
        Reason::ClientError => "check api.base_url and whether the API has changed",
        Reason::ServerError => "wait, or ask the API's operators: the API itself fails",
        Reason::TooLarge => {
            "lower api.page_size or raise api.max_response_size for the listing; leave a repository \
             with more than 1 MiB of languages out with filter.exclude"
        }
        Reason::Truncated => "check what cuts the API's answers short, such as a proxy",
        Reason::Decode => {
            "check that api.base_url is the address of the API, not of a website or a proxy, and \
             whether the API has changed"
        }
        Reason::Cursor => CURSOR_HINT,
    }
}

/// Returns the failure of a TLS handshake, with the hint for its cause.
fn of_tls(mut failed: RequestFailure, error: &rustls::Error) -> RequestFailure {
    use rustls::{CertificateError as Bad, Error};
    failed.hint = match error {
        Error::InvalidMessage(_) => {
            failed.what = "the server at this address does not speak TLS".into();
            "check the scheme and the port of api.base_url, and of HTTPS_PROXY if there is a proxy"
        }
        Error::InvalidCertificate(Bad::Expired | Bad::ExpiredContext { .. }) => {
            "renew the certificate of the API's server; if it is valid, set the clock of this \
             machine"
        }
        Error::InvalidCertificate(Bad::NotValidForName | Bad::NotValidForNameContext { .. }) => {
            "set api.base_url to a name in the certificate, or let the API's server present a \
             certificate for this name"
        }
        Error::InvalidCertificate(Bad::UnknownIssuer) => {
            "put the certificate of its issuer into api.ca_file, or the certificate itself if it \
             is self-signed"
        }
        _ => failed.hint,
    };
    failed
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
