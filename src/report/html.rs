//! The status page as HTML, for the server and as a file: a rendering of the published document.

mod grid;
mod page;

pub use page::{Page, STYLE, WIDE};

use super::{Query, Report};

/// Renders the page with all rows as one self-contained file, without links or forms that need a
/// server.
pub fn page(report: &Report) -> String {
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
