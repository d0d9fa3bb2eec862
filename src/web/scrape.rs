//! A scrape: the exposition in the format and encoding that the client asks for.

use super::{
    negotiate::Negotiated,
    service::{Server, fixed},
};
use crate::exposition;
use axum::{
    body::Body,
    http::{HeaderValue, Method, StatusCode, header, request::Parts},
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

pub(super) fn respond(server: &Server, request: &Parts) -> Response {
    let negotiated = Negotiated::from_headers(&request.headers);
    let vary = [fixed(header::VARY, "Accept, Accept-Encoding")];
    let content_type = [(header::CONTENT_TYPE, negotiated.content_type())];
    let published = server.published();
    let gzip = negotiated.gzip && published.is_some();
    let encoding = gzip.then_some([fixed(header::CONTENT_ENCODING, "gzip")]);
    let headers = (vary, content_type, encoding);
    if request.method == Method::HEAD {
        return (headers, Body::empty()).into_response();
    }
    let limit = server.settings().max_requests;
    let Some(place) = Place::take(&server.scrapes, limit) else {
        let message = format!("{limit} scrapes are being served already (web.max_requests); try again\n");
        return (StatusCode::SERVICE_UNAVAILABLE, message).into_response();
    };
    let instruments = &server.app.instruments;
    let Some(published) = published else {
        // Nothing is known of the world yet, but what the exporter does itself can be told.
        return (headers, exposition::own(negotiated.format, instruments)).into_response();
    };
    if gzip {
        let chunks = published.gzip(negotiated.format, instruments);
        let length: usize = chunks.iter().map(Bytes::len).sum();
        let length = [(header::CONTENT_LENGTH, HeaderValue::from(length))];
        (headers, length, place.kept_by(chunks.into_iter())).into_response()
    } else {
        let chunks = published.identity(negotiated.format, instruments);
        let length = [(header::CONTENT_LENGTH, HeaderValue::from(chunks.remaining()))];
        (headers, length, place.kept_by(chunks)).into_response()
    }
}

/// One of the places of `web.max_requests`.
struct Place(Arc<AtomicUsize>);

impl Place {
    fn take(taken: &Arc<AtomicUsize>, limit: usize) -> Option<Self> {
        let more = |taken: usize| (taken < limit).then_some(taken + 1);
        taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok()?;
        Some(Self(Arc::clone(taken)))
    }

    /// A body that keeps the place until it has been taken or given up.
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
    use std::sync::Arc;

    #[tokio::test]
    async fn scrapes_beyond_the_limit_are_refused_until_a_body_is_taken() {
        let mut fixture = Fixture::new();
        fixture.settings.send_modify(|settings| Arc::make_mut(settings).max_requests = 2);
        let server = fixture.server();
        let scrape = async || server.respond(&Fixture::request("GET /metrics")).await;
        let first = scrape().await;
        let _second = scrape().await;
        assert_eq!(status(&scrape().await), 503);
        assert_eq!(status(&server.respond(&Fixture::request("HEAD /metrics")).await), 200, "HEAD costs nothing");
        drop(body(first).await);
        assert_eq!(status(&scrape().await), 200);
    }

    #[tokio::test]
    async fn before_the_first_publication_the_own_metrics_are_served() {
        let mut fixture = Fixture::new();
        fixture.unpublish();
        let server = fixture.server();
        let mut request = Fixture::request("GET /metrics");
        request.headers.insert("accept", "application/openmetrics-text".parse().unwrap());
        request.headers.insert("accept-encoding", "gzip".parse().unwrap());
        let response = server.respond(&request).await;
        assert_eq!(status(&response), 200);
        assert_eq!(response.headers().get("content-encoding"), None);
        assert!(body(response).await.ends_with("# EOF\n"));
    }

    #[tokio::test]
    async fn a_compressed_scrape_says_its_length_and_encoding() {
        let server = Fixture::new().server();
        let mut request = Fixture::request("GET /metrics");
        request.headers.insert("accept-encoding", "gzip".parse().unwrap());
        let response = server.respond(&request).await;
        assert_eq!(response.headers()["content-encoding"], "gzip");
        assert_eq!(response.headers()["vary"], "Accept, Accept-Encoding");
        let length: usize = response.headers()["content-length"].to_str().unwrap().parse().unwrap();
        let taken = axum::body::to_bytes(response.into_body(), usize::MAX).await.unwrap();
        assert_eq!(taken.len(), length);
    }
}
