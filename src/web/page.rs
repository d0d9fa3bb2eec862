//! The status page: the answer to "may we ship?", the problems with their remedies, and the
//! completion of every translation.
//!
//! Threads for blocking work render the page, without a script. One response has everything, so
//! that the page works under a policy that forbids loading anything.

#[cfg(test)]
mod tests;

use super::{state::AppState, translations::selection};
use crate::{
    report::html::{self, Page},
    server::max_waiting,
};
use axum::{
    extract::{Query, State},
    http::{HeaderName, StatusCode, header},
    response::{Html, IntoResponse, Response, Result},
};
use base64::{Engine, engine::general_purpose::STANDARD};
use ring::digest::{SHA256, digest};
use std::sync::{Arc, LazyLock};
use tokio::{sync::Semaphore, task::spawn_blocking};

/// Returns the policy of the page: a browser loads, runs and frames nothing. Hashes admit the
/// styles in the page, and `data:` its icon.
fn policy() -> String {
    let [style, wrapped] = [html::STYLE, html::WRAPPED]
        .map(|style| STANDARD.encode(digest(&SHA256, style.as_bytes())));
    format!(
        "default-src 'none'; style-src 'sha256-{style}' 'sha256-{wrapped}'; img-src data:; \
         form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    )
}

/// Guards the CPU from more than two pages, or totals of JSON, at a time: people may wait, scrapes
/// may not. The rest of JSON is made while it is sent.
static RENDERERS: Semaphore = Semaphore::const_new(2);

/// The places of requests that render or wait for it.
static PLACES: LazyLock<Semaphore> = LazyLock::new(|| Semaphore::new(max_waiting()));

/// Handles requests for the page.
pub async fn show(
    State(state): State<Arc<AppState>>,
    Query(parameters): Query<Vec<(String, String)>>,
) -> Result<Response> {
    let query = html::Query::new(&parameters);
    let query = query.map_err(|message| (StatusCode::BAD_REQUEST, message))?;
    let selection = selection(&query.others("page"))?;
    // A minute, for a page on a wall.
    let refresh = (query.refresh == "1").then_some([(header::REFRESH, "60")]);
    let policy = policy();
    let headers = [
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CONTENT_SECURITY_POLICY, &*policy),
    ];
    let body = render(move || {
        let current = state.current();
        let page = Page {
            now: state.clock.now(),
            telemetry_path: Some(&state.telemetry_path),
            api: &state.api,
            document: &current.document,
            chosen: &selection.of(&current.document),
            findings: &current.findings,
            query: &query,
        };
        page.html()
    });
    let body = body.await;
    let body =
        body.map_err(|(status, retry, message)| (status, retry, refresh.clone(), message))?;
    Ok((headers, refresh, Html(body)).into_response())
}

type Unrendered = (
    StatusCode,
    Option<[(HeaderName, &'static str); 1]>,
    &'static str,
);

/// Does the work on a thread for blocking work, once one of the [`RENDERERS`] is free. A client
/// that leaves earlier drops this future, and nothing is rendered for it. Fails at once if too many
/// wait.
pub(super) async fn render<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Unrendered> {
    let busy = "too many requests wait for a page or JSON; try again\n";
    let retry = Some([(header::RETRY_AFTER, "5")]);
    let Ok(_place) = PLACES.try_acquire() else {
        return Err((StatusCode::SERVICE_UNAVAILABLE, retry, busy));
    };
    let permit = RENDERERS.acquire().await;
    let permit = permit.expect("nothing closes this semaphore");
    let work = spawn_blocking(move || {
        let _permit = permit;
        work()
    });
    // A panic is logged where it happens.
    let message = "the response could not be made; the log says why\n";
    work.await
        .map_err(|_| (StatusCode::INTERNAL_SERVER_ERROR, None, message))
}
