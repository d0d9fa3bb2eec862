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
use std::{
    convert::Infallible,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

pub(super) async fn scrape(State(site): State<Arc<Site>>, headers: HeaderMap) -> Response {
    let format = negotiate::format(&headers);
    let published = site.published();
    let gzip = negotiate::accepts_gzip(&headers);
    let encoding = gzip.then_some([(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"))]);
    let vary = [(header::VARY, "Accept, Accept-Encoding")];
    let headers = (
        vary,
        [(header::CONTENT_TYPE, negotiate::content_type(format))],
        encoding,
    );
    let limit = site.settings.max_requests;
    let Some(place) = Place::take(&site.shared.scrapes, limit) else {
        let message =
            format!("{limit} scrapes are being served already (web.max_requests); try again\n");
        return (StatusCode::SERVICE_UNAVAILABLE, message).into_response();
    };
    let instruments = &site.shared.sources.instruments;
    let (length, body) = if gzip {
        let chunks = published.gzip(format, instruments);
        (
            chunks.iter().map(|chunk| chunk.len() as u64).sum(),
            place.kept_by(chunks.into_iter()),
        )
    } else {
        let chunks = published.uncompressed(format, instruments);
        (chunks.remaining(), place.kept_by(chunks))
    };
    (
        headers,
        [(header::CONTENT_LENGTH, HeaderValue::from(length))],
        body,
    )
        .into_response()
}

/// One of the places of `web.max_requests`.
struct Place(Arc<AtomicUsize>);

impl Place {
    fn take(taken: &Arc<AtomicUsize>, limit: usize) -> Option<Self> {
        let more = |taken: usize| (taken < limit).then_some(taken + 1);
        taken
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, more)
            .ok()?;
        Some(Self(Arc::clone(taken)))
    }

    /// A body that keeps the place until it has been sent or dropped.
    fn kept_by(self, chunks: impl Iterator<Item = Bytes> + Send + 'static) -> Body {
        Body::from_stream(stream::iter(chunks.map(move |chunk| {
            let _kept = &self;
            Ok::<_, Infallible>(chunk)
        })))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
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
            let response = fixture
                .ask_with("GET /metrics", &[("accept-encoding", accepted)])
                .await;
            let named = response
                .headers()
                .get("content-encoding")
                .map(|encoding| encoding.to_str().unwrap());
            assert_eq!(named, encoding);
            assert_eq!(response.headers()["vary"], "Accept, Accept-Encoding");
            let length: usize = response.headers()["content-length"]
                .to_str()
                .unwrap()
                .parse()
                .unwrap();
            let taken = axum::body::to_bytes(response.into_body(), usize::MAX)
                .await
                .unwrap();
            assert_eq!(taken.len(), length);
        }
    }
}
