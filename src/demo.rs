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

use axum::{
    Router,
    extract::{Path, Query, Request, State},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::get,
};
use secrecy::{ExposeSecret, SecretString};
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
    iter::repeat_with(fastrand::alphanumeric).take(32).collect::<String>().into()
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
    Ok(DemoApi { base_url, key, server })
}

impl World {
    /// The API of this world for callers with `key`; its time begins now.
    pub fn router(self, key: SecretString) -> Router {
        let api = Arc::new(Api { world: self, key, started: Instant::now(), requests: AtomicU64::new(0) });
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
        let mut response = refusal(StatusCode::UNAUTHORIZED, "send the API key as a bearer token");
        response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        return response;
    }
    match api.world.stumble(api.requests.fetch_add(1, Ordering::Relaxed)) {
        Some(world::Stumble::TooManyRequests) => {
            let mut response = refusal(StatusCode::TOO_MANY_REQUESTS, "too many requests, wait a second");
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
            response
        }
        Some(world::Stumble::InternalError) => refusal(StatusCode::INTERNAL_SERVER_ERROR, "something went wrong"),
        None => next.run(request).await,
    }
}

fn bears_key(headers: &HeaderMap, key: &str) -> bool {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let (Some(value), None) = (values.next(), values.next()) else { return false };
    value
        .to_str()
        .ok()
        .and_then(|value| value.split_once(' '))
        .is_some_and(|(scheme, token)| scheme.eq_ignore_ascii_case("bearer") && token.trim_start() == key)
}

async fn list_repositories(State(api): State<Arc<Api>>, Query(query): Query<Vec<(String, String)>>) -> Response {
    let after = match parameter(&query, "after", i64::MAX.unsigned_abs()) {
        Ok(after) => after.unwrap_or(0),
        Err(refused) => return refused,
    };
    let limit = match parameter(&query, "limit", 1000) {
        Ok(limit) => limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(PAGE_CAP),
        Err(refused) => return refused,
    };
    let page = api.world.repositories().iter().filter(|repository| repository.id > after).take(limit.min(PAGE_CAP));
    answer(StatusCode::OK, &page.map(Repository::to_json).collect())
}

async fn list_languages(State(api): State<Arc<Api>>, Path(id): Path<String>) -> Response {
    let Some(repository) = id.parse().ok().and_then(|id| api.world.repository(id)) else {
        return refusal(StatusCode::NOT_FOUND, "no repository with this id is connected to the account");
    };
    let elapsed = api.started.elapsed();
    if api.world.is_out(repository, elapsed) {
        return refusal(StatusCode::SERVICE_UNAVAILABLE, "this repository cannot be read at the moment");
    }
    answer(StatusCode::OK, &repository.languages.iter().map(|language| language.to_json(elapsed)).collect())
}

/// The value of a query parameter that must be an integer from 1 to `max`.
#[expect(clippy::result_large_err, reason = "the error is the answer itself")]
fn parameter(query: &[(String, String)], name: &str, max: u64) -> Result<Option<u64>, Response> {
    let mut values = query.iter().filter(|(key, _)| key == name).map(|(_, value)| value);
    let value = match (values.next(), values.next()) {
        (None, _) => return Ok(None),
        (Some(value), None) => value.parse().ok().filter(|value| (1..=max).contains(value)),
        (Some(_), Some(_)) => None,
    };
    value.map(Some).ok_or_else(|| {
        refusal(StatusCode::BAD_REQUEST, &format!("{name} has to be given once, as an integer from 1 to {max}"))
    })
}

fn refusal(status: StatusCode, message: &str) -> Response {
    answer(status, &json!({ "message": message }))
}

fn answer(status: StatusCode, body: &Value) -> Response {
    (status, [(header::CONTENT_TYPE, "application/json")], body.to_string()).into_response()
}

#[cfg(test)]
mod tests;
