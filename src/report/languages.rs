//! The languages that a release can ship, one code per line.

use super::{Report, cell};
use crate::domain::readiness::{self, Row};

/// Lists the codes that are ready in every repository that has them. A repository that was not read
/// or not listed may have any language, so that none is listed then.
pub fn languages(report: &Report<'_>) -> String {
    let rows = readiness::rows(report.snapshot, None);
    if !report.poll.is_success() || !rows.iter().all(Row::is_read) {
        return String::new();
    }
    readiness::languages(&rows)
        .into_iter()
        .filter(|(_, totals)| totals.is_ready())
        .map(|(code, _)| cell(code) + "\n")
        .collect()
}
