//! The JSON that Shields reads as an endpoint: <https://shields.io/badges/endpoint-badge>.

use super::{Report, ready};
use crate::domain::TranslationProblem;
use serde_json::json;

/// Counts the ready translations. The badge is green only if everything was read and is ready.
pub fn badge(report: &Report) -> String {
    let document = &*report.document;
    let totals = &document.totals;
    let (message, color) = if document.is_scale_suspect {
        ("completion scale suspect".to_owned(), "lightgrey")
    } else if totals.unknown == totals.all && (totals.all > 0 || totals.resting == 0) {
        ("unknown".to_owned(), "lightgrey")
    } else {
        let color = match () {
            () if totals.count(TranslationProblem::Overdue) > 0 => "red",
            () if !document.is_complete() => "orange",
            () if totals.all == 0 => "lightgrey",
            () if totals.is_ready() => "brightgreen",
            () => "orange",
        };
        (ready(totals), color)
    };
    let badge = json!({
        "schemaVersion": 1,
        "label": "translations",
        "message": message,
        "color": color,
    });
    format!("{badge}\n")
}
