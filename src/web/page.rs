//! The status page: the answer to "may we ship?", the problems with their remedies, and the
//! completion of every translation.
//!
//! Threads of its own render the page, without a script. One response has everything, so that the
//! page works under a policy that forbids loading anything.

#[cfg(test)]
mod tests;

use super::{negotiate, state::AppState};
use crate::report::html::{
    query::{self, Query},
    view::{self, View},
};
use crate::{
    server::{ClientDeparture, policy::permits_styles, web_config::WebConfigFile},
    support::escape::printable,
};
use axum::{
    Extension,
    extract::State,
    http::{HeaderMap, HeaderValue, StatusCode, Uri, header},
    response::{Html, IntoResponse, Response},
};
use base64::{Engine, engine::general_purpose::STANDARD};
use flate2::{Compression, write::GzEncoder};
use ring::digest::{SHA256, digest};
use std::{
    io::Write,
    sync::{Arc, LazyLock},
};
use tokio::{
    runtime::{Builder, Runtime},
    task::JoinError,
};
use tokio_util::task::AbortOnDropHandle;

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

/// Returns a hint if the policy of the web configuration file would strip the page's styles, so
/// that the page keeps its own policy.
pub fn describe_policy(file: &WebConfigFile) -> Option<&'static str> {
    let given = file.headers.get(header::CONTENT_SECURITY_POLICY)?;
    let own = HeaderValue::try_from(policy()).ok()?;
    let hint = "http_server_config.headers.Content-Security-Policy would strip the styles of the \
                status page, which keeps its own policy; allow them by style-src 'unsafe-inline', \
                or leave it as it is";
    (!permits_styles(given, &own)).then_some(hint)
}

/// The threads that render and compress pages, and prepare the JSON: people may wait, scrapes may
/// not. Each thread may hold the memory of a page, so there are only two.
const THREADS: usize = 2;

/// A runtime that only serves as a pool of blocking threads with a queue.
static RENDERERS: LazyLock<Runtime> = LazyLock::new(|| {
    let mut builder = Builder::new_current_thread();
    let runtime = builder.max_blocking_threads(THREADS).build();
    runtime.expect("a runtime without drivers asks the system for nothing")
});

/// Handles requests for the page.
pub async fn show(
    State(state): State<Arc<AppState>>,
    Extension(departed): Extension<ClientDeparture>,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
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
    let now = state.clock.now();
    let rendered = off_the_runtime(move || {
        let published = state.published();
        let shown = View {
            now,
            telemetry_path: Some(&state.settings.telemetry_path),
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
    let rendered = tokio::select! {
        rendered = rendered => rendered,
        // Nobody sees this response.
        () = departed.wait() => return StatusCode::REQUEST_TIMEOUT.into_response(),
    };
    match rendered {
        Ok(Ok(body)) => return (headers, encoding, refresh, Html(body)).into_response(),
        Ok(Err(error)) => tracing::error!(%error, "the page could not be rendered"),
        // A panic is logged where it happens.
        Err(_) => {}
    }
    let message = "the page could not be rendered; the log says why\n";
    (StatusCode::INTERNAL_SERVER_ERROR, message).into_response()
}

/// Does the work on one of the [`RENDERERS`], unless this is dropped before they get to it.
pub(super) async fn off_the_runtime<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, JoinError> {
    AbortOnDropHandle::new(RENDERERS.spawn_blocking(work)).await
}
