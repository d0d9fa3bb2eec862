//! The layers around the handlers: rate limit, authentication, headers, and counting.

use crate::{
    server::{auth::Verdict, fair_share::client_of},
    web::state::Site,
};
use axum::{
    extract::{ConnectInfo, MatchedPath, Request, State},
    http::{StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use std::{net::SocketAddr, sync::Arc};

pub async fn limit_rate(State(site): State<Arc<Site>>, request: Request, next: Next) -> Response {
    if let Some(limit) = site.file.rate_limit
        && let Err(wait) = site.shared.bucket.admit(limit)
    {
        let seconds = wait.as_secs().saturating_add(1);
        let headers = [(header::RETRY_AFTER, seconds.to_string())];
        let message = "too many requests (rate_limit of the web configuration file)\n";
        return (StatusCode::TOO_MANY_REQUESTS, headers, message).into_response();
    }
    next.run(request).await
}

pub async fn authenticate(
    State(site): State<Arc<Site>>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    request: Request,
    next: Next,
) -> Response {
    let verifier = &site.shared.verifier;
    let verdict = verifier.verify(&site.file.users, request.headers(), client_of(peer));
    match verdict.await {
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

pub async fn set_headers(State(site): State<Arc<Site>>, response: Response) -> Response {
    let headers = [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        // Repository names may be private.
        (header::CACHE_CONTROL, "no-store"),
    ];
    (headers, site.file.headers.clone(), response).into_response()
}

pub async fn count(
    State(site): State<Arc<Site>>,
    path: Option<MatchedPath>,
    request: Request,
    next: Next,
) -> Response {
    let response = next.run(request).await;
    let path = path.as_ref().map_or("other", MatchedPath::as_str);
    let code = response.status().as_u16();
    site.shared.instruments.http_request(path, code);
    response
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Fixture, body, status};

    const USERS_AND_MORE: &str = "basic_auth_users: {alice: HASH}\nrate_limit: {interval: 1h, burst: 2}\n\
        http_server_config: {headers: {X-Frame-Options: deny}}\n";

    fn protected() -> Fixture {
        let mut fixture = Fixture::new();
        fixture.web_config(&USERS_AND_MORE.replace("HASH", &bcrypt::hash("correct", 4).unwrap()));
        fixture
    }

    #[tokio::test]
    async fn everything_except_the_probes_requires_a_password_and_counts_against_the_rate_limit() {
        let fixture = protected();
        for path in ["/-/healthy", "/-/ready", "/-/healthy"] {
            assert_eq!(
                status(&fixture.ask(&format!("GET {path}")).await),
                200,
                "{path}"
            );
        }
        let refused = fixture.ask("GET /nothing").await;
        assert_eq!(status(&refused), 401);
        assert_eq!(refused.headers()["x-frame-options"], "deny");
        assert_eq!(
            refused.headers()["www-authenticate"],
            "Basic realm=\"translation-exporter\", charset=\"UTF-8\""
        );
        assert_eq!(status(&fixture.ask("POST /metrics").await), 401);
        let limited = fixture.ask("GET /").await;
        assert_eq!(
            (
                status(&limited),
                limited.headers().contains_key("retry-after")
            ),
            (429, true)
        );
        assert_eq!(status(&fixture.ask("POST /-/healthy").await), 405);
    }

    #[tokio::test]
    async fn a_reload_gives_no_new_burst() {
        let fixture = protected();
        for code in [401, 401, 429] {
            assert_eq!(status(&fixture.ask("GET /metrics").await), code);
        }
        fixture.reload();
        let response = fixture.ask("GET /metrics").await;
        assert_eq!(status(&response), 429);
        assert_eq!(
            body(response).await,
            "too many requests (rate_limit of the web configuration file)\n"
        );
    }
}
