//! Rendering for people and programs: the selection of a query, and a bound on the work at a time.

use crate::{domain::document::Selection, support::glob::glob};
use axum::http::StatusCode;
use tokio::{sync::Semaphore, task::spawn_blocking};

/// Guards the CPU from more than two pages, or totals of JSON, at a time: people may wait, scrapes
/// may not. The rest of JSON is made while it is sent.
static RENDERERS: Semaphore = Semaphore::const_new(2);

/// Maximum number of globs in a query.
const MAX_GLOBS: usize = 16;

/// Maximum size of all globs in a query: compiled, they take some hundred times as much.
const MAX_TEXT: usize = 1024;

/// The globs of a query with the names of their parameters. Empty values choose all.
struct Globs(Vec<(&'static str, String)>);

impl Globs {
    fn of(parameters: &[(impl AsRef<str>, impl AsRef<str>)]) -> Result<Self, String> {
        let mut globs = Vec::new();
        for (key, value) in parameters {
            let known = ["repo", "language"].into_iter();
            let name = known.filter(|name| *name == key.as_ref()).last();
            let value = Some(value.as_ref()).filter(|value| !value.is_empty());
            globs.extend(name.zip(value.map(str::to_owned)));
        }
        let size: usize = globs.iter().map(|(_, glob)| glob.len()).sum();
        if globs.len() > MAX_GLOBS || size > MAX_TEXT {
            return Err(format!(
                "a query may have {MAX_GLOBS} globs of {MAX_TEXT} bytes together\n"
            ));
        }
        Ok(Self(globs))
    }

    fn compile(&self) -> Result<Selection, String> {
        let of = |wanted| {
            let globs = self.0.iter().filter(|(name, _)| *name == wanted);
            let globs = globs.map(|(name, text)| {
                glob(text).map_err(|error| format!("{name} is not a glob: {error}\n"))
            });
            globs.collect::<Result<Vec<_>, _>>()
        };
        Selection::new(&of("repo")?, &of("language")?)
    }
}

/// Does the work on a thread for blocking work, once one of the [`RENDERERS`] is free, with the
/// selection of a query, whose globs are compiled no earlier. A client that leaves earlier drops
/// this future, and nothing is rendered for it.
pub(super) async fn render<T: Send + 'static>(
    parameters: &[(impl AsRef<str>, impl AsRef<str>)],
    work: impl FnOnce(Selection) -> T + Send + 'static,
) -> Result<T, (StatusCode, String)> {
    let bad_request = |message| (StatusCode::BAD_REQUEST, message);
    let globs = Globs::of(parameters).map_err(bad_request)?;
    let permit = RENDERERS.acquire().await;
    let permit = permit.expect("nothing closes this semaphore");
    let work = spawn_blocking(move || {
        let _permit = permit;
        globs.compile().map(work)
    });
    let done = work.await.map_err(|_| {
        // A panic is logged where it happens.
        let message = "the response could not be made; the log says why\n";
        (StatusCode::INTERNAL_SERVER_ERROR, message.to_owned())
    });
    done?.map_err(bad_request)
}
