//! The routes of the exporter: one handler each.

use super::{page, scrape, state::AppState, translations};
use crate::{diagnosis, metrics::instruments::OfPath, server::protect, support::humanize::rough};
use axum::{
    Router,
    extract::{MatchedPath, Request, State},
    http::StatusCode,
    middleware::{Next, from_fn_with_state},
    response::Response,
    routing::get,
};
use std::{sync::Arc, time::Duration};
use tower_http::{CompressionLevel, compression::CompressionLayer};

/// The longest pause between heartbeats. The task that polls sends one every few seconds, even
/// while it waits.
const LONGEST_SILENCE: Duration = Duration::from_secs(60);

/// Returns the routes behind the web configuration file. An orchestrator's probes need no password
/// and pass the rate limit.
pub fn router(state: &Arc<AppState>) -> Router {
    let probes = Router::new()
        .route("/-/healthy", get(healthy))
        .route("/-/ready", get(ready));
    let covered = Router::new()
        .route("/", get(page::show))
        .layer(CompressionLayer::new().quality(CompressionLevel::Fastest))
        .route("/translations.json", get(translations::json))
        .route("/translations.csv", get(translations::csv))
        .route(&state.telemetry_path, get(scrape::scrape))
        .fallback(not_found);
    protect(covered, probes)
        .layer(from_fn_with_state(Arc::clone(state), count))
        .with_state(Arc::clone(state))
}

/// Counts requests by the matched path.
async fn count(
    State(state): State<Arc<AppState>>,
    path: Option<MatchedPath>,
    request: Request,
    next: Next,
) -> Response {
    let response = next.run(request).await;
    let path = path.as_ref().map_or("other", MatchedPath::as_str);
    let labels = OfPath {
        path: path.into(),
        code: response.status().as_str().to_owned(),
    };
    state.instruments.http_requests.get_or_create(&labels).inc();
    response
}

async fn not_found() -> (StatusCode, &'static str) {
    (StatusCode::NOT_FOUND, "nothing here; see /\n")
}

type Probe = Result<&'static str, (StatusCode, String)>;

/// Responds according to the heartbeat that also feeds systemd's watchdog.
async fn healthy(State(state): State<Arc<AppState>>) -> Probe {
    let silence = state.alive.borrow().elapsed();
    if silence <= LONGEST_SILENCE {
        return Ok("healthy\n");
    }
    let message = format!(
        "not healthy: the task that polls has sent no heartbeat for {}; restart the exporter\n",
        rough(silence)
    );
    Err((StatusCode::SERVICE_UNAVAILABLE, message))
}

