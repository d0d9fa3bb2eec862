//! The demo API: a miniature of the translation service, served over HTTP on loopback, for people
//! without an account.
//!
//! The demo API lists repositories by rising ids. It accepts any key, and any number as `limit` and
//! `after`. Within the API specification it behaves like an awkward real service: it caps pages
//! below the limit, spells some ids as strings, leaves out a completion, responds with 429 or 500
//! now and then, and fails to read one repository for some seconds every few minutes.
//!
//! A response depends only on the time since the start and the number of the request. The world
//! has a [`history`] of three weeks, so that the first minute shows forecasts, and translations
//! that have stalled or regressed.

mod world;

pub use world::{history, targets};

use axum::{
    Json, Router,
    extract::{Path, Query, Request, State},
    http::{StatusCode, header},
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::get,
};
use serde::Deserialize;
use serde_json::Value;
use std::{
    io,
    sync::atomic::{AtomicU64, Ordering},
};
use tokio::{net::TcpListener, time::Instant};
use world::{DemoRepository, WORLD};

/// The maximum number of repositories on a page, whatever the `limit` of the request.
const PAGE_CAP: usize = 10;

static REQUESTS: AtomicU64 = AtomicU64::new(0);

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
        .layer(middleware::from_fn(stumble))
        .with_state(Instant::now())
}

/// Fails one request in a hundred, alternately with 429 and 500.
async fn stumble(request: Request, next: Next) -> Response {
    match REQUESTS.fetch_add(1, Ordering::Relaxed) % 200 {
        70 => (StatusCode::TOO_MANY_REQUESTS, [(header::RETRY_AFTER, "1")]).into_response(),
        150 => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        _ => next.run(request).await,
    }
}

/// The query of a listing. serde rejects a repeated parameter.
#[derive(Deserialize)]
struct ListingQuery {
    limit: Option<usize>,
    #[serde(default)]
    after: u64,
}

async fn list_repositories(
    Query(ListingQuery { limit, after }): Query<ListingQuery>,
) -> Json<Value> {
    let later = WORLD.repositories.iter().filter(|one| one.id > after);
    let page = later.take(limit.unwrap_or(PAGE_CAP).min(PAGE_CAP));
    Json(page.map(DemoRepository::json).collect())
}

async fn list_languages(State(started): State<Instant>, Path(id): Path<u64>) -> Response {
    let second = i64::try_from(started.elapsed().as_secs()).unwrap_or_default();
    match WORLD.repositories.iter().find(|one| one.id == id) {
        None => StatusCode::NOT_FOUND.into_response(),
        Some(one) if one.is_out(second) => StatusCode::SERVICE_UNAVAILABLE.into_response(),
        Some(one) => Json(one.languages_json(second)).into_response(),
    }
}

#[cfg(test)]
mod tests;
