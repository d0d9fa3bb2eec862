//! The status page as HTML: a rendering of the published document. The server renders [`Page`]
//! for each request (`web/page.rs`), and `once` writes it to a [`file()`].

mod grid;
mod page;

pub use page::{Page, STYLE, WIDE};

use super::{Query, Report};

/// Renders the page with all rows as one self-contained file, without links or forms that need a
/// server.
pub fn file(report: &Report) -> String {
    let page = Page {
        now: report.document.taken_at,
        telemetry_path: None,
        api: &report.api,
        document: &report.document,
        findings: &report.findings,
        since: report.since,
        query: &Query::default(),
    };
    page.html()
}
