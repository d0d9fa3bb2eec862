//! `/translations.json`: the JSON of `once`, made from the last publication while it is sent.
//!
//! A reader that pauses holds one piece of the text and the document, however long the whole is.

use super::{page::render, state::AppState};
use crate::{domain::document::Selection, report, server::in_turns, support::glob::glob};
use axum::{
    body::Body,
    extract::{Query, State},
    http::{StatusCode, header},
    response::{IntoResponse, Response, Result},
};
use bytes::Bytes;
use futures_util::stream;
use std::{convert::Infallible, sync::Arc};

/// The handler. `repo` and `language` are globs and may be repeated; other parameters are ignored.
pub async fn show(
    State(state): State<Arc<AppState>>,
    Query(parameters): Query<Vec<(String, String)>>,
) -> Result<Response> {
    let selection = selection(&parameters)?;
    let document = Arc::clone(&state.current().document);
    let pieces = render(move || report::json(document, selection, None)).await?;
    let content_type = [(header::CONTENT_TYPE, "application/json")];
    let pieces = stream::iter(pieces.map(|piece| Ok::<_, Infallible>(Bytes::from(piece))));
    Ok((content_type, Body::from_stream(in_turns(pieces))).into_response())
}

/// Reads the selection of a query, in which empty values choose all.
pub(super) fn selection(
    parameters: &[(impl AsRef<str>, impl AsRef<str>)],
) -> Result<Selection, (StatusCode, String)> {
    let globs = |name| {
        let values = parameters.iter();
        let values = values.map(|(key, value)| (key.as_ref(), value.as_ref()));
        let values = values.filter(|(key, value)| *key == name && !value.is_empty());
        let globs = values.map(|(_, value)| {
            glob(value).map_err(|error| format!("{name} is not a glob: {error}\n"))
        });
        globs.collect::<Result<Vec<_>, _>>()
    };
    let selection = || Selection::new(&globs("repo")?, &globs("language")?);
    selection().map_err(|message| (StatusCode::BAD_REQUEST, message))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Fixture, body, status};
    use crate::testing::{read, snapshot};
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
