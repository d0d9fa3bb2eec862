//! The routes of the web side: one handler each, and the layers around them.

use super::{
    middleware, page, scrape,
    state::{ReloadRequest, Site},
};
use crate::diagnosis;
use axum::{
    Router,
    extract::State,
    http::{Method, StatusCode},
    middleware::{from_fn_with_state, map_response_with_state},
    response::{IntoResponse, Response},
    routing::{get, put},
};
use std::sync::Arc;
use tokio::sync::oneshot;

/// The routes, as the settings and the web configuration file say.
pub fn router(site: &Arc<Site>) -> Router {
    let state = || Arc::clone(site);
    // Outside authentication and rate limit, for an orchestrator's probes.
    let probes = Router::new()
        .route("/-/healthy", get(async || "healthy\n"))
        .route("/-/ready", get(ready))
        .method_not_allowed_fallback(method_not_allowed);
    Router::new()
        .route("/", get(page::show))
        .route(&site.settings.telemetry_path, get(scrape::scrape))
        .route("/-/reload", put(reload).post(reload))
        .fallback(not_found)
        .method_not_allowed_fallback(method_not_allowed)
        .layer(from_fn_with_state(state(), middleware::authenticate))
        // Before authentication, so that it also slows down password guessing.
        .layer(from_fn_with_state(state(), middleware::limit_rate))
        .merge(probes)
        .layer(map_response_with_state(state(), middleware::set_headers))
        .layer(from_fn_with_state(state(), middleware::count))
        .with_state(state())
}

async fn not_found(State(site): State<Arc<Site>>) -> Response {
    let message = format!("nothing here; see / and {}\n", site.settings.telemetry_path);
    (StatusCode::NOT_FOUND, message).into_response()
}

/// The router adds the header that names the methods.
async fn method_not_allowed(method: Method) -> Response {
    let message = format!("{method} is not allowed here; see the header Allow\n");
    (StatusCode::METHOD_NOT_ALLOWED, message).into_response()
}

async fn reload(State(site): State<Arc<Site>>) -> Response {
    if !site.settings.enable_lifecycle {
        let message = "reloading over HTTP is disabled; set web.enable_lifecycle, or send SIGHUP\n";
        return (StatusCode::FORBIDDEN, message).into_response();
    }
    let (answer, answered) = oneshot::channel();
    // If the request cannot be sent, neither can an answer.
    let request = ReloadRequest::Asked(answer);
    site.shared.reload.send(request).await.ok();
    match answered.await {
        Ok(Ok(())) => "reloaded\n".into_response(),
        Ok(Err(message)) => {
            (StatusCode::INTERNAL_SERVER_ERROR, format!("{message}\n")).into_response()
        }
        Err(_) => {
            let message = "the exporter is stopping\n";
            (StatusCode::SERVICE_UNAVAILABLE, message).into_response()
        }
    }
}

async fn ready(State(site): State<Arc<Site>>) -> Response {
    let published = site.published();
    if published.status.has_data {
        return "ready\n".into_response();
    }
    let findings = site.findings(&published);
    let mut message = "not ready".to_owned();
    if let Some(finding) = diagnosis::why_not_ready(&findings) {
        message = format!("{message}: {}", finding.line());
        if let Some(since) = finding.since {
            message = format!("{message} (since {since})");
        }
    }
    if let Some(at) = published.status.next_poll_at() {
        message = format!("{message}; the next poll begins at {at}");
    }
    (StatusCode::SERVICE_UNAVAILABLE, message + "\n").into_response()
}

#[cfg(test)]
mod tests {
    use super::super::state::ReloadRequest;
    use super::super::testing::{Fixture, body, status};
    use crate::domain::snapshot::{Activity, PollOutcome, Running, Step};
    use crate::{
        domain::{Failure, PollFailure, Stop},
        support::clock::Timestamp,
    };
    use std::time::Duration;

    #[tokio::test]
    async fn what_is_served_where_and_by_which_method() {
        let fixture = Fixture::new();
        let cases = [
            ("GET /", 200, ""),
            ("HEAD /", 200, ""),
            ("POST /", 405, "GET,HEAD"),
            ("GET /metrics", 200, ""),
            ("HEAD /metrics", 200, ""),
            ("DELETE /metrics", 405, "GET,HEAD"),
            ("GET /metrics/", 404, ""),
            ("GET /-/healthy", 200, ""),
            ("OPTIONS /-/healthy", 405, "GET,HEAD"),
            ("GET /-/ready", 200, ""),
            ("PUT /-/ready", 405, "GET,HEAD"),
            ("GET /-/reload", 405, "PUT,POST"),
            ("HEAD /-/reload", 405, "PUT,POST"),
            ("POST /-/reload", 403, ""),
            ("GET /favicon.ico", 404, ""),
            ("GET //metrics", 404, ""),
        ];
        for (request, status, allow) in cases {
            let response = fixture.ask(request).await;
            let allowed = response
                .headers()
                .get("allow")
                .map_or("", |allow| allow.to_str().unwrap());
            assert_eq!(
                (response.status().as_u16(), allowed),
                (status, allow),
                "{request}"
            );
            assert_eq!(
                response.headers()["x-content-type-options"],
                "nosniff",
                "{request}"
            );
            assert_eq!(response.headers()["cache-control"], "no-store", "{request}");
        }
    }

