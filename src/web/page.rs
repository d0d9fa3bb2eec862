//! The status page: is it well, what fails since when and what to do about it, and how far every translation is.
//!
//! Rendered on the server, without a script, off the runtime's threads. All that it needs is in the one response, so
//! that it holds under a policy that lets it load nothing.

mod grid;
mod html;
mod overview;
mod query;
mod table;
mod when;

#[cfg(test)]
mod tests;

use super::{negotiate, state::Site};
use axum::{
    extract::State,
    http::{HeaderMap, HeaderValue, StatusCode, Uri, header},
    response::{IntoResponse, Response},
};
use base64::{Engine, engine::general_purpose::STANDARD};
use flate2::{Compression, write::GzEncoder};
use query::Query;
use std::{
    io::Write,
    sync::{Arc, LazyLock},
};

/// The page's stylesheet; it stands in the page.
const STYLE: &str = include_str!("page/style.css");

/// Nothing may be loaded, run or framed; the style in the page is known by its hash, the icon is in the page too.
static POLICY: LazyLock<HeaderValue> = LazyLock::new(|| {
    let hash = STANDARD.encode(ring::digest::digest(&ring::digest::SHA256, STYLE.as_bytes()));
    let policy = format!(
        "default-src 'none'; style-src 'sha256-{hash}'; img-src data:; form-action 'self'; base-uri 'none'; \
         frame-ancestors 'none'"
    );
    HeaderValue::from_str(&policy).unwrap_or(HeaderValue::from_static("default-src 'none'"))
});

/// What the page is made from.
struct Page<'a> {
    published: Option<&'a crate::exposition::Published>,
    query: Query,
    now: crate::model::Timestamp,
    telemetry_path: &'a str,
}

pub(super) async fn show(State(site): State<Arc<Site>>, uri: Uri, request_headers: HeaderMap) -> Response {
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8")),
        (header::VARY, HeaderValue::from_static("Accept-Encoding")),
        (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
        (header::CONTENT_SECURITY_POLICY, POLICY.clone()),
    ];
    let gzip = negotiate::accepts_gzip(&request_headers);
    let encoding = gzip.then_some([(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"))]);
    let (query, now) = (Query::of(&uri), site.shared.sources.clock.now());
    let Ok(turn) = Arc::clone(&site.shared.page_turns).acquire_owned().await else { return broken() };
    let rendered = tokio::task::spawn_blocking(move || {
        // The turn lasts as long as the work does, also where the client has gone away.
        let _turn = turn;
        let (published, telemetry_path) = (site.published(), &*site.settings.telemetry_path);
        let page = Page { published: published.as_deref(), query, now, telemetry_path };
        let text = html::render(&page).into_string().into_bytes();
        if gzip { compressed(&text) } else { Ok(text) }
    });
    match rendered.await {
        Ok(Ok(body)) => (headers, encoding, body).into_response(),
        _ => broken(),
    }
}

fn compressed(text: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(text.len() / 6), Compression::fast());
    encoder.write_all(text)?;
    encoder.finish()
}

fn broken() -> Response {
    (StatusCode::INTERNAL_SERVER_ERROR, "the page could not be rendered; the log says why\n").into_response()
}
