//! The status page: what fails, since when, what to do about it, and the completion of every translation.
//!
//! Rendered on the server, without a script, off the runtime's threads. Everything is in one response, so that it works
//! under a policy that lets it load nothing.

#[cfg(test)]
mod tests;

use super::{negotiate, state::AppState};
use crate::report::html::{
    query::{self, Query},
    view::{self, View},
};
use crate::support::escape::printable;
use axum::{
    extract::State,
    http::{HeaderMap, StatusCode, Uri, header},
    response::{Html, IntoResponse, Response},
};
use base64::{Engine, engine::general_purpose::STANDARD};
use flate2::{Compression, write::GzEncoder};
use ring::digest::{SHA256, digest};
use std::{io::Write, sync::Arc};
use tokio::{
    sync::Semaphore,
    task::{JoinError, spawn_blocking},
};

/// Nothing may be loaded, run or framed; the styles in the page are known by their hashes, the icon is in the page too.
fn policy() -> String {
    let [style, wrapped] = [view::STYLE, view::WRAPPED]
        .map(|style| STANDARD.encode(digest(&SHA256, style.as_bytes())));
    format!(
        "default-src 'none'; style-src 'sha256-{style}' 'sha256-{wrapped}'; img-src data:; form-action 'self'; \
         base-uri 'none'; frame-ancestors 'none'"
    )
}

/// How many pages are rendered at once: people may wait a moment, scrapes may not.
static RENDERING: Semaphore = Semaphore::const_new(2);

/// The handler of the page.
pub async fn show(State(state): State<Arc<AppState>>, uri: Uri, headers: HeaderMap) -> Response {
    let query = Query::of(uri.query().unwrap_or_default());
    let gzip = negotiate::accepts_gzip(&headers);
    let refresh = query.refresh.then_some([(header::REFRESH, query::REFRESH)]);
    let encoding = gzip.then_some([(header::CONTENT_ENCODING, "gzip")]);
    let policy = policy();
    let headers = [
        (header::VARY, "Accept-Encoding"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CONTENT_SECURITY_POLICY, &*policy),
    ];
    let rendered = with_permit(&RENDERING, move || {
        let published = state.published();
        let shown = View {
            now: state.clock.now(),
            telemetry_path: &state.settings.telemetry_path,
            snapshot: &published.snapshot,
            status: &published.status,
            findings: &state.findings(&published),
        };
        let text = shown.render(&query).map_err(askama::Error::into_io_error)?;
        let text = printable(&text).into_bytes();
        if !gzip {
            return Ok(text);
        }
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(&text)?;
        encoder.finish()
    });
    match rendered.await {
        Ok(Ok(body)) => return (headers, encoding, refresh, Html(body)).into_response(),
        Ok(Err(error)) => tracing::error!(%error, "the page could not be rendered"),
        // A panic is logged where it happens.
        Err(_) => {}
    }
    let message = "the page could not be rendered; the log says why\n";
    (StatusCode::INTERNAL_SERVER_ERROR, message).into_response()
}

/// Does the work off the runtime's threads once there is a permit, which is held as long as the work lasts, even if the client
/// is gone.
async fn with_permit<T: Send + 'static>(
    permits: &'static Semaphore,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, JoinError> {
    // They are never closed.
    let permit = permits.acquire().await;
    spawn_blocking(move || {
        let _permit = permit;
        work()
    })
    .await
}
