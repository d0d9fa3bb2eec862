//! The status page as HTML, for the server and as a file: a rendering of the published document.

mod answer;
mod grid;
mod look;
pub mod query;
pub mod view;

use crate::{diagnosis::Finding, domain::document::Document, support::escape::printable};
use std::io;

/// Renders the page with all rows as one self-contained file, without links or forms that need a
/// server. `api` is the API's host, and `headline` the state of polling.
///
/// # Errors
/// Fails if the template fails.
pub fn page(
    document: &Document,
    api: &str,
    headline: String,
    findings: &[Finding],
) -> io::Result<String> {
    let view = view::View {
        now: document.taken_at,
        server: None,
        api,
        headline,
        document,
        findings,
    };
    let text = view.render(&query::Query::default());
    let text = text.map_err(askama::Error::into_io_error)?;
    Ok(printable(&text))
}
