//! Rendering for people and programs: the selection of a query, and a bound on the work at a time.

use crate::{domain::document::Selection, server::max_waiting, support::glob::glob};
use axum::{
    http::{HeaderName, StatusCode, header},
    response::Result,
};
use std::sync::LazyLock;
use tokio::{sync::Semaphore, task::spawn_blocking};

/// Guards the CPU from more than two pages, or totals of JSON, at a time: people may wait, scrapes
/// may not. The rest of JSON is made while it is sent.
static RENDERERS: Semaphore = Semaphore::const_new(2);

/// The places of requests that render or wait for it.
static PLACES: LazyLock<Semaphore> = LazyLock::new(|| Semaphore::new(max_waiting()));

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

type Unrendered = (
    StatusCode,
    Option<[(HeaderName, &'static str); 1]>,
    &'static str,
);

/// Does the work on a thread for blocking work, once one of the [`RENDERERS`] is free. A client
/// that leaves earlier drops this future, and nothing is rendered for it. Fails at once if too many
/// wait.
pub(super) async fn render<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Unrendered> {
    let busy = "too many requests wait for a page or JSON; try again\n";
    let retry = Some([(header::RETRY_AFTER, "5")]);
    let Ok(_place) = PLACES.try_acquire() else {
        return Err((StatusCode::SERVICE_UNAVAILABLE, retry, busy));
    };
    let permit = RENDERERS.acquire().await;
    let permit = permit.expect("nothing closes this semaphore");
    let work = spawn_blocking(move || {
        let _permit = permit;
        work()
    });
    // A panic is logged where it happens.
    let message = "the response could not be made; the log says why\n";
    work.await
        .map_err(|_| (StatusCode::INTERNAL_SERVER_ERROR, None, message))
}
