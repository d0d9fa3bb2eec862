//! The web configuration file as layers around the routes: rate limit, authentication and headers.

use crate::server::{
    auth::{PasswordVerifier, Verdict},
    limit::Bucket,
    web_config::WebConfigFile,
};
use axum::{
    Router,
    extract::{ConnectInfo, Request, State},
    http::{StatusCode, header},
    middleware::{Next, from_fn_with_state, map_response_with_state},
    response::{IntoResponse, Response},
};
use std::{net::SocketAddr, sync::Arc};

/// A web configuration file with the verifier and the token bucket, which outlive it: a reload
/// keeps verified passwords and grants no new burst.
#[derive(Debug, Default)]
pub struct Protection {
    pub file: WebConfigFile,
    bucket: Arc<Bucket>,
    verifier: Arc<PasswordVerifier>,
}

impl Protection {
    /// Returns the first protection, configured by `file`.
    pub fn new(file: WebConfigFile) -> Arc<Self> {
        Self::default().renewed(file)
    }

    /// Returns the next protection, configured by `file`. It shares verifier and bucket with this
    /// one.
    pub fn renewed(&self, file: WebConfigFile) -> Arc<Self> {
        Arc::new(Self {
            file,
            bucket: Arc::clone(&self.bucket),
            verifier: Arc::clone(&self.verifier),
        })
    }

    /// Merges `covered` routes, behind rate limit and authentication, with `open` routes.
    pub fn layer<S: Clone + Send + Sync + 'static>(
        self: &Arc<Self>,
        covered: Router<S>,
        open: Router<S>,
    ) -> Router<S> {
        let state = || Arc::clone(self);
        covered
            .layer(from_fn_with_state(state(), authenticate))
            // The rate limit precedes authentication: it slows down password guessing too.
            .layer(from_fn_with_state(state(), limit_rate))
            .merge(open)
            .layer(map_response_with_state(state(), set_headers))
    }
}

async fn limit_rate(
    State(protection): State<Arc<Protection>>,
    request: Request,
    next: Next,
) -> Response {
    if let Some(limit) = protection.file.rate_limit
        && let Err(wait) = protection.bucket.admit(limit)
    {
        let seconds = wait.as_secs().saturating_add(1);
        let headers = [(header::RETRY_AFTER, seconds.to_string())];
        let message = "too many requests (rate_limit of the web configuration file)\n";
        return (StatusCode::TOO_MANY_REQUESTS, headers, message).into_response();
    }
    next.run(request).await
}

async fn authenticate(
    State(protection): State<Arc<Protection>>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    request: Request,
    next: Next,
) -> Response {
    let users = &protection.file.users;
    let verdict = protection.verifier.verify(users, request.headers(), peer);
    match verdict.await {
        Verdict::Admitted => next.run(request).await,
        Verdict::Refused => {
            let challenge = concat!(
                "Basic realm=\"",
                env!("CARGO_PKG_NAME"),
                "\", charset=\"UTF-8\""
            );
            let headers = [(header::WWW_AUTHENTICATE, challenge)];
            let message = "this path requires a user name and a password\n";
            (StatusCode::UNAUTHORIZED, headers, message).into_response()
        }
        Verdict::Busy => {
            let message = "too many passwords are waiting to be verified; try again\n";
            (StatusCode::SERVICE_UNAVAILABLE, message).into_response()
        }
    }
}

async fn set_headers(State(protection): State<Arc<Protection>>, response: Response) -> Response {
    let headers = [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        // Responses may be private.
        (header::CACHE_CONTROL, "no-store"),
    ];
    let mut given = protection.file.headers.clone();
    // A page that has a policy was made for it: another one would strip its styles.
    if response
        .headers()
        .contains_key(header::CONTENT_SECURITY_POLICY)
    {
        given.remove(header::CONTENT_SECURITY_POLICY);
    }
    (headers, given, response).into_response()
}
