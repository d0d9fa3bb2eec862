//! The status page as HTML, for the server and as a file.

mod answer;
mod look;
pub mod query;
pub(crate) mod table;
pub mod view;

use crate::{
    diagnosis::Finding,
    domain::snapshot::{PollStatus, Snapshot},
    support::escape::printable,
};
use std::io;

/// Returns the page with all rows as one self-contained file, without a link or form that needs a server.
///
/// # Errors
/// Those of the template.
pub fn page(snapshot: &Snapshot, status: &PollStatus, findings: &[Finding]) -> io::Result<String> {
    let view = view::View {
        now: snapshot.taken_at,
        telemetry_path: None,
        snapshot,
        status,
        findings,
    };
    let text = view.render(&query::Query::default());
    let text = text.map_err(askama::Error::into_io_error)?;
    Ok(printable(&text))
}
