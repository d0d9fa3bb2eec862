//! The layers around the routes: the web configuration file's rate limit, authentication and
//! headers, and the refusal of malformed requests.

use crate::server::{limit::RateLimit, web_config::WebConfigFile};
use axum::{
    Extension, Router,
    extract::{ConnectInfo, Request},
    http::{HeaderMap, StatusCode, Version, header, uri::Authority},
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
        .layer(from_fn(refuse_malformed))
        .layer(from_fn(set_headers))
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
    if file.users.admit(request.headers(), peer).await {
        return next.run(request).await;
    }
    let challenge = "Basic realm=\"translation-exporter\", charset=\"UTF-8\"";
    let message = "this path requires a user name and a password\n";
    let headers = [(header::WWW_AUTHENTICATE, challenge)];
    (StatusCode::UNAUTHORIZED, headers, message).into_response()
}

/// Refuses what hyper lets pass and Go's server refuses. The connection ends then, because its
/// next bytes may be read differently by a proxy in between.
async fn refuse_malformed(request: Request, next: Next) -> Response {
    match malformed(request.version(), request.headers()) {
        None => next.run(request).await,
        Some((status, why)) => (status, [(header::CONNECTION, "close")], why).into_response(),
    }
}

/// Returns the status and the body that refuse a malformed request.
fn malformed(version: Version, headers: &HeaderMap) -> Option<(StatusCode, &'static str)> {
    let differs = |name, only: &str| {
        let mut values = headers.get_all(name).iter();
        values.any(|value| !value.as_bytes().eq_ignore_ascii_case(only.as_bytes()))
    };
    let mut hosts = headers.get_all(header::HOST).iter().map(|host| {
        let authority = Authority::try_from(host.as_bytes());
        host.is_empty() || authority.is_ok_and(|host| !host.as_str().contains('@'))
    });
    if !hosts.next().unwrap_or(version == Version::HTTP_10) || hosts.next().is_some() {
        return Some((StatusCode::BAD_REQUEST, "one valid Host is required\n"));
    }
    if differs(header::EXPECT, "100-continue") {
        return Some((StatusCode::EXPECTATION_FAILED, "unknown Expect\n"));
    }
    let is_unknown = differs(header::TRANSFER_ENCODING, "chunked");
    is_unknown.then_some((StatusCode::NOT_IMPLEMENTED, "unknown Transfer-Encoding\n"))
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
