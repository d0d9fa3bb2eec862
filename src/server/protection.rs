//! The layers around the routes: the web configuration file's rate limit, authentication and
//! headers.

use crate::server::{limit::RateLimit, web_config::WebConfigFile};
use axum::{
    Extension, Router,
    extract::Request,
    http::{StatusCode, header},
    middleware::{Next, from_fn},
    response::{IntoResponse, Response},
};
use std::sync::Arc;

/// Merges `covered` routes, behind rate limit and authentication, with `open` routes. Each request
/// is served under the web configuration file that its connection attached to it.
pub fn protect<S: Clone + Send + Sync + 'static>(covered: Router<S>, open: Router<S>) -> Router<S> {
    covered
        .layer(from_fn(admit))
        .merge(open)
        .layer(from_fn(set_headers))
}

async fn admit(
    Extension(file): Extension<Arc<WebConfigFile>>,
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
    if file.users.admit(request.headers()).await {
        return next.run(request).await;
    }
    let challenge = "Basic realm=\"translation-exporter\", charset=\"UTF-8\"";
    let message = "this path requires a user name and a password\n";
    let headers = [(header::WWW_AUTHENTICATE, challenge)];
    (StatusCode::UNAUTHORIZED, headers, message).into_response()
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
    // A page depends on its own policy: another one would strip its styles.
    let own = response.headers().clone();
    (headers, file.headers.clone(), own, response).into_response()
}
