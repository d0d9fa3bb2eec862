//! Rendering for people and programs: the selection of a query, and a bound on the work at a time.

use crate::{
    domain::{document::Selection, targets::parse_due},
    report::{Query, SELECTING, a_week_ago, parse_since},
    support::{blocking::off_the_runtime, clock::Timestamp, glob::glob},
};
use axum::{
    body::{Body, Bytes},
    http::StatusCode,
    response::Result,
};
use futures_util::stream;
use std::convert::Infallible;
use tokio::sync::Semaphore;

/// Guards the CPU from more than two pages, or totals of JSON, at a time: people may wait, scrapes
/// may not. The rest of JSON is made while it is sent.
static RENDERERS: Semaphore = Semaphore::const_new(2);

/// Maximum number of globs and dates in a query.
const MAX_GLOBS: usize = 16;

/// Maximum size of them together: compiled, globs take some hundred times as much, for as
/// long as a client reads JSON or CSV.
const MAX_TEXT: usize = 512;

/// Parses the choices of a query. Empty values choose all; other parameters are ignored.
fn selection(query: &Query) -> Result<Selection, String> {
    let all: Vec<_> = SELECTING.iter().flat_map(|name| query.all(name)).collect();
    if all.len() > MAX_GLOBS || all.concat().len() > MAX_TEXT {
        return Err(format!(
            "a query may have {MAX_GLOBS} choices of {MAX_TEXT} bytes together\n"
        ));
    }
    let globs = |name| {
        query
            .all(name)
            .map(|text| glob(text).map_err(|error| format!("{name} is not a glob: {error}\n")))
            .collect::<Result<Vec<_>, _>>()
    };
    let dates = query.all("due").map(|text| match parse_due(text) {
        Some(due) => Ok(Some(due.day_start())),
        None if text == "none" => Ok(None),
        None => Err("due is a day such as 2026-12-24, or none\n"),
    });
    Ok(Selection {
        dates: dates.collect::<Result<_, _>>()?,
        ..Selection::new(&globs("repo")?, &globs("language")?)?
    })
}

/// Does the work on a thread for blocking work, once one of the [`RENDERERS`] is free, with the
/// selection of a query and the day to compare with. A client that leaves earlier drops this
/// future, and nothing is rendered for it.
pub(super) async fn render<T: Send + 'static>(
    query: Query,
    now: Timestamp,
    work: impl FnOnce(&Query, Selection, Timestamp) -> T + Send + 'static,
) -> Result<T> {
    let permit = RENDERERS
        .acquire()
        .await
        .expect("nothing closes this semaphore");
    let rendering = off_the_runtime(move || {
        let _permit = permit;
        let since = match query.get("since") {
            "" => a_week_ago(now),
            text => parse_since(text, now).map_err(|hint| format!("since: {hint}\n"))?,
        };
        Ok(work(&query, selection(&query)?, since))
    });
    let refused = |message: String| (StatusCode::BAD_REQUEST, message).into();
    rendering.await.map_err(refused)
}

/// Returns a body whose pieces are made while they are sent.
pub(super) fn streamed(pieces: impl Iterator<Item: Into<Bytes>> + Send + 'static) -> Body {
    Body::from_stream(stream::iter(pieces.map(Ok::<_, Infallible>)))
}
