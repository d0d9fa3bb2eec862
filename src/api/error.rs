//! The failures of requests to the API.

use super::retry_after;
use crate::{
    domain::{Failure, Operation, Reason},
    support::{clock::Timestamp, escape::printable},
};
use reqwest::{
    StatusCode, Url,
    header::{HeaderMap, LOCATION},
};
use serde::Deserialize;
use std::{borrow::Cow, time::Duration};

/// The hint for a listing with a bad cursor.
pub const CURSOR_HINT: &str = "the listing of the API is broken: report it to the API's operators";

/// The longest text of the API that a message quotes, in characters.
const LONGEST_QUOTE: usize = 200;

/// The failure of one request. It never quotes the key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestFailure {
    pub reason: Reason,
    /// The failure in words, such as `the API answered 503 Service Unavailable`.
    pub what: String,
    /// The next step for the operator.
    pub hint: Cow<'static, str>,
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
            Reason::Timeout | Reason::Connect | Reason::Truncated | Reason::RateLimited
        );
        Self {
            reason,
            what: what.into(),
            hint: hint(reason).into(),
            is_momentary,
            status: None,
            hold: None,
        }
    }

    #[must_use]
    pub fn hint(self, hint: impl Into<Cow<'static, str>>) -> Self {
        let hint = hint.into();
        Self { hint, ..self }
    }

    /// Creates the failure of a response with this status. Only 429 and 503 can hold requests.
    pub fn status(status: StatusCode, retry_after: Option<Duration>) -> Self {
        let reason = match status.as_u16() {
            300..400 => Reason::Redirect,
            401 => Reason::Unauthorized,
            403 => Reason::Forbidden,
            404 => Reason::NotFound,
            429 => Reason::RateLimited,
            400..500 => Reason::ClientError,
            500..600 => Reason::ServerError,
            // Without a body, such as 101.
            _ => Reason::NotJson,
        };
        let is_momentary = match status.as_u16() {
            501 => false,
            code => matches!(code, 408 | 409 | 425 | 429 | 499 | 500..600),
        };
        let failure = Self {
            is_momentary,
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
        self.reason == Reason::RateLimited || self.status == Some(StatusCode::SERVICE_UNAVAILABLE)
    }

    /// Returns the failure for people, dated to `since`.
    pub fn dated(&self, since: Timestamp) -> Failure {
        Failure {
            reason: Some(self.reason),
            ..Failure::new(self.what.as_str(), self.hint.clone(), since)
        }
    }
}

/// A response whose status says that it has no data.
#[derive(Debug)]
pub struct Refused<'a> {
    pub operation: Operation,
    pub url: &'a Url,
    pub status: StatusCode,
    pub headers: &'a HeaderMap,
    /// The beginning of the body.
    pub body: &'a [u8],
    /// The key, which no message quotes.
    pub key: &'a str,
}

/// The body of an error, as most APIs write it.
#[derive(Debug, Deserialize)]
struct ErrorBody {
    message: String,
}

