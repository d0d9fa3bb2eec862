//! What is answered to which request: methods and paths, and everything short enough to be said here.

use super::{App, ReloadRequest, auth::Verdict, file::WebFile, limit::Limiter, page, scrape};
use crate::{config::WebConfig, exposition::Published, route::Route, snapshot::PollStatus};
use axum::{
    body::Body,
    http::{HeaderName, HeaderValue, Method, StatusCode, header, request::Parts},
    response::{IntoResponse, Response},
};
use http_body::Body as _;
use std::sync::{Arc, atomic::AtomicUsize};
use tokio::sync::oneshot;

/// A larger body is refused; none is ever read.
const MAX_BODY: u64 = 64 * 1024;

/// Answers requests.
#[derive(Debug)]
pub(super) struct Server {
    pub app: App,
    /// Scrapes being served at this moment.
    pub scrapes: Arc<AtomicUsize>,
}

impl Server {
    pub fn new(app: App) -> Self {
        Self { app, scrapes: Arc::default() }
    }

    /// The settings in force now.
    pub fn settings(&self) -> Arc<WebConfig> {
        Arc::clone(&self.app.settings.borrow())
    }

    /// What was published last.
    pub fn published(&self) -> Option<Arc<Published>> {
        self.app.published.borrow().clone()
    }

    /// Answers one request; its body is not looked at.
    pub async fn respond(&self, request: &Parts) -> Response {
        let telemetry_path = &self.settings().telemetry_path;
        let route = Route::at(request.uri.path(), telemetry_path);
        let protection = self.app.protection.current();
        let mut response = match admit(&protection.file, route, request).await {
            Ok(()) => self.answer(route, request).await,
            Err(refusal) => refusal,
        };
        let path = route.label().unwrap_or(telemetry_path);
        self.app.instruments.http_request(path, response.status().as_u16());
        let headers = response.headers_mut();
        headers.entry(header::X_CONTENT_TYPE_OPTIONS).or_insert(HeaderValue::from_static("nosniff"));
        // Repository names are nobody else's business.
        headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
        for (name, value) in &protection.file.headers {
            headers.insert(name, value.clone());
        }
        if request.method == Method::HEAD { without_body(response) } else { response }
    }

    async fn answer(&self, route: Route, request: &Parts) -> Response {
        if announced_length(request) > MAX_BODY {
            return (StatusCode::PAYLOAD_TOO_LARGE, "no request here has a body\n").into_response();
        }
        let allowed = route.methods();
        if !allowed.is_empty() && !allowed.split(", ").any(|method| request.method == method) {
            let message = format!("{} is not allowed here; allowed: {allowed}\n", request.method);
            return (StatusCode::METHOD_NOT_ALLOWED, [(header::ALLOW, allowed)], message).into_response();
        }
        match route {
            Route::Page => {
                let page = page::Page {
                    published: self.published(),
                    telemetry_path: self.settings().telemetry_path.clone(),
                    certificate_expires_at: None,
                    now: self.app.clock.now(),
                };
                page::respond(page, &request.uri, &request.headers).await
            }
            Route::Metrics => scrape::respond(self, request),
            Route::Healthy => "healthy\n".into_response(),
            Route::Ready => readiness(self.published().as_deref()),
            Route::Reload => self.reload().await,
            Route::Other => {
                let telemetry_path = &self.settings().telemetry_path;
                let message = format!("nothing here; there are / and {telemetry_path}\n");
                (StatusCode::NOT_FOUND, message).into_response()
            }
        }
    }

    async fn reload(&self) -> Response {
        let Some(reload) = self.app.reload.as_ref().filter(|_| self.settings().enable_lifecycle) else {
            let message = "reloading over HTTP is switched off; set web.enable_lifecycle, or send SIGHUP\n";
            return (StatusCode::FORBIDDEN, message).into_response();
        };
        let (answer, answered) = oneshot::channel();
        let result = match reload.send(ReloadRequest { answer }).await {
            Ok(()) => answered.await.ok(),
            Err(_) => None,
        };
        match result {
            Some(Ok(())) => "reloaded\n".into_response(),
            Some(Err(message)) => (StatusCode::INTERNAL_SERVER_ERROR, format!("{message}\n")).into_response(),
            None => (StatusCode::SERVICE_UNAVAILABLE, "the exporter is about to end\n").into_response(),
        }
    }
}

