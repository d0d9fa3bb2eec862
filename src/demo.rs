//! The demo API: the translation service in miniature, served over real HTTP on loopback, so that people without an
//! account see what people with one see.
//!
//! Its pages are in the order of the ids. It takes any key, and any number as `limit` and `after`. Where the API
//! specification is silent, it does what a real service might: it caps its pages below the limit, spells some ids as
//! strings, leaves out a completion, answers 429 or 500 now and then, and once in a while cannot read one repository for
//! some seconds.
//!
//! What it answers depends on the time since its start and the number of the request alone.

mod world;

pub use world::targets;

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
use world::{Repository, WORLD};

/// The most repositories on one page, whatever `limit` asks for.
const PAGE_CAP: usize = 10;

static REQUESTS: AtomicU64 = AtomicU64::new(0);

/// Starts the demo API on a free port of 127.0.0.1, within the current tokio runtime. Returns its root, with a trailing
/// slash.
///
/// # Errors
///
/// There is no port of 127.0.0.1 to listen on.
pub async fn start() -> io::Result<String> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    let base_url = format!("http://{}/", listener.local_addr()?);
    tokio::spawn(async { axum::serve(listener, router()).await });
    Ok(base_url)
}

/// The API; its time begins now.
fn router() -> Router {
    Router::new()
        .route("/v1/repositories", get(list_repositories))
        .route("/v1/repositories/{id}/languages", get(list_languages))
        .layer(middleware::from_fn(stumble))
        .with_state(Instant::now())
}

/// Fails one request in a hundred.
async fn stumble(request: Request, next: Next) -> Response {
    match REQUESTS.fetch_add(1, Ordering::Relaxed) % 200 {
        70 => (StatusCode::TOO_MANY_REQUESTS, [(header::RETRY_AFTER, "1")]).into_response(),
        150 => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        _ => next.run(request).await,
    }
}

/// The query of a listing. Each parameter may be given once.
#[derive(Deserialize)]
struct Listing {
    limit: Option<usize>,
    #[serde(default)]
    after: u64,
}

async fn list_repositories(Query(Listing { limit, after }): Query<Listing>) -> Json<Value> {
    let later = WORLD.repositories.iter().filter(|one| one.id > after);
    let page = later.take(limit.unwrap_or(PAGE_CAP).min(PAGE_CAP));
    Json(page.map(Repository::json).collect())
}

async fn list_languages(State(started): State<Instant>, Path(id): Path<u64>) -> Response {
    let elapsed = started.elapsed();
    match WORLD.repositories.iter().find(|one| one.id == id) {
        None => StatusCode::NOT_FOUND.into_response(),
        Some(one) if one.is_out(elapsed) => StatusCode::SERVICE_UNAVAILABLE.into_response(),
        Some(one) => Json(one.languages_json(elapsed)).into_response(),
    }
}

#[cfg(test)]
mod tests;
