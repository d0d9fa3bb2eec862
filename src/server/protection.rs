//! The web configuration file as layers around the routes: rate limit, authentication and headers.

use crate::server::{limit::RateLimit, web_config::WebConfigFile};
use axum::{
    Router,
    extract::{ConnectInfo, Request, State},
    http::{StatusCode, header},
    middleware::{Next, from_fn_with_state, map_response_with_state},
    response::{IntoResponse, Response},
};
use std::{net::SocketAddr, sync::Arc};

/// Merges `covered` routes, behind rate limit and authentication, with `open` routes.
pub fn protect<S: Clone + Send + Sync + 'static>(
    file: &Arc<WebConfigFile>,
    covered: Router<S>,
    open: Router<S>,
) -> Router<S> {
    covered
        .layer(from_fn_with_state(Arc::clone(file), admit))
        .merge(open)
        .layer(map_response_with_state(Arc::clone(file), set_headers))
}

async fn admit(
    State(file): State<Arc<WebConfigFile>>,
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

async fn set_headers(State(file): State<Arc<WebConfigFile>>, response: Response) -> Response {
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
