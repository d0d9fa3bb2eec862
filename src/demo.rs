//! The demo API: the translation service in miniature, served over real HTTP on loopback, so that people without an
//! account see what people with one see.
//!
//! It promises what the API specification says and no more: `limit` from 1 to 1000, `after` above 0, pages in the order of
//! the ids. It takes any key. Where the specification is silent, it does what a real service might: it caps its
//! pages below the limit, spells some ids as strings, leaves out a field here and there, answers 429 or 500 now and
//! then, and once in a while cannot read one repository for some seconds.
//!
//! What it answers depends on the time since its start and the number of the request alone.

mod world;

pub use world::targets;

use crate::model::RepositoryId;
use axum::{
    Router,
    extract::{Path, Query, Request, State, rejection::QueryRejection},
    http::{StatusCode, header},
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::get,
};
use serde::Deserialize;
use serde_json::{Value, json};
use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};
use tokio::{net::TcpListener, task::JoinHandle, time::Instant};
use world::{REPOSITORIES, Repository};

/// The most repositories on one page, whatever `limit` asks for.
pub const PAGE_CAP: usize = 10;

/// A running demo API; it stops when this is dropped.
#[derive(Debug)]
pub struct DemoApi {
    /// Root of the API, with a trailing slash.
    pub base_url: String,
    server: JoinHandle<()>,
}

impl Drop for DemoApi {
    fn drop(&mut self) {
        self.server.abort();
    }
}

/// Starts the demo API on a free port of 127.0.0.1, within the current tokio runtime.
///
/// # Errors
///
/// There is no port of 127.0.0.1 to listen on.
pub async fn start() -> io::Result<DemoApi> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    let base_url = format!("http://{}/", listener.local_addr()?);
    let server = tokio::spawn(async move {
        if let Err(error) = axum::serve(listener, router()).await {
            tracing::error!(%error, "the demo API ended");
        }
    });
    Ok(DemoApi { base_url, server })
}

/// The API; its time begins now.
fn router() -> Router {
    let api = Arc::new(Api {
        started: Instant::now(),
        requests: AtomicU64::new(0),
    });
    Router::new()
        .route("/v1/repositories", get(list_repositories))
        .route("/v1/repositories/{id}/languages", get(list_languages))
        .fallback(|| async { refusal(StatusCode::NOT_FOUND, "there is nothing at this path") })
        .layer(middleware::from_fn_with_state(api.clone(), stumble))
        .with_state(api)
}

#[derive(Debug)]
struct Api {
    started: Instant,
    requests: AtomicU64,
}

/// Fails one request in a hundred.
async fn stumble(State(api): State<Arc<Api>>, request: Request, next: Next) -> Response {
    match api.requests.fetch_add(1, Ordering::Relaxed) % 300 {
        70 => {
            let message = "too many requests, wait a second";
            let refusal = refusal(StatusCode::TOO_MANY_REQUESTS, message);
            ([(header::RETRY_AFTER, "1")], refusal).into_response()
        }
        150 | 290 => refusal(StatusCode::INTERNAL_SERVER_ERROR, "something went wrong"),
        _ => next.run(request).await,
    }
}

/// The query of a listing. Each parameter may be given once.
#[derive(Deserialize)]
struct Listing {
    #[serde(default = "page_cap")]
    limit: usize,
    after: Option<u64>,
}

fn page_cap() -> usize {
    PAGE_CAP
}

async fn list_repositories(query: Result<Query<Listing>, QueryRejection>) -> Response {
    let Listing { limit, after } = match query {
        Ok(Query(query)) => query,
        Err(rejected) => return refusal(StatusCode::BAD_REQUEST, &rejected.body_text()),
    };
    if !(1..=1000).contains(&limit)
        || after.is_some_and(|after| !(1..=RepositoryId::MAX).contains(&after))
    {
        return refusal(
            StatusCode::BAD_REQUEST,
            "limit is 1 to 1000, and after 1 to 2^63 - 1",
        );
    }
    let after = after.unwrap_or(0);
    let page = REPOSITORIES
        .iter()
        .filter(|repository| repository.id > after)
        .take(limit.min(PAGE_CAP));
    answer(StatusCode::OK, &page.map(Repository::json).collect())
}

async fn list_languages(State(api): State<Arc<Api>>, Path(id): Path<String>) -> Response {
    let id: u64 = id.parse().unwrap_or(0);
    let Some(repository) = REPOSITORIES.iter().find(|repository| repository.id == id) else {
        let message = "no repository with this id is connected to the account";
        return refusal(StatusCode::NOT_FOUND, message);
    };
    let elapsed = api.started.elapsed();
    if repository.is_out(elapsed) {
        let message = "this repository cannot be read at the moment";
        return refusal(StatusCode::SERVICE_UNAVAILABLE, message);
    }
    answer(StatusCode::OK, &repository.languages_json(elapsed))
}

fn refusal(status: StatusCode, message: &str) -> Response {
    answer(status, &json!({ "message": message }))
}

fn answer(status: StatusCode, body: &Value) -> Response {
    (
        status,
        [(header::CONTENT_TYPE, "application/json")],
        body.to_string(),
    )
        .into_response()
}

#[cfg(test)]
mod tests;
