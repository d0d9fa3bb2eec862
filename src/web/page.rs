//! The status page: what fails, since when, what to do about it, and the completion of every translation.
//!
//! Rendered on the server, without a script, off the runtime's threads. Everything is in one response, so that it works
//! under a policy that lets it load nothing.

mod grid;
mod html;
mod lead;
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
    io::{self, Write},
    sync::{Arc, LazyLock},
};
use tokio::{sync::Semaphore, task::spawn_blocking};

/// Nothing may be loaded, run or framed; the styles in the page are known by their hashes, the icon is in the page too.
static POLICY: LazyLock<HeaderValue> = LazyLock::new(|| {
    let hashes = [html::STYLE, html::WRAPPED].map(|style| {
        let hash = ring::digest::digest(&ring::digest::SHA256, style.as_bytes());
        format!("'sha256-{}'", STANDARD.encode(hash))
    });
    let policy = format!(
        "default-src 'none'; style-src {}; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
        hashes.join(" ")
    );
    HeaderValue::from_str(&policy).unwrap_or(HeaderValue::from_static("default-src 'none'"))
});

/// How many pages are rendered at once: people may wait a moment, scrapes may not.
static RENDERING: Semaphore = Semaphore::const_new(2);

/// The handler of the page.
pub async fn show(State(site): State<Arc<Site>>, uri: Uri, headers: HeaderMap) -> Response {
    let query = Query::of(&uri);
    let fixed = [
        (
            header::CONTENT_TYPE,
            HeaderValue::from_static("text/html; charset=utf-8"),
        ),
        (header::VARY, HeaderValue::from_static("Accept-Encoding")),
        (
            header::REFERRER_POLICY,
            HeaderValue::from_static("no-referrer"),
        ),
        (header::CONTENT_SECURITY_POLICY, POLICY.clone()),
    ];
    let gzip = negotiate::accepts_gzip(&headers);
    let encoding = gzip.then_some([(header::CONTENT_ENCODING, "gzip")]);
    let rendered = with_permit(&RENDERING, move || {
        let text = html::render(&site, &query).into_string().into_bytes();
        if gzip { compressed(&text) } else { Ok(text) }
    });
    match rendered.await {
        Some(Ok(body)) => (fixed, encoding, body).into_response(),
        _ => (
            StatusCode::INTERNAL_SERVER_ERROR,
            "the page could not be rendered; the log says why\n",
        )
            .into_response(),
    }
}

/// Does the work off the runtime's threads once there is a permit; `None` if it panics. The permit is held as long as the
/// work lasts, even if the client is gone.
async fn with_permit<T: Send + 'static>(
    permits: &'static Semaphore,
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let permit = permits.acquire().await.ok()?;
    let work = spawn_blocking(move || {
        let _permit = permit;
        work()
    });
    work.await.ok()
}

fn compressed(text: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(text.len() / 6), Compression::fast());
    encoder.write_all(text)?;
    encoder.finish()
}
