//! The demo API: the translation service in miniature, served over real HTTP on loopback, so that people without an
//! account see what people with one see.
//!
//! It promises what the API specification says and no more: a bearer key, `limit` from 1 to 1000, `after` above 0,
//! pages in the order of the ids. Where the specification is silent, it does what a real service might: it caps its
//! pages below the limit, spells some ids as strings, leaves out a field here and there, answers 429 or 500 now and
//! then, and once in a while cannot read one repository for some seconds.
//!
//! What it answers is a pure function of the seed, the time since its start and the number of the request: see
//! [`World`].

mod catalogue;
mod world;

pub use world::{Language, Repository, World};

use crate::model::RepositoryId;
use axum::{
    Router,
    extract::{Path, Query, Request, State, rejection::QueryRejection},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::get,
};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::{Value, json};
use std::{
    io, iter,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};
use tokio::{net::TcpListener, task::JoinHandle, time::Instant};

/// The most repositories on one page, whatever `limit` asks for.
pub const PAGE_CAP: usize = 10;

/// A running demo API; it stops when this is dropped.
#[derive(Debug)]
pub struct DemoApi {
    /// Root of the API, with a trailing slash.
    pub base_url: String,
    /// The key that it accepts.
    pub key: SecretString,
    server: JoinHandle<()>,
}

impl Drop for DemoApi {
    fn drop(&mut self) {
        self.server.abort();
    }
}

/// A key that nobody can guess.
#[must_use]
pub fn random_key() -> SecretString {
    iter::repeat_with(fastrand::alphanumeric)
        .take(32)
        .collect::<String>()
        .into()
}

/// Starts the demo API on a free port of 127.0.0.1, within the current tokio runtime. It accepts only `key`.
///
/// # Errors
///
/// There is no port of 127.0.0.1 to listen on.
pub async fn start(seed: u64, key: SecretString) -> io::Result<DemoApi> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    let base_url = format!("http://{}/", listener.local_addr()?);
    let router = World::new(seed).router(key.clone());
    let server = tokio::spawn(async move {
        if let Err(error) = axum::serve(listener, router).await {
            tracing::error!(%error, "the demo API ended");
        }
    });
    Ok(DemoApi {
        base_url,
        key,
        server,
    })
}

impl World {
    /// The API of this world for callers with `key`; its time begins now.
    pub fn router(self, key: SecretString) -> Router {
        let api = Arc::new(Api {
            world: self,
            key,
            started: Instant::now(),
            requests: AtomicU64::new(0),
        });
        Router::new()
            .route("/v1/repositories", get(list_repositories))
            .route("/v1/repositories/{id}/languages", get(list_languages))
            .fallback(|| async { refusal(StatusCode::NOT_FOUND, "there is nothing at this path") })
            .layer(middleware::from_fn_with_state(api.clone(), guard))
            .with_state(api)
    }
}

#[derive(Debug)]
struct Api {
    world: World,
    key: SecretString,
    started: Instant,
    requests: AtomicU64,
}

/// Checks the key, then fails if the world says so.
async fn guard(State(api): State<Arc<Api>>, request: Request, next: Next) -> Response {
    if !bears_key(request.headers(), api.key.expose_secret()) {
        let mut response = refusal(
            StatusCode::UNAUTHORIZED,
            "send the API key as a bearer token",
        );
        response
            .headers_mut()
            .insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        return response;
    }
    match api
        .world
        .stumble(api.requests.fetch_add(1, Ordering::Relaxed))
    {
        Some(world::Stumble::TooManyRequests) => {
            let mut response = refusal(
                StatusCode::TOO_MANY_REQUESTS,
                "too many requests, wait a second",
            );
            response
                .headers_mut()
                .insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
            response
        }
        Some(world::Stumble::InternalError) => {
            refusal(StatusCode::INTERNAL_SERVER_ERROR, "something went wrong")
        }
        None => next.run(request).await,
    }
}

/// Whether exactly one Authorization header is sent, with this key.
fn bears_key(headers: &HeaderMap, key: &str) -> bool {
    let sent: Vec<_> = headers.get_all(header::AUTHORIZATION).iter().collect();
    let [credentials] = sent.as_slice() else {
        return false;
    };
    let credentials = credentials
        .to_str()
        .ok()
        .and_then(|credentials| credentials.split_once(' '));
    credentials.is_some_and(|(scheme, sent)| scheme.eq_ignore_ascii_case("bearer") && sent == key)
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

async fn list_repositories(
    State(api): State<Arc<Api>>,
    query: Result<Query<Listing>, QueryRejection>,
) -> Response {
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
    let page = api
        .world
        .repositories()
        .iter()
        .filter(|repository| repository.id > after)
        .take(limit.min(PAGE_CAP));
    answer(StatusCode::OK, &page.map(Repository::to_json).collect())
}

async fn list_languages(State(api): State<Arc<Api>>, Path(id): Path<String>) -> Response {
    let Some(repository) = id.parse().ok().and_then(|id| api.world.repository(id)) else {
        return refusal(
            StatusCode::NOT_FOUND,
            "no repository with this id is connected to the account",
        );
    };
    let elapsed = api.started.elapsed();
    if api.world.is_out(repository, elapsed) {
        return refusal(
            StatusCode::SERVICE_UNAVAILABLE,
            "this repository cannot be read at the moment",
        );
    }
    answer(
        StatusCode::OK,
        &repository
            .languages
            .iter()
            .map(|language| language.to_json(elapsed))
            .collect(),
    )
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
