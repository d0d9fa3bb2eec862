//! The demo API: a miniature of the translation service, served over HTTP on loopback, for people
//! without an account.
//!
//! The demo API lists repositories by rising ids. It accepts any key, and any number as `after`. It
//! behaves like a real service: it caps pages, and leaves out a completion.
//!
//! A response depends only on the time since the start. The world has a [`history`] of three weeks,
//! so that the first minute shows forecasts, and translations that have stalled or regressed.

mod world;

pub use world::{history, targets};

use axum::{
    Json, Router,
    extract::{Path, Query, State},
    http::StatusCode,
    response::{IntoResponse, Response},
    routing::get,
};
use std::{collections::BTreeMap, io};
use tokio::{net::TcpListener, time::Instant};
use world::{DemoRepository, WORLD};

/// The maximum number of repositories on a page, whatever the `limit` of the request.
const PAGE_CAP: usize = 10;

/// Starts the demo API on a free port of 127.0.0.1, in the current tokio runtime. Returns its base
/// URL.
///
/// # Errors
///
/// Fails if 127.0.0.1 has no free port.
pub async fn start() -> io::Result<String> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    let base_url = format!("http://{}/", listener.local_addr()?);
    tokio::spawn(async { axum::serve(listener, router()).await });
    Ok(base_url)
}

/// Returns the routes of the API, whose world begins to change now.
fn router() -> Router {
    Router::new()
        .route("/v1/repositories", get(list_repositories))
        .route("/v1/repositories/{id}/languages", get(list_languages))
        .with_state(Instant::now())
}

/// Lists at most [`PAGE_CAP`] repositories, whatever the `limit`.
async fn list_repositories(
    Query(query): Query<BTreeMap<String, u64>>,
) -> Json<Vec<&'static DemoRepository>> {
    let after = query.get("after").copied().unwrap_or_default();
    let later = WORLD.repositories.iter().filter(|one| one.id > after);
    Json(later.take(PAGE_CAP).collect())
}

async fn list_languages(State(started): State<Instant>, Path(id): Path<u64>) -> Response {
    let second = i64::try_from(started.elapsed().as_secs()).unwrap_or_default();
    match WORLD.repositories.iter().find(|one| one.id == id) {
        None => StatusCode::NOT_FOUND.into_response(),
        Some(one) => Json(one.languages_json(second)).into_response(),
    }
}

#[cfg(test)]
mod tests;
