//! The failures of requests to the API.

use super::retry_after;
use crate::{domain::Reason, support::hint::Failure};
use reqwest::{
    StatusCode, Url,
    header::{HeaderMap, LOCATION},
};
use std::time::Duration;

/// The hint for a listing with a bad cursor.
pub const CURSOR_HINT: &str = "the listing of the API is broken: report it to the API's operators";

/// The failure of one request. It never quotes the key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestFailure {
    pub reason: Reason,
    /// The failure in words, such as `the API answered 503 Service Unavailable`.
    pub what: String,
    /// The next step for the operator.
    pub hint: &'static str,
    /// The status of the response, if there was one.
    pub status: Option<StatusCode>,
    /// The wait that Retry-After of a 429 or 503 demands.
    pub retry_after: Option<Duration>,
}

impl RequestFailure {
    pub fn new(reason: Reason, what: impl Into<String>) -> Self {
        Self {
            reason,
            what: what.into(),
            hint: hint(reason),
            status: None,
            retry_after: None,
        }
    }

    #[must_use]
    pub fn hint(self, hint: &'static str) -> Self {
        Self { hint, ..self }
    }

    /// Creates the failure of a response with this status.
    pub fn status(status: StatusCode, retry_after: Option<Duration>) -> Self {
        let reason = match status.as_u16() {
            300..400 => Reason::Redirect,
            401 => Reason::Unauthorized,
            403 => Reason::Forbidden,
            404 => Reason::NotFound,
            429 => Reason::RateLimited,
            // Other attempts at these may succeed.
            408 | 409 | 425 | 499 | 500..600 => Reason::ServerError,
            400..500 => Reason::ClientError,
            // Without a body, such as 101.
            _ => Reason::NotJson,
        };
        let mut failure = Self::new(reason, format!("the API answered {status}"));
        failure.status = Some(status);
        failure.retry_after = retry_after.filter(|_| failure.is_refusal());
        failure
    }

    /// Returns whether the failure is transient: another attempt may succeed.
    pub fn is_momentary(&self) -> bool {
        matches!(
            self.reason,
            Reason::Timeout
                | Reason::Connect
                | Reason::Truncated
                | Reason::RateLimited
                | Reason::ServerError
        ) && self.status != Some(StatusCode::NOT_IMPLEMENTED)
    }

    /// Returns whether the API refused the request, perhaps because of its pace.
    pub fn is_refusal(&self) -> bool {
        self.reason == Reason::RateLimited || self.status == Some(StatusCode::SERVICE_UNAVAILABLE)
    }

    /// Returns the hold of all requests that Retry-After demands: that of a 429, or of the listing.
    pub fn hold(&self, is_of_listing: bool) -> Option<Duration> {
        let is_of_all = is_of_listing || self.reason == Reason::RateLimited;
        self.retry_after.filter(|_| is_of_all)
    }

    /// Returns the failure for people.
    pub fn told(&self) -> Failure {
        Failure::new(self.what.as_str(), self.hint)
    }
}

/// Returns the failure of a response whose status says that it has no data.
pub fn refused(
    url: &Url,
    status: StatusCode,
    headers: &HeaderMap,
    body: &[u8],
    key: &str,
) -> RequestFailure {
    let wait = retry_after::wait(headers);
    let is_limited = wait.is_some()
        || headers
            .get("x-ratelimit-remaining")
            .is_some_and(|remaining| remaining == "0");
    let meant = match status {
        // Large code hosts spell 429 like this.
        StatusCode::FORBIDDEN if is_limited => StatusCode::TOO_MANY_REQUESTS,
        _ => status,
    };
    let mut failure = RequestFailure::status(meant, wait);
    failure.what = format!("the API answered {status}");
    let is_html = body.trim_ascii_start().starts_with(b"<");
    if let Some(to) = location(url, headers)
        && status.is_redirection()
        && !to.contains(key)
    {
        failure.what = format!("{}, which points to {to:.200}", failure.what);
    } else if is_html {
        failure.what += " with a page of HTML";
    }
    if is_html && status.is_client_error() && !failure.is_momentary() {
        // A firewall, a login or a website answers in place of the API.
        failure.reason = Reason::NotJson;
        failure.hint = hint(Reason::NotJson);
    }
    failure
}

/// Returns the address that the API redirects to, without the parts that may hold secrets.
fn location(url: &Url, headers: &HeaderMap) -> Option<String> {
    let to = url.join(headers.get(LOCATION)?.to_str().ok()?).ok()?;
    Some(to.origin().ascii_serialization() + to.path())
}

/// Returns the hint for a failure of the listing, or of a repository.
pub fn hint(reason: Reason) -> &'static str {
    match reason {
        Reason::Timeout => "raise api.timeout, or check why the API is slow",
        Reason::Connect => "check host and port of api.base_url, its name in DNS, and the network",
        Reason::Tls => {
            "check the certificate of api.base_url; a private CA belongs in api.ca_file, and so \
             does a self-signed certificate, which has to be made with CA:FALSE (`openssl req \
             -x509 -addext basicConstraints=critical,CA:FALSE`)"
        }
        Reason::Redirect => {
            "redirects are not followed: set api.base_url to the API's own address, or check what \
             answers in its place, such as a login, a cache or a proxy"
        }
        Reason::Unauthorized => {
            "check the key in api.key_file or api.key, or create a new key in the account's \
             settings"
        }
        Reason::Forbidden => {
            "give the key's account access, or use the key of another account; filter.exclude \
             leaves a repository out"
        }
        Reason::NotFound => {
            "if this is the listing, check the host of api.base_url, and its path, which ends \
             before /v1; a repository may just have been removed, and filter.exclude leaves it out"
        }
        Reason::RateLimited => "lower api.requests_per_second or raise poll.interval",
        Reason::ClientError => {
            "check api.base_url, or lower api.page_size, the `limit` of the listing, if the API \
             allows less"
        }
        Reason::ServerError => "wait, or ask the API's operators: the API itself fails",
        Reason::TooLarge => {
            "lower api.page_size, which the listing has to obey; filter.exclude leaves out a \
             repository with too many languages"
        }
        Reason::Truncated => "check what cuts the API's answers short, such as a proxy",
        Reason::Decode => "update this exporter, or ask the API's operators: the API has changed",
        Reason::NotJson => {
            "check that api.base_url is the address of the API, not of a website or a proxy; a \
             login, a firewall or a maintenance page may answer in its place; if it is the API, \
             check the key"
        }
        Reason::Cursor => CURSOR_HINT,
    }
}

#[cfg(test)]
mod tests;