/// Rate limit and basic authentication, which spare what an orchestrator probes. The limit comes first: it also slows
/// down who tries passwords.
async fn admit(protection: &WebFile, route: Route, request: &Parts) -> Result<(), Response> {
    if matches!(route, Route::Healthy | Route::Ready) {
        return Ok(());
    }
    if let Some(Err(wait)) = protection.limiter.as_ref().map(Limiter::admit) {
        let seconds = HeaderValue::from(wait.as_secs().saturating_add(1));
        let headers = [(header::RETRY_AFTER, seconds)];
        let message = "too many requests (rate_limit of the web configuration file)\n";
        return Err((StatusCode::TOO_MANY_REQUESTS, headers, message).into_response());
    }
    let Some(users) = &protection.users else { return Ok(()) };
    match users.judge(&request.headers).await {
        Verdict::Admitted => Ok(()),
        Verdict::Refused => {
            let challenge =
                [fixed(header::WWW_AUTHENTICATE, "Basic realm=\"translation-exporter\", charset=\"UTF-8\"")];
            Err((StatusCode::UNAUTHORIZED, challenge, "give a user and a password\n").into_response())
        }
        Verdict::Busy => {
            Err((StatusCode::SERVICE_UNAVAILABLE, "too many passwords wait to be verified; try again\n")
                .into_response())
        }
    }
}

fn announced_length(request: &Parts) -> u64 {
    let length = request.headers.get(header::CONTENT_LENGTH);
    length.and_then(|length| length.to_str().ok()?.parse().ok()).unwrap_or(0)
}

fn readiness(published: Option<&Published>) -> Response {
    match published.map(|published| &published.status) {
        Some(status) if status.has_data => "ready\n".into_response(),
        status => (StatusCode::SERVICE_UNAVAILABLE, format!("not ready: {}\n", reason(status))).into_response(),
    }
}

/// Why there are no data yet.
fn reason(status: Option<&PollStatus>) -> String {
    let Some(status) = status else { return "no poll has begun yet".to_owned() };
    let failure = status.last.as_ref().and_then(|last| last.listing.as_ref().or(last.ended_early.as_ref()));
    let reason = match (failure, status.running_since) {
        (Some(failure), _) => format!("{}; {} (since {})", failure.what, failure.hint, failure.since),
        (None, Some(since)) => format!("the first poll is under way since {since}"),
        (None, None) => "no poll has listed the repositories yet".to_owned(),
    };
    match (status.running_since, status.next_poll_at) {
        (None, Some(at)) => format!("{reason}; the next poll begins at {at}"),
        _ => reason,
    }
}

/// What `GET` would answer, without its body.
fn without_body(response: Response) -> Response {
    let (mut head, body) = response.into_parts();
    if let Some(length) = body.size_hint().exact().filter(|length| *length > 0) {
        head.headers.entry(header::CONTENT_LENGTH).or_insert(length.into());
    }
    Response::from_parts(head, Body::empty())
}