impl Refused<'_> {
    pub fn failure(&self) -> RequestFailure {
        let wait = retry_after::wait(self.headers);
        let mut failure = RequestFailure::status(self.status, wait);
        if self.body.trim_ascii_start().starts_with(b"<") {
            failure.what += " with a page of HTML";
            blame_for_html(&mut failure);
        } else if let Some(message) = self.message() {
            failure.what = format!("{}: {message}", failure.what);
        }
        if self.status == StatusCode::FORBIDDEN && self.is_quota(wait) {
            // Large code hosts spell 429 like this.
            let what = failure.what + " because of its rate limit";
            failure = RequestFailure {
                hold: wait,
                ..RequestFailure::new(Reason::RateLimited, what)
            };
        } else if self.status.is_redirection() {
            self.redirect(&mut failure);
        } else if let Some(hint) = self.remedy(failure.reason) {
            failure.hint = hint.into();
        }
        failure
    }

    fn is_quota(&self, wait: Option<Duration>) -> bool {
        let remaining = self.headers.get("x-ratelimit-remaining");
        wait.is_some() || remaining.is_some_and(|remaining| remaining == "0")
    }

    /// Returns the message in the body, quoted.
    fn message(&self) -> Option<String> {
        let ErrorBody { message } = serde_json::from_slice(self.body).ok()?;
        let is_shown = self.status.is_client_error() && !message.contains(self.key);
        is_shown.then(|| quoted(&message))
    }

    /// Names the address that the API redirects to, without the parts that may hold secrets.
    fn redirect(&self, failure: &mut RequestFailure) {
        let location = self.headers.get(LOCATION).and_then(|to| to.to_str().ok());
        let Some(to) = location.and_then(|to| self.url.join(to).ok()) else {
            failure.hint = "check what answers in place of the API, such as a cache or a proxy: \
                            a request without a condition gets no 3xx without an address"
                .into();
            return;
        };
        let shown = format!("{}{}", to.origin().ascii_serialization(), to.path());
        if !shown.contains(self.key) {
            failure.what = format!("{}, which points to {}", failure.what, quoted(&shown));
        }
        let path = self.url.path();
        let end = path.rfind("/v1/repositories").map(|at| &path[at..]);
        if let Some(base) = end.and_then(|end| shown.strip_suffix(end))
            && !base.contains(self.key)
            && base.len() <= LONGEST_QUOTE
        {
            failure.hint = format!("set api.base_url to {}", printable(base)).into();
        }
    }

    /// Returns the remedy where another one than that of its reason is likely.
    fn remedy(&self, reason: Reason) -> Option<&'static str> {
        let is_listing = self.operation == Operation::ListRepositories;
        match reason {
            Reason::NotJson | Reason::ClientError
                if self.url.scheme() == "http" && self.status == StatusCode::BAD_REQUEST =>
            {
                Some(
                    "begin api.base_url with https:// if this port expects TLS; otherwise check \
                     api.page_size and whether the API has changed",
                )
            }
            Reason::ClientError if is_listing => Some(
                "lower api.page_size, which is the `limit` of the listing, if the API allows less; \
                 otherwise check api.base_url and whether the API has changed",
            ),
            Reason::NotFound if is_listing => Some(
                "set api.base_url to the part before /v1 in the API's addresses, and check its host",
            ),
            Reason::Forbidden if is_listing => {
                Some("give the key's account access to the API, or use the key of another account")
            }
            _ => None,
        }
    }
}

/// Blames a page of HTML on whatever answers in place of the API.
fn blame_for_html(failure: &mut RequestFailure) {
    let reason = Reason::NotJson;
    match failure.reason {
        Reason::Unauthorized | Reason::Forbidden => {
            failure.hint = "check api.base_url and what answers in place of the API, such as \
                            a firewall, a login or a proxy; if it is the API, check the key"
                .into();
        }
        Reason::NotFound | Reason::ClientError => failure.hint = hint(reason).into(),
        _ => return,
    }
    failure.reason = reason;
}

/// Quotes a text of the API: escaped, and cut at [`LONGEST_QUOTE`].
pub fn quoted(text: &str) -> String {
    let mut cut: String = text.chars().take(LONGEST_QUOTE).collect();
    if cut.len() < text.len() {
        cut.push('…');
    }
    printable(&format!("{cut:?}"))
}

fn hint(reason: Reason) -> &'static str {
    match reason {
        Reason::Timeout => "raise api.timeout, or check why the API is slow",
        Reason::Connect => "check api.base_url and the network",
        Reason::Tls => {
            "check the certificate of api.base_url; a private CA belongs in api.ca_file, and so \
             does a self-signed certificate, which has to be made with CA:FALSE (`openssl req \
             -x509 -addext basicConstraints=critical,CA:FALSE`)"
        }
        Reason::Redirect => {
            "redirects are not followed: check api.base_url, and what answers in place of the API, \
             such as a login or a proxy"
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
            "lower api.page_size for the listing; leave a repository with more than 1 MiB of \
             languages out with filter.exclude"
        }
        Reason::Truncated => "check what cuts the API's answers short, such as a proxy",
        Reason::Decode => "update this exporter, or ask the API's operators: the API has changed",
        Reason::NotJson => {
            "check that api.base_url is the address of the API, not of a website or a proxy; a \
             login, a firewall or a maintenance page may answer in its place"
        }
        Reason::Cursor => CURSOR_HINT,
    }
}

#[cfg(test)]
mod tests;
