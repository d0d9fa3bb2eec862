//! Rendering for people and programs: the selection of a query, and a bound on the work at a time.

use crate::{
    domain::{document::Selection, targets::parse_due},
    report::{a_week_ago, parse_since},
    support::{blocking::off_the_runtime, clock::Timestamp, glob::glob},
};
use axum::{http::StatusCode, response::Result};
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
fn selection(parameters: &[(String, String)]) -> Result<Selection, String> {
    let of = |wanted| {
        let globs = parameters.iter();
        globs.filter(move |(name, text)| name == wanted && !text.is_empty())
    };
    let all = of("repo").chain(of("language")).chain(of("due"));
    let size: usize = all.clone().map(|(_, text)| text.len()).sum();
    if all.count() > MAX_GLOBS || size > MAX_TEXT {
        return Err(format!(
            "a query may have {MAX_GLOBS} choices of {MAX_TEXT} bytes together\n"
        ));
    }
    let compiled = |wanted| {
        let globs = of(wanted).map(|(name, text)| {
            glob(text).map_err(|error| format!("{name} is not a glob: {error}\n"))
        });
        globs.collect::<Result<Vec<_>, _>>()
    };
    let dates = of("due").map(|(_, text)| {
        let day = || parse_due(text).map(|due| Some(due.day_start()));
        let date = if text == "none" { Some(None) } else { day() };
        date.ok_or_else(|| "due is a day such as 2026-12-24, or none\n".to_owned())
    });
    Ok(Selection {
        dates: dates.collect::<Result<_, _>>()?,
        ..Selection::new(&compiled("repo")?, &compiled("language")?)?
    })
}

/// Does the work on a thread for blocking work, once one of the [`RENDERERS`] is free, with the
/// selection of a query and the day to compare with. A client that leaves earlier drops this future, and nothing is rendered
/// for it.
pub(super) async fn render<T: Send + 'static>(
    parameters: Vec<(String, String)>,
    now: Timestamp,
    work: impl FnOnce(Selection, Timestamp) -> T + Send + 'static,
) -> Result<T> {
    let permit = RENDERERS.acquire().await;
    let permit = permit.expect("nothing closes this semaphore");
    let rendering = off_the_runtime(move || {
        let _permit = permit;
        let since = parameters.iter().rev();
        let mut since = since.filter(|(name, text)| name == "since" && !text.is_empty());
        let since = since.next().map(|(_, text)| parse_since(text, now));
        let since = since
            .transpose()
            .map_err(|hint| format!("since: {hint}\n"))?;
        let since = since.unwrap_or_else(|| a_week_ago(now));
        Ok(work(selection(&parameters)?, since))
    });
    let rendered = rendering.await;
    Ok(rendered.map_err(|message: String| (StatusCode::BAD_REQUEST, message))?)
}
