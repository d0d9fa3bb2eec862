//! A scrape: the exposition in the format and encoding that the client asks for.

use super::{negotiate, render::streamed, state::AppState};
use axum::{
    extract::State,
    http::{HeaderMap, header},
    response::{IntoResponse, Response},
};
use std::sync::Arc;

/// Responds with the exposition in the format and encoding that the client accepts.
pub async fn scrape(State(state): State<Arc<AppState>>, headers: HeaderMap) -> Response {
    let (format, content_type) = negotiate::format(&headers);
    let gzip = negotiate::accepts_gzip(&headers);
    let (current, instruments) = (state.current(), &state.instruments);
    let (length, body) = if gzip {
        let chunks = current.exposition.gzip(format, instruments);
        let length = chunks.iter().map(|chunk| chunk.len() as u64).sum();
        (length, streamed(chunks.into_iter()))
    } else {
        let (length, chunks) = current.exposition.uncompressed(format, instruments);
        (length, streamed(chunks))
    };
    let encoding = gzip.then_some([(header::CONTENT_ENCODING, "gzip")]);
    let headers = [
        (header::VARY, "Accept, Accept-Encoding"),
        (header::CONTENT_TYPE, content_type),
    ];
    let length = [(header::CONTENT_LENGTH, length)];
    (headers, length, encoding, body).into_response()
}

#[cfg(test)]
mod tests {
    use super::super::testing::Fixture;

    #[tokio::test]
    async fn a_scrape_has_headers_for_length_and_encoding() {
        let fixture = Fixture::new();
        for (accepted, encoding) in [("gzip", Some("gzip")), ("identity", None)] {
            let headers = [("accept-encoding", accepted)];
            let response = fixture.ask_with("GET /metrics", &headers).await;
            let headers = response.headers();
            let named = headers.get("content-encoding");
            assert_eq!(named.map(|named| named.to_str().unwrap()), encoding);
            assert_eq!(headers["vary"], "Accept, Accept-Encoding");
            let length = headers["content-length"].to_str().unwrap().to_owned();
            let taken = axum::body::to_bytes(response.into_body(), usize::MAX).await;
            assert_eq!(taken.unwrap().len().to_string(), length);
        }
    }
}
