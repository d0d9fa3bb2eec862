//! `/translations.json`: the JSON of `once`, made from the last publication while it is sent.
//!
//! A reader that pauses holds one piece of the text and the document, however long the whole is.

use super::{negotiate, page::render, state::AppState};
use crate::{
    domain::document::{Document, Row, Selection},
    report,
    server::{ResponseMemory, Shared},
    support::glob::glob,
};
use axum::{
    Extension,
    body::Body,
    extract::{Query, State},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use flate2::{Compression, write::GzEncoder};
use futures_util::{StreamExt as _, stream};
use std::{io::Write as _, sync::Arc};
use tokio::task::yield_now;

/// The bytes that a reader holds of its own: a piece of the text of 64 KiB and the compressor's
/// 300 KiB, rounded up.
const MAKING: u64 = 512 * 1024;

/// The handler. `repo` and `language` are globs and may be repeated; other parameters are ignored.
pub async fn show(
    State(state): State<Arc<AppState>>,
    Query(parameters): Query<Vec<(String, String)>>,
    headers: HeaderMap,
) -> Response {
    let selection = match selection(&parameters) {
        Ok(selection) => selection,
        Err(message) => return (StatusCode::BAD_REQUEST, message).into_response(),
    };
    let publication = state.publication();
    let memory = Extension(held(&publication.document));
    let document = Arc::clone(&publication.document);
    let made = render(move || report::json(document, selection, None));
    let Ok(pieces) = made.await else {
        // A panic is logged where it happens.
        let message = "the JSON could not be made; the log says why\n";
        return (StatusCode::INTERNAL_SERVER_ERROR, message).into_response();
    };
    let about = [
        (header::VARY, "Accept-Encoding"),
        (header::CONTENT_TYPE, "application/json"),
    ];
    if negotiate::accepts_gzip(&headers) {
        let encoding = [(header::CONTENT_ENCODING, "gzip")];
        return (about, encoding, memory, body(Compressed::new(pieces))).into_response();
    }
    (about, memory, body(pieces.map(Bytes::from))).into_response()
}

/// Returns the memory that a reader of this document holds. Its repositories' languages are not
/// counted: they are shared with the next documents, except those that have changed.
fn held(document: &Arc<Document>) -> ResponseMemory {
    ResponseMemory {
        own: MAKING,
        shared: Some(Shared {
            // While a reader keeps this document, no other has its address.
            id: Arc::as_ptr(document).addr(),
            bytes: size_of_val::<[Row]>(&document.rows) as u64,
        }),
    }
}

fn selection(parameters: &[(String, String)]) -> Result<Selection, String> {
    let globs = |name| {
        let values = parameters.iter().filter(move |(key, _)| key == name);
        let globs = values.map(|(_, value)| {
            glob(value).map_err(|error| format!("{name} is not a glob: {error}\n"))
        });
        globs.collect::<Result<Vec<_>, _>>()
    };
    Selection::new(&globs("repo")?, &globs("language")?)
        .map_err(|error| format!("the globs are too large: {error}\n"))
}

/// Sends the pieces. A piece takes about a millisecond to make, so other tasks run in between.
fn body(pieces: impl Iterator<Item = Bytes> + Send + 'static) -> Body {
    let pieces = stream::iter(pieces).then(async |piece| {
        yield_now().await;
        Ok::<_, axum::Error>(piece)
    });
    Body::from_stream(pieces)
}

/// One gzip member, compressed piece by piece.
struct Compressed<I> {
    pieces: I,
    /// `None` once the end was written.
    encoder: Option<GzEncoder<Vec<u8>>>,
}

impl<I> Compressed<I> {
    fn new(pieces: I) -> Self {
        let encoder = GzEncoder::new(Vec::new(), Compression::fast());
        Self {
            pieces,
            encoder: Some(encoder),
        }
    }
}

impl<I: Iterator<Item = String>> Iterator for Compressed<I> {
    type Item = Bytes;

    fn next(&mut self) -> Option<Bytes> {
        const PROOF: &str = "writing into a vector cannot fail";
        let mut encoder = self.encoder.take()?;
        for piece in &mut self.pieces {
            encoder.write_all(piece.as_bytes()).expect(PROOF);
            let compressed = std::mem::take(encoder.get_mut());
            if !compressed.is_empty() {
                self.encoder = Some(encoder);
                return Some(compressed.into());
            }
        }
        Some(encoder.finish().expect(PROOF).into())
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Fixture, body, status};
    use super::MAKING;
    use crate::{
        server::ResponseMemory,
        testing::{read, snapshot},
    };
    use serde_json::Value;

    fn fixture() -> Fixture {
        let mut fixture = Fixture::new();
        fixture.show(snapshot(vec![
            read(1, "acme/app", &[("de", Some(50.0)), ("fr", None)]),
            read(2, "beta/site", &[("de", Some(100.0))]),
        ]));
        fixture
    }

    async fn asked(fixture: &Fixture, query: &str) -> Value {
        let response = fixture.ask(&format!("GET /translations.json{query}")).await;
        assert_eq!(status(&response), 200);
        serde_json::from_str(&body(response).await).unwrap()
    }

    #[tokio::test]
    async fn globs_select_repositories_and_languages() {
        let fixture = fixture();
        let all = asked(&fixture, "").await;
        assert_eq!(all["summary"]["languages"], 3);
        let one = asked(&fixture, "?repo=acme/*&language=f*&language=it").await;
        assert_eq!(one["repositories"][0]["languages"][0]["code"], "fr");
        assert_eq!(one["summary"]["languages"], 1);
        assert_eq!(one["repositories"].as_array().unwrap().len(), 1);
        let wrong = fixture.ask("GET /translations.json?repo=%5Ba").await;
        assert_eq!(status(&wrong), 400);
        assert_eq!(
            body(wrong).await,
            "repo is not a glob: unclosed character class; missing ']'\n"
        );
    }

    #[tokio::test]
    async fn readers_of_one_publication_share_its_memory() {
        let mut fixture = fixture();
        let held = async |fixture: &Fixture| {
            let mut response = fixture.ask("GET /translations.json").await;
            let memory: ResponseMemory = response.extensions_mut().remove().unwrap();
            (response, memory)
        };
        // Responses hold what they are made of until they are dropped.
        let (_first, one) = held(&fixture).await;
        let (_second, same) = held(&fixture).await;
        fixture.show(snapshot(Vec::new()));
        let (_third, other) = held(&fixture).await;
        assert_eq!(one.own, MAKING);
        let [one, same, other] = [one, same, other].map(|memory| memory.shared.unwrap());
        assert!(one.bytes > 0);
        assert_eq!(one.id, same.id);
        assert_ne!(one.id, other.id);
    }

    #[tokio::test]
    async fn gzip_carries_the_same_document() {
        use std::io::Read as _;
        let fixture = fixture();
        let plain = body(fixture.ask("GET /translations.json").await).await;
        let response = fixture
            .ask_with("GET /translations.json", &[("accept-encoding", "gzip")])
            .await;
        assert_eq!(response.headers()["content-encoding"], "gzip");
        let bytes = axum::body::to_bytes(response.into_body(), usize::MAX).await;
        let mut text = String::new();
        let bytes = bytes.unwrap();
        flate2::read::GzDecoder::new(&*bytes)
            .read_to_string(&mut text)
            .unwrap();
        assert_eq!(text, plain);
    }
}