    #[tokio::test]
    async fn the_metrics_are_where_the_configuration_says_and_a_reload_moves_them_at_once() {
        let mut fixture = Fixture::new();
        fixture.settings.telemetry_path = "/a/b.c~d//".to_owned();
        fixture.reload();
        assert_eq!(status(&fixture.ask("GET /a/b.c~d//").await), 200);
        let response = fixture.ask("GET /metrics").await;
        assert_eq!(status(&response), 404);
        assert_eq!(body(response).await, "nothing here; see / and /a/b.c~d//\n");
    }

    #[tokio::test]
    async fn a_head_request_gets_the_headers_without_the_body() {
        let fixture = Fixture::new();
        for path in ["/", "/metrics", "/-/healthy", "/-/ready", "/nothing"] {
            let get = fixture.ask(&format!("GET {path}")).await;
            let head = fixture.ask(&format!("HEAD {path}")).await;
            assert_eq!(
                head.headers()["content-type"],
                get.headers()["content-type"],
                "{path}"
            );
            assert_eq!(
                head.headers().get("vary"),
                get.headers().get("vary"),
                "{path}"
            );
            assert_ne!(
                head.headers()["content-length"],
                "0",
                "{path}: the length is that of the answer to GET"
            );
            assert_eq!(body(head).await, "", "{path}");
        }
    }

    #[tokio::test]
    async fn requests_are_counted_by_the_path_that_matched_and_everything_else_as_other() {
        let fixture = Fixture::new();
        for request in [
            "GET /",
            "POST /",
            "GET /metrics?x",
            "GET /-/ready",
            "GET /nowhere",
            "PUT /nothing",
        ] {
            fixture.ask(request).await;
        }
        let text = body(fixture.ask("GET /metrics").await).await;
        for (path, code, count) in [
            ("/", 200, 1),
            ("/", 405, 1),
            ("/metrics", 200, 1),
            ("/-/ready", 200, 1),
            ("other", 404, 2),
        ] {
            let line = format!("http_requests_total{{path=\"{path}\",code=\"{code}\"}} {count}\n");
            assert!(text.contains(&line), "{line}{text}");
        }
    }

    #[tokio::test]
    async fn readiness_says_why_there_are_no_data() {
        let mut fixture = Fixture::new();
        fixture.publish(|status| status.has_data = false);
        assert_eq!(
            body(fixture.ask("GET /-/ready").await).await,
            "not ready: The first poll has not ended yet; nothing to do: wait for the poll to end\n"
        );
        fixture.publish(|status| {
            status.activity = Activity::Polling(Running {
                since: Timestamp::from_millis(0),
                step: Step::Listing { shown: 0 },
            });
        });
        assert_eq!(
            body(fixture.ask("GET /-/ready").await).await,
            "not ready: The first poll has not ended yet; nothing to do: wait for the poll to end (since 1970-01-01T00:00:00Z)\n"
        );
        let failure = Failure::new(
            Timestamp::from_millis(0),
            "GET /v1/repositories: 401 Unauthorized",
            "check api.key_file",
        );
        fixture.publish(|status| {
            status.activity = Activity::Waiting(Some(Timestamp::from_millis(300_000)));
            status.last = Some(PollOutcome {
                ended_at: Timestamp::from_millis(1000),
                duration: Duration::from_secs(1),
                listing: Some(failure.clone()),
                stop: Some(Stop {
                    reason: PollFailure::Unauthorized,
                    failure,
                }),
                read: 0,
                failed: 0,
                unreached: 0,
                postponed: 0,
            });
        });
        assert_eq!(
            body(fixture.ask("GET /-/ready").await).await,
            "not ready: The API refuses the key; there are no data to show: \
             GET /v1/repositories: 401 Unauthorized; check api.key_file (since 1970-01-01T00:00:00Z); the next poll begins at \
             1970-01-01T00:05:00Z\n"
        );
        fixture.publish(|status| status.has_data = true);
        assert_eq!(
            body(fixture.ask("GET /-/ready").await).await,
            "ready\n",
            "data from before are data"
        );
    }

    #[tokio::test]
    async fn a_reload_is_asked_for_only_where_it_is_allowed_and_its_outcome_is_the_answer() {
        let mut fixture = Fixture::new();
        let mut reloads = fixture.reloads.take().unwrap();
        fixture.settings.enable_lifecycle = true;
        fixture.reload();
        for (outcome, status, text) in [
            (Ok(()), 200, "reloaded\n"),
            (
                Err("poll.interval: too short".to_owned()),
                500,
                "poll.interval: too short\n",
            ),
        ] {
            let answer = async {
                match reloads.recv().await {
                    Some(ReloadRequest::Asked(answer)) => answer.send(outcome).unwrap(),
                    other => panic!("{other:?}"),
                }
            };
            let (response, ()) = tokio::join!(fixture.ask("POST /-/reload"), answer);
            assert_eq!(response.status().as_u16(), status);
            assert_eq!(body(response).await, text);
        }
        drop(reloads);
        assert_eq!(status(&fixture.ask("PUT /-/reload").await), 503);
    }
}
