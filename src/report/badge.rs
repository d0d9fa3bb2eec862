//! The JSON that Shields reads as an endpoint: <https://shields.io/badges/endpoint-badge>.

use super::Report;
use crate::{
    domain::{
        TranslationProblem,
        readiness::{self, Totals},
    },
    support::humanize::grouped,
};
use serde_json::json;

/// Counts the ready translations. The badge is green only if everything was read and is ready.
pub fn badge(report: &Report<'_>) -> String {
    let rows = readiness::rows(report.snapshot, None);
    let totals = Totals::of(&rows);
    let is_overdue = totals.count(TranslationProblem::Overdue) > 0;
    let (message, color) = if totals.unknown() == totals.all {
        ("unknown".to_owned(), "lightgrey")
    } else {
        let message = format!("{} of {} ready", grouped(totals.ready), grouped(totals.all));
        let color = match () {
            () if is_overdue => "red",
            () if totals.is_ready() && report.poll.is_success() => "brightgreen",
            () => "orange",
        };
        (message, color)
    };
    let badge = json!({
        "schemaVersion": 1,
        "label": "translations",
        "message": message,
        "color": color,
    });
    format!("{badge}\n")
}