async fn ready(State(state): State<Arc<AppState>>) -> Probe {
    let current = state.current();
    let document = &current.document;
    if document.status.has_data {
        return Ok("ready\n");
    }
    let mut message = format!("not ready: {}", diagnosis::progress(document));
    for finding in &current.findings {
        message = format!("{message}\n{}", finding.line());
    }
    Err((StatusCode::SERVICE_UNAVAILABLE, message + "\n"))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Fixture, body, status};
    use crate::domain::polling::PollOutcome;
    use crate::{
        domain::{PollFailure, Stop},
        support::hint::Failure,
    };
    use std::{collections::BTreeSet, time::Duration};

    #[tokio::test(start_paused = true)]
    async fn it_is_healthy_while_the_task_that_polls_sends_heartbeats() {
        let fixture = Fixture::new();
        fixture.alive.send_replace(tokio::time::Instant::now());
        tokio::time::advance(Duration::from_secs(60)).await;
        assert_eq!(status(&fixture.ask("GET /-/healthy").await), 200);
        tokio::time::advance(Duration::from_secs(1)).await;
        let response = fixture.ask("GET /-/healthy").await;
        assert_eq!(status(&response), 503);
        let reason = "no heartbeat for 1 min; restart the exporter";
        assert!(body(response).await.contains(reason));
        fixture.alive.send_replace(tokio::time::Instant::now());
        assert_eq!(status(&fixture.ask("GET /-/healthy").await), 200);
    }

    #[tokio::test]
    async fn the_paths_of_the_docs_are_served_by_their_methods_only() {
        let fixture = Fixture::new();
        let docs = include_str!("../../docs/configuration.md");
        let (_, table) = docs.split_once("| path | methods |").unwrap();
        let rows = table.lines().skip(2);
        let mut paths = BTreeSet::from(["other".to_owned()]);
        for row in rows.take_while(|row| row.starts_with('|')) {
            let cells: Vec<_> = row.split('|').map(str::trim).collect();
            let (path, methods) = (cells[1].trim_matches('`'), cells[2].replace(", ", ","));
            paths.insert(path.to_owned());
            for method in ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"] {
                let response = fixture.ask(&format!("{method} {path}")).await;
                let headers = response.headers();
                let allow = headers.get("allow").map(|allow| allow.to_str().unwrap());
                let expected = if methods.split(',').any(|served| served == method) {
                    (200, None)
                } else {
                    (405, Some(&*methods))
                };
                assert_eq!((status(&response), allow), expected, "{method} {path}");
                assert_eq!(headers["x-content-type-options"], "nosniff");
                assert_eq!(headers["cache-control"], "no-store");
            }
        }
        let text = body(fixture.ask("GET /metrics").await).await;
        let samples = text.split("http_requests_total{path=\"").skip(1);
        let counted = samples.map(|sample| sample.split('"').next().unwrap().to_owned());
        assert_eq!(counted.collect::<BTreeSet<_>>(), paths);
    }

    #[tokio::test]
    async fn other_paths_are_not_found_and_the_metrics_are_at_the_configured_one() {
        let fixture = Fixture::at("/a/b.c~d//");
        assert_eq!(status(&fixture.ask("GET /a/b.c~d//").await), 200);
        for path in [
            "/metrics",
            "/a/b.c~d/",
            "//a/b.c~d//",
            "/favicon.ico",
            "/-/reload",
        ] {
            let response = fixture.ask(&format!("GET {path}")).await;
            assert_eq!(status(&response), 404, "{path}");
            assert_eq!(body(response).await, "nothing here; see /\n");
        }
    }

    #[tokio::test]
    async fn a_head_request_gets_the_headers_without_the_body() {
        let fixture = Fixture::new();
        for path in ["/", "/metrics", "/-/healthy", "/-/ready", "/nothing"] {
            let get = fixture.ask(&format!("GET {path}")).await;
            let head = fixture.ask(&format!("HEAD {path}")).await;
            for name in ["content-type", "vary"] {
                assert_eq!(head.headers().get(name), get.headers().get(name), "{path}");
            }
            // The length is that of the answer to GET.
            assert_ne!(head.headers()["content-length"], "0", "{path}");
            assert_eq!(body(head).await, "", "{path}");
        }
    }

    #[tokio::test]
    async fn requests_are_counted_by_the_matched_path_or_as_other() {
        let fixture = Fixture::new();
        let requests = "GET /, POST /, GET /metrics?x, GET /-/ready, GET /nowhere, PUT /nothing";
        for request in requests.split(", ") {
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
    async fn readiness_explains_missing_data() {
        let mut fixture = Fixture::new();
        fixture.publish(|status| status.has_data = false);
        let asked = async |fixture: &Fixture| body(fixture.ask("GET /-/ready").await).await;
        let reason = "not ready: The first poll has not ended yet\n";
        assert_eq!(asked(&fixture).await, reason);
        let what = "GET /v1/repositories: 401 Unauthorized";
        let stop = Stop {
            reason: PollFailure::Unauthorized,
            failure: Failure::new(what, "check api.key_file"),
            request: None,
        };
        fixture.publish(|status| {
            status.last = Some(PollOutcome {
                stop: Some(stop),
                ..PollOutcome::default()
            });
        });
        let reason = "not ready: The last poll did not read everything\n\
             The API refused the key: \
             GET /v1/repositories: 401 Unauthorized; check api.key_file\n";
        assert_eq!(asked(&fixture).await, reason);
        fixture.publish(|status| status.has_data = true);
        assert_eq!(
            asked(&fixture).await,
            "ready\n",
            "data from before are data"
        );
    }

    const USERS_AND_MORE: &str = "basic_auth_users: {alice: HASH}\n\
        rate_limit: {interval: 1h, burst: 2}\n\
        http_server_config: {headers: {X-Frame-Options: deny}}\n";

    fn protected() -> Fixture {
        let mut fixture = Fixture::new();
        fixture.web_config(&USERS_AND_MORE.replace("HASH", &bcrypt::hash("correct", 4).unwrap()));
        fixture
    }

    #[tokio::test]
    async fn password_and_rate_limit_cover_all_paths_except_the_probes() {
        let fixture = protected();
        for path in ["/-/healthy", "/-/ready", "/-/healthy"] {
            let response = fixture.ask(&format!("GET {path}")).await;
            assert_eq!(status(&response), 200, "{path}");
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
        assert_eq!(status(&limited), 429);
        assert!(limited.headers().contains_key("retry-after"));
        assert_eq!(status(&fixture.ask("POST /-/healthy").await), 405);
    }

    #[tokio::test]
    async fn the_page_keeps_its_own_policy() {
        let mut fixture = Fixture::new();
        let own = fixture.ask("GET /").await.headers()["content-security-policy"].clone();
        let mut policies = async |given: &str| {
            fixture.web_config(&format!(
                "http_server_config: {{headers: {{Content-Security-Policy: \"{given}\"}}}}\n"
            ));
            let [page, other] = ["GET /", "GET /-/healthy"].map(|request| fixture.ask(request));
            let (page, other) = tokio::join!(page, other);
            [page, other].map(|response| response.headers()["content-security-policy"].clone())
        };
        assert_eq!(
            policies("default-src 'self'").await,
            [own.to_str().unwrap(), "default-src 'self'"]
        );
    }
}
