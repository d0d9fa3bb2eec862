//! The web configuration file as layers around the routes: rate limit, authentication and headers.

use crate::server::{
    auth::{PasswordVerifier, Verdict},
    departed::ClientDeparture,
    limit::Bucket,
    policy,
    supervisor::client_of,
    web_config::WebConfigFile,
};
use axum::{
    Extension, Router,
    extract::{ConnectInfo, Request, State},
    http::{StatusCode, Version, header, uri::Authority},
    middleware::{Next, from_fn, from_fn_with_state, map_response_with_state},
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
            .layer(from_fn(require_host))
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
    Extension(departed): Extension<ClientDeparture>,
    request: Request,
    next: Next,
) -> Response {
    let users = &protection.file.users;
    let verdict = protection
        .verifier
        .verify(users, request.headers(), client_of(peer));
    // A client that has left loses its place in the queue.
    let verdict = tokio::select! {
        biased;
        verdict = verdict => verdict,
        () = departed.wait() => Verdict::Busy,
    };
    match verdict {
        Verdict::Admitted => next.run(request).await,
        Verdict::Refused => {
            let challenge = "Basic realm=\"translation-exporter\", charset=\"UTF-8\"";
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

/// Refuses HTTP/1.1 requests without exactly one valid Host header (RFC 9112, 3.2).
async fn require_host(request: Request, next: Next) -> Response {
    let mut hosts = request.headers().get_all(header::HOST).iter();
    let is_valid = match (hosts.next(), hosts.next()) {
        (Some(host), None) => host.is_empty() || host.to_str().is_ok_and(is_host),
        (Some(_), Some(_)) => false,
        (None, _) => request.version() < Version::HTTP_11,
    };
    if is_valid {
        return next.run(request).await;
    }
    let message = "send exactly one valid Host header\n";
    (StatusCode::BAD_REQUEST, message).into_response()
}

/// Returns true for a host with an optional port and without user information.
fn is_host(text: &str) -> bool {
    !text.contains('@') && text.parse::<Authority>().is_ok()
}

async fn set_headers(State(protection): State<Arc<Protection>>, response: Response) -> Response {
    let headers = [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        // Responses may be private.
        (header::CACHE_CONTROL, "no-store"),
    ];
    let mut given = protection.file.headers.clone();
    let name = header::CONTENT_SECURITY_POLICY;
    if let (Some(given_policy), Some(own)) = (given.get(&name), response.headers().get(&name))
        && !policy::permits_styles(given_policy, own)
    {
        given.remove(name);
    }
    (headers, given, response).into_response()
}
