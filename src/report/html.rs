//! The status page as HTML, for the server and as a file: a rendering of the published document.

mod answer;
mod grid;
mod look;
pub mod query;
pub mod view;

use super::Report;
use crate::{diagnosis, support::escape::printable};
use std::io;

/// Renders the page with all rows as one self-contained file, without links or forms that need a
/// server.
///
/// # Errors
/// Fails if the template fails.
pub fn page(report: &Report) -> io::Result<String> {
    let (document, findings) = (&*report.document, &*report.findings);
    let view = view::View {
        now: document.taken_at,
        server: None,
        api: &report.api,
        headline: diagnosis::headline(findings, document),
        document,
        findings,
    };
    let text = view.render(&query::Query::default());
    let text = text.map_err(askama::Error::into_io_error)?;
    Ok(printable(&text))
}
