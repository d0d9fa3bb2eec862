//! The web configuration file as layers around the routes: rate limit, authentication and headers.

use crate::server::{
    auth::{Verdict, Verifier},
    departed::Departed,
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

/// A web configuration file, with what outlives it: a reload forgets no verified password and grants
/// no new burst.
#[derive(Debug, Default)]
pub struct Protection {
    pub file: WebConfigFile,
    bucket: Arc<Bucket>,
    verifier: Arc<Verifier>,
}

impl Protection {
    /// Protects by `file`.
    pub fn new(file: WebConfigFile) -> Arc<Self> {
        Self::default().renewed(file)
    }

    /// Returns the protection by `file` that follows this one.
    pub fn renewed(&self, file: WebConfigFile) -> Arc<Self> {
        Arc::new(Self {
            file,
            bucket: Arc::clone(&self.bucket),
            verifier: Arc::clone(&self.verifier),
        })
    }

    /// Joins routes that authentication and rate limit cover with `open` ones, which they spare.
    pub fn layer<S: Clone + Send + Sync + 'static>(
        self: &Arc<Self>,
        covered: Router<S>,
        open: Router<S>,
    ) -> Router<S> {
        let state = || Arc::clone(self);
        covered
            .layer(from_fn_with_state(state(), authenticate))
            // Before authentication, so that it also slows down password guessing.
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
    Extension(departed): Extension<Departed>,
    request: Request,
    next: Next,
) -> Response {
    let users = &protection.file.users;
    let verdict = protection
        .verifier
        .verify(users, request.headers(), client_of(peer));
    // A client that has left keeps no place in the queue.
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
            let message = "give a user and a password\n";
            (StatusCode::UNAUTHORIZED, headers, message).into_response()
        }
        Verdict::Busy => {
            let message = "too many passwords are waiting to be verified; try again\n";
            (StatusCode::SERVICE_UNAVAILABLE, message).into_response()
        }
    }
}

/// Refuses a request over HTTP/1.1 that names no host, several or an invalid one (RFC 9112, 3.2).
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
    let message = "give one valid header Host\n";
    (StatusCode::BAD_REQUEST, message).into_response()
}

/// Whether it is a host with or without a port, and without a user.
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