/// A header whose value is known to be fit for one.
pub(super) const fn fixed(name: HeaderName, value: &'static str) -> (HeaderName, HeaderValue) {
    (name, HeaderValue::from_static(value))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Fixture, body, status};
    use super::*;
    use crate::model::Failure;
    use crate::model::Timestamp;
    use crate::snapshot::PollOutcome;
    use std::time::Duration;

    #[tokio::test]
    async fn what_is_served_where_and_by_which_method() {
        let server = Fixture::new().server();
        let cases = [
            ("GET /", 200, ""),
            ("HEAD /", 200, ""),
            ("POST /", 405, "GET, HEAD"),
            ("GET /metrics", 200, ""),
            ("HEAD /metrics", 200, ""),
            ("DELETE /metrics", 405, "GET, HEAD"),
            ("GET /metrics/", 404, ""),
            ("GET /-/healthy", 200, ""),
            ("OPTIONS /-/healthy", 405, "GET, HEAD"),
            ("GET /-/ready", 200, ""),
            ("PUT /-/ready", 405, "GET, HEAD"),
            ("GET /-/reload", 405, "PUT, POST"),
            ("HEAD /-/reload", 405, "PUT, POST"),
            ("POST /-/reload", 403, ""),
            ("GET /favicon.ico", 404, ""),
            ("GET //metrics", 404, ""),
        ];
        for (request, status, allow) in cases {
            let response = server.respond(&Fixture::request(request)).await;
            let told = response.headers().get("allow").map_or("", |allow| allow.to_str().unwrap());
            assert_eq!((response.status().as_u16(), told), (status, allow), "{request}");
        }
    }

    #[tokio::test]
    async fn a_head_request_gets_the_headers_without_the_body() {
        let server = Fixture::new().server();
        for path in ["/", "/metrics", "/-/healthy", "/-/ready", "/nothing"] {
            let get = server.respond(&Fixture::request(&format!("GET {path}"))).await;
            let head = server.respond(&Fixture::request(&format!("HEAD {path}"))).await;
            assert_eq!(head.headers()["content-type"], get.headers()["content-type"], "{path}");
            assert_eq!(head.headers().get("vary"), get.headers().get("vary"), "{path}");
            assert_eq!(body(head).await, "", "{path}");
        }
    }

    #[tokio::test]
    async fn a_request_that_announces_a_large_body_is_refused() {
        let server = Fixture::new().server();
        let mut request = Fixture::request("POST /-/reload");
        request.headers.insert("content-length", HeaderValue::from_static("65537"));
        assert_eq!(status(&server.respond(&request).await), 413);
    }

    #[tokio::test]
    async fn readiness_says_why_there_are_no_data() {
        let mut fixture = Fixture::new();
        let server = fixture.server();
        let ready = || async { body(server.respond(&Fixture::request("GET /-/ready")).await).await };
        fixture.publish(|status| status.has_data = false);
        assert_eq!(ready().await, "not ready: no poll has listed the repositories yet\n");
        fixture.publish(|status| status.running_since = Some(Timestamp::from_millis(0)));
        assert_eq!(ready().await, "not ready: the first poll is under way since 1970-01-01T00:00:00Z\n");
        fixture.publish(|status| {
            status.running_since = None;
            status.next_poll_at = Some(Timestamp::from_millis(300_000));
            status.last = Some(PollOutcome {
                ended_at: Timestamp::from_millis(1000),
                duration: Duration::from_secs(1),
                listing: Some(Failure {
                    since: Timestamp::from_millis(0),
                    what: "GET /v1/repositories: 401 Unauthorized".into(),
                    hint: "check api.key_file".into(),
                }),
                ended_early: None,
                read: 0,
                failed: 0,
                unreached: 0,
                failure: Some(crate::model::PollFailure::Listing),
            });
        });
        assert_eq!(
            ready().await,
            "not ready: GET /v1/repositories: 401 Unauthorized; check api.key_file (since 1970-01-01T00:00:00Z); \
             the next poll begins at 1970-01-01T00:05:00Z\n"
        );
        fixture.publish(|status| status.has_data = true);
        assert_eq!(ready().await, "ready\n", "data from before are data");
    }

    #[tokio::test]
    async fn a_reload_is_asked_for_only_where_it_is_allowed_and_its_outcome_is_told() {
        let mut fixture = Fixture::new();
        let mut reloads = fixture.reloads.take().unwrap();
        let server = Arc::new(fixture.server());
        fixture.settings.send_modify(|settings| Arc::make_mut(settings).enable_lifecycle = true);
        for (outcome, status, told) in [
            (Ok(()), 200, "reloaded\n"),
            (Err("poll.interval: too short".to_owned()), 500, "poll.interval: too short\n"),
        ] {
            let asking = Arc::clone(&server);
            let asked = tokio::spawn(async move { asking.respond(&Fixture::request("POST /-/reload")).await });
            reloads.recv().await.unwrap().answer.send(outcome).unwrap();
            let response = asked.await.unwrap();
            assert_eq!(response.status().as_u16(), status);
            assert_eq!(body(response).await, told);
        }
        drop(reloads);
        assert_eq!(status(&server.respond(&Fixture::request("PUT /-/reload")).await), 503);
    }
}
