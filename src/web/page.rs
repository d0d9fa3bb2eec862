//! The status page: the answer to "may we ship?", the problems with their remedies, and the
//! completion of every translation.
//!
//! Threads for blocking work render the page, without a script. One response has everything, so
//! that the page works under a policy that forbids loading anything.

#[cfg(test)]
mod tests;

use super::state::AppState;
use crate::{
    diagnosis,
    report::html::{
        query::Query,
        view::{self, ServerView, View},
    },
    support::escape::printable,
};
use axum::{
    extract::State,
    http::{StatusCode, Uri, header},
    response::{Html, IntoResponse, Response},
};
use base64::{Engine, engine::general_purpose::STANDARD};
use ring::digest::{SHA256, digest};
use std::sync::Arc;
use tokio::{
    sync::Semaphore,
    task::{JoinError, spawn_blocking},
};

/// Returns the policy of the page: a browser loads, runs and frames nothing. Hashes admit the
/// styles in the page, and `data:` its icon.
fn policy() -> String {
    let [style, wrapped] = [view::STYLE, view::WRAPPED]
        .map(|style| STANDARD.encode(digest(&SHA256, style.as_bytes())));
    format!(
        "default-src 'none'; style-src 'sha256-{style}' 'sha256-{wrapped}'; img-src data:; \
         form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    )
}

/// Guards the CPU from more than two pages, or totals of JSON, at a time: people may wait, scrapes
/// may not. The rest of JSON is made while it is sent.
static RENDERERS: Semaphore = Semaphore::const_new(2);

/// Handles requests for the page.
pub async fn show(State(state): State<Arc<AppState>>, uri: Uri) -> Response {
    let query = Query::of(uri.query().unwrap_or_default());
    // A minute, for a page on a wall.
    let refresh = query.refresh.then_some([(header::REFRESH, "60")]);
    let policy = policy();
    let headers = [
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CONTENT_SECURITY_POLICY, &*policy),
    ];
    let now = state.clock.moment();
    let rendered = render(move || {
        let current = state.current();
        let document = &current.document;
        let shown = View {
            now: now.wall,
            server: Some(ServerView {
                started_at: state.started.seen_from(now),
                telemetry_path: &state.settings.telemetry_path,
            }),
            api: &state.api,
            document,
            headline: diagnosis::headline(&current.findings, document),
            findings: &current.findings,
        };
        shown.render(&query).map(|text| printable(&text))
    });
    match rendered.await {
        Ok(Ok(body)) => return (headers, refresh, Html(body)).into_response(),
        Ok(Err(error)) => tracing::error!(%error, "the page could not be rendered"),
        // A panic is logged where it happens.
        Err(_) => {}
    }
    let message = "the page could not be rendered; the log says why\n";
    (StatusCode::INTERNAL_SERVER_ERROR, message).into_response()
}

/// Does the work on a thread for blocking work, once one of the [`RENDERERS`] is free. A client
/// that leaves earlier drops this future, and nothing is rendered for it.
pub(super) async fn render<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, JoinError> {
    let permit = RENDERERS.acquire().await;
    let permit = permit.expect("nothing closes this semaphore");
    spawn_blocking(move || {
        let _permit = permit;
        work()
    })
    .await
}
