//! The status page as HTML, for the server and as a file.

mod answer;
pub mod data;
pub(crate) mod grid;
mod look;
pub mod query;
pub mod view;

use crate::{
    diagnosis::Finding,
    domain::{polling::PollStatus, snapshot::Snapshot},
    support::escape::printable,
};
use std::io;

/// Renders the page with all rows as one self-contained file, without links or forms that need a
/// server.
///
/// # Errors
/// Fails if the template fails.
pub fn page(snapshot: &Snapshot, status: &PollStatus, findings: &[Finding]) -> io::Result<String> {
    let view = data::View {
        now: snapshot.taken_at,
        started_at: None,
        telemetry_path: None,
        snapshot,
        status,
        findings,
    };
    let text = view.render(&query::Query::default());
    let text = text.map_err(askama::Error::into_io_error)?;
    Ok(printable(&text))
}
