//! The languages that a release can ship, one code per line.

use super::cell;
use crate::domain::{
    readiness::{self, Row},
    snapshot::Snapshot,
};

/// Lists the codes that are ready in every repository that has them. An unread repository may have
/// any language, so that none is listed then.
pub fn languages(snapshot: &Snapshot) -> String {
    let rows = readiness::rows(snapshot, None);
    if !rows.iter().all(Row::is_read) {
        return String::new();
    }
    readiness::languages(&rows)
        .into_iter()
        .filter(|(_, totals)| totals.is_ready())
        .map(|(code, _)| cell(code) + "\n")
        .collect()
}
