//! A scrape: the exposition in the format and encoding that the client asks for.

use super::{negotiate, state::Site};
use axum::{
    body::Body,
    extract::State,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use futures_util::stream;
use std::{convert::Infallible, sync::Arc};

pub(super) async fn scrape(State(site): State<Arc<Site>>, headers: HeaderMap) -> Response {
    let format = negotiate::format(&headers);
    let published = site.published();
    let gzip = negotiate::accepts_gzip(&headers);
    let encoding = gzip.then_some([(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"))]);
    let vary = [(header::VARY, "Accept, Accept-Encoding")];
    let headers = (vary, [(header::CONTENT_TYPE, negotiate::content_type(format))], encoding);
    let limit = site.settings.max_requests;
    // A reference is a place: each scrape keeps one until its body has been sent or dropped.
    let place = Arc::clone(&site.shared.scrapes);
    if Arc::strong_count(&place) - 1 > limit {
        let message = format!("{limit} scrapes are being served already (web.max_requests); try again\n");
        return (StatusCode::SERVICE_UNAVAILABLE, message).into_response();
    }
    let instruments = &site.shared.sources.instruments;
    let (length, body) = if gzip {
        let chunks = published.gzip(format, instruments);
        (chunks.iter().map(|chunk| chunk.len() as u64).sum(), body(chunks.into_iter(), place))
    } else {
        let chunks = published.identity(format, instruments);
        (chunks.remaining(), body(chunks, place))
    };
    (headers, [(header::CONTENT_LENGTH, HeaderValue::from(length))], body).into_response()
}

/// A body that keeps `place` for as long as it lives.
fn body(chunks: impl Iterator<Item = Bytes> + Send + 'static, place: Arc<()>) -> Body {
    Body::from_stream(stream::iter(chunks.map(move |chunk| {
        // So that the closure, and with it the body, owns it.
        let _ = &place;
        Ok::<_, Infallible>(chunk)
    })))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Fixture, body, status};

    #[tokio::test]
    async fn scrapes_beyond_the_limit_are_refused_until_a_body_is_taken_also_across_a_reload() {
        let mut fixture = Fixture::new();
        fixture.settings.max_requests = 2;
        fixture.reload();
        let first = fixture.ask("GET /metrics").await;
        let _second = fixture.ask("GET /metrics").await;
        assert_eq!(status(&fixture.ask("GET /metrics").await), 503);
        fixture.reload();
        assert_eq!(status(&fixture.ask("GET /metrics").await), 503);
        drop(body(first).await);
        assert_eq!(status(&fixture.ask("GET /metrics").await), 200);
    }

    #[tokio::test]
    async fn a_scrape_names_its_length_and_encoding() {
        let fixture = Fixture::new();
        for (accepted, encoding) in [("gzip", Some("gzip")), ("identity", None)] {
            let response = fixture.ask_with("GET /metrics", &[("accept-encoding", accepted)]).await;
            let named = response.headers().get("content-encoding").map(|encoding| encoding.to_str().unwrap());
            assert_eq!(named, encoding);
            assert_eq!(response.headers()["vary"], "Accept, Accept-Encoding");
            let length: usize = response.headers()["content-length"].to_str().unwrap().parse().unwrap();
            let taken = axum::body::to_bytes(response.into_body(), usize::MAX).await.unwrap();
            assert_eq!(taken.len(), length);
        }
    }
}
