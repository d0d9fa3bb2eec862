//! An API of any size. It encodes its responses before the first request, so that it takes little
//! CPU from the clients under test.

use crate::Outcome;
use axum::{
    Router,
    extract::{Path, Query, State},
    http::{StatusCode, header},
    response::{IntoResponse, Response},
    routing::get,
};
use hyper::body::Bytes;
use serde::Deserialize;
use serde_json::json;
use std::{
    io::Write as _,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

/// The codes and names of languages.
const LANGUAGES: &str = "\
    ar=Arabic, bg=Bulgarian, cs=Czech, da=Danish, de=German, el=Greek, en-GB=English (UK), \
    es=Spanish, es-MX=Spanish (Mexico), et=Estonian, fi=Finnish, fr=French, he=Hebrew, hi=Hindi, \
    hr=Croatian, hu=Hungarian, id=Indonesian, it=Italian, ja=Japanese, ko=Korean, nl=Dutch, \
    nb=Norwegian Bokmål, pl=Polish, pt-BR=Portuguese (Brazil), ru=Russian, sv=Swedish, \
    tr=Turkish, uk=Ukrainian, zh-Hans=Chinese (Simplified), zh-Hant=Chinese (Traditional)";

struct Api {
    repositories: Vec<serde_json::Value>,
    /// Two responses for each repository. Polls receive them in turn, so that every poll finds
    /// every completion changed.
    languages: Vec<[Bytes; 2]>,
    /// The number of requests for languages so far.
    requests: AtomicUsize,
}

#[derive(Deserialize)]
struct Listing {
    #[serde(default = "most")]
    limit: usize,
    #[serde(default)]
    after: usize,
}

fn most() -> usize {
    1000
}

pub fn serve(repositories: &str, languages: &str) -> Outcome {
    let (repositories, languages): (usize, usize) = (repositories.parse()?, languages.parse()?);
    let mut random = fastrand::Rng::with_seed(7);
    let api = Api {
        repositories: (1..=repositories).map(repository).collect(),
        languages: (0..repositories)
            .map(|_| [0, 1].map(|_| language_list(languages, &mut random)))
            .collect(),
        requests: AtomicUsize::new(0),
    };
    crate::block_on(async {
        let router = Router::new()
            .route("/v1/repositories", get(list))
            .route("/v1/repositories/{id}/languages", get(one))
            .with_state(Arc::new(api));
        let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await?;
        println!("http://{}", listener.local_addr()?);
        std::io::stdout().flush()?;
        axum::serve(listener, router).await?;
        Ok(())
    })
}

fn repository(id: usize) -> serde_json::Value {
    let (year, month, minute) = (10 + id % 15, 1 + id % 12, id % 60);
    json!({
        "id": id,
        "name": format!("organisation-{:02}/project-{id:05}", id % 40),
        "private": id.is_multiple_of(3),
        "created_at": format!("20{year:02}-{month:02}-17T09:{minute:02}:00Z"),
    })
}

fn language_list(count: usize, random: &mut fastrand::Rng) -> Bytes {
    let languages = LANGUAGES
        .split(", ")
        .filter_map(|language| language.split_once('='));
    let entries = languages.take(count).map(|(code, name)| {
        let completion = f64::from(random.u32(0..=1000)) / 10.0;
        json!({ "code": code, "name": name, "completion": completion })
    });
    Bytes::from(entries.collect::<serde_json::Value>().to_string())
}

/// Lists a page. The ids are 1, 2, 3 and so on, so that the cursor is the index of the next one.
async fn list(
    State(api): State<Arc<Api>>,
    Query(Listing { limit, after }): Query<Listing>,
) -> Response {
    let page = api.repositories.get(after..).unwrap_or_default();
    let page = &page[..page.len().min(limit.min(most()))];
    answer(serde_json::to_vec(page).unwrap_or_default().into())
}

async fn one(State(api): State<Arc<Api>>, Path(id): Path<usize>) -> Response {
    let poll = api.requests.fetch_add(1, Ordering::Relaxed) / api.languages.len();
    match api.languages.get(id.wrapping_sub(1)) {
        Some(languages) => answer(languages[poll % 2].clone()),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

fn answer(json: Bytes) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], json).into_response()
}
