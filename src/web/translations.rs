//! `/translations.json` and `/translations.csv`: the JSON and CSV of `once`, made from the last
//! publication while they are sent.
//!
//! A reader that pauses holds one piece of the text and the document, however long the whole is.

use super::{
    render::{render, streamed},
    state::AppState,
};
use crate::{
    domain::document::{Document, Selection},
    report::{self, Query},
    support::clock::Timestamp,
};
use axum::{
    body::Body,
    extract::{self, State},
    http::header,
    response::{IntoResponse, Result},
};
use std::sync::Arc;

pub async fn json(
    State(state): State<Arc<AppState>>,
    extract::Query(query): extract::Query<Query>,
) -> Result<impl IntoResponse> {
    let content_type = [(header::CONTENT_TYPE, "application/json")];
    Ok((content_type, body(&state, query, report::json).await?))
}

pub async fn csv(
    State(state): State<Arc<AppState>>,
    extract::Query(query): extract::Query<Query>,
) -> Result<impl IntoResponse> {
    let headers = [
        (header::CONTENT_TYPE, "text/csv; charset=utf-8"),
        (
            header::CONTENT_DISPOSITION,
            "attachment; filename=\"translations.csv\"",
        ),
    ];
    Ok((headers, body(&state, query, report::csv).await?))
}

/// Makes the pieces of the text while they are sent: one takes about a millisecond.
async fn body<T: Iterator<Item = String> + Send + 'static>(
    state: &AppState,
    query: Query,
    pieces: impl FnOnce(Arc<Document>, Selection, Timestamp) -> T + Send + 'static,
) -> Result<Body> {
    let document = Arc::clone(&state.current().document);
    let now = document.taken_at;
    let making = render(query, now, |_, selection, since| {
        pieces(document, selection, since)
    });
    Ok(streamed(making.await?))
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
    async fn csv_has_the_same_selection_and_a_byte_order_mark() {
        let response = fixture()
            .ask("GET /translations.csv?repo=acme/*&language=de")
            .await;
        assert_eq!(
            response.headers()["content-type"],
            "text/csv; charset=utf-8"
        );
        let text = body(response).await;
        let expected = "\u{feff}repository,id,language,name,completion,ratio,target,due,ready,\
                        last_progress,url,problems,estimated_ready,read_at,not_judged,change,became,fell_from,fell_at\r\n\
                        acme/app,1,de,DE,50.0,0.5,1.0,,false,,,,,2023-11-14 22:13:20,too_early,0.0,,,\r\n";
        assert_eq!(text, expected);
    }

    #[tokio::test]
    async fn a_query_may_have_16_globs_of_512_bytes_together() {
        let fixture = fixture();
        for (count, size, code) in [(16, 32, 200), (17, 1, 400), (1, 513, 400)] {
            let glob = "a".repeat(size);
            let query = vec![format!("repo={glob}"); count].join("&");
            let response = fixture
                .ask(&format!("GET /translations.json?{query}"))
                .await;
            assert_eq!(status(&response), code, "{query}");
            if code == 400 {
                let message = "a query may have 16 choices of 512 bytes together\n";
                assert_eq!(body(response).await, message);
            }
        }
        let long = format!("GET /?language={}", "a".repeat(513));
        assert_eq!(status(&fixture.ask(&long).await), 400);
    }
}
