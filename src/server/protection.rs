//! The layers around the routes: the requirements of HTTP on a request, and the web configuration
//! file's rate limit, authentication and headers.

use crate::server::{limit::RateLimit, web_config::WebConfigFile};
use axum::{
    Extension, Router,
    extract::{ConnectInfo, Request},
    http::{HeaderValue, StatusCode, Version, header, uri::Authority},
    middleware::{Next, from_fn},
    response::{IntoResponse, Response},
};
use std::{net::SocketAddr, sync::Arc};

/// Merges `covered` routes, behind rate limit and authentication, with `open` routes. Each request
/// is served under the web configuration file that its connection attached to it.
pub fn protect<S: Clone + Send + Sync + 'static>(covered: Router<S>, open: Router<S>) -> Router<S> {
    covered
        .layer(from_fn(admit))
        .merge(open)
        .layer(from_fn(require_http))
        .layer(from_fn(set_headers))
}

/// Refuses a request that breaks the rules of HTTP, and closes its connection: a proxy in between
/// may have understood it in another way.
async fn require_http(request: Request, next: Next) -> Response {
    match mistake(&request) {
        None => next.run(request).await,
        Some(refusal) => ([(header::CONNECTION, "close")], refusal).into_response(),
    }
}

/// Returns the mistake that hyper lets pass, if there is one (RFC 9112, 3.2 and 6.1; RFC 9110,
/// 10.1.1).
fn mistake(request: &Request) -> Option<(StatusCode, &'static str)> {
    let headers = request.headers();
    let is_host = |host: &HeaderValue| {
        let host = Authority::try_from(host.as_bytes());
        host.is_ok_and(|host| !host.as_str().contains('@'))
    };
    let mut hosts = headers.get_all(header::HOST).iter();
    let has_host = match (hosts.next(), hosts.next()) {
        (Some(host), None) => is_host(host),
        (None, _) => request.version() == Version::HTTP_10,
        _ => false,
    };
    let has_only = |name, value: &str| {
        let mut found = headers.get_all(name).iter();
        found.all(|one| one.as_bytes().eq_ignore_ascii_case(value.as_bytes()))
    };
    if !has_host {
        let message = "the request needs one header Host, with a valid name\n";
        Some((StatusCode::BAD_REQUEST, message))
    } else if !has_only(header::TRANSFER_ENCODING, "chunked") {
        let message = "a Transfer-Encoding can only be chunked\n";
        Some((StatusCode::NOT_IMPLEMENTED, message))
    } else if !has_only(header::EXPECT, "100-continue") {
        let message = "an Expect can only be 100-continue\n";
        Some((StatusCode::EXPECTATION_FAILED, message))
    } else {
        None
    }
}

async fn admit(
    Extension(file): Extension<Arc<WebConfigFile>>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    request: Request,
    next: Next,
) -> Response {
    // The rate limit precedes authentication: it slows down password guessing too.
    if let Some(Err(wait)) = file.rate_limit.as_ref().map(RateLimit::admit) {
        let seconds = wait.as_secs().saturating_add(1);
        let headers = [(header::RETRY_AFTER, seconds.to_string())];
        let message = "too many requests (rate_limit of the web configuration file)\n";
        return (StatusCode::TOO_MANY_REQUESTS, headers, message).into_response();
    }
    match file.users.verify(request.headers(), peer).await {
        Ok(()) => next.run(request).await,
        Err(status) => {
            let challenge = "Basic realm=\"translation-exporter\", charset=\"UTF-8\"";
            let (header, message) = match status {
                StatusCode::UNAUTHORIZED => (
                    (header::WWW_AUTHENTICATE, challenge),
                    "this path requires a user name and a password\n",
                ),
                _ => (
                    (header::RETRY_AFTER, "5"),
                    "too many passwords are waiting to be verified; try again\n",
                ),
            };
            (status, [header], message).into_response()
        }
    }
}

async fn set_headers(
    Extension(file): Extension<Arc<WebConfigFile>>,
    request: Request,
    next: Next,
) -> Response {
    let response = next.run(request).await;
    let headers = [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        // Responses may be private.
        (header::CACHE_CONTROL, "no-store"),
    ];
    let mut given = file.headers.clone();
    // A page with its own policy depends on it: another policy would strip its styles.
    if response
        .headers()
        .contains_key(header::CONTENT_SECURITY_POLICY)
    {
        given.remove(header::CONTENT_SECURITY_POLICY);
    }
    (headers, given, response).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::Body;

    #[test]
    fn a_request_needs_one_valid_host_and_plain_framing() {
        let ask = |version, headers: &[(&'static str, &str)]| {
            let mut request = Request::builder().version(version);
            for (name, value) in headers {
                request = request.header(*name, *value);
            }
            let mistake = mistake(&request.body(Body::empty()).unwrap());
            mistake.map_or(200, |(status, _)| status.as_u16())
        };
        let host = ("host", "localhost:10018");
        for (headers, status) in [
            (&[host][..], 200),
            (&[("host", "[::1]")], 200),
            (&[], 400),
            (&[("host", "a"), ("host", "a")], 400),
            (&[("host", "a b")], 400),
            (&[("host", "")], 400),
            (&[("host", "user@a")], 400),
            (&[host, ("transfer-encoding", "Chunked")], 200),
            (&[host, ("transfer-encoding", "identity, chunked")], 501),
            (
                &[
                    host,
                    ("transfer-encoding", "identity"),
                    ("transfer-encoding", "chunked"),
                ],
                501,
            ),
            (&[host, ("expect", "100-Continue")], 200),
            (&[host, ("expect", "a miracle")], 417),
        ] {
            assert_eq!(ask(Version::HTTP_11, headers), status, "{headers:?}");
        }
        assert_eq!(ask(Version::HTTP_10, &[]), 200);
    }
}
