//! The JSON that Shields reads as an endpoint: <https://shields.io/badges/endpoint-badge>.

use super::{Report, words::ready};
use crate::domain::{TranslationProblem, document::Readiness};
use serde_json::json;

/// Counts the ready translations. The badge is green only if everything was read and is ready, and
/// nothing unready left within a day.
pub fn badge(report: &Report<'_>) -> String {
    let (view, readiness) = (&report.view, report.view.readiness());
    let totals = &view.totals;
    let has_unready_left = view.departed().any(|one| !one.was_met);
    let color = match () {
        () if totals.unknown() == totals.counted() => "lightgrey",
        () if totals.count(TranslationProblem::Overdue) > 0 => "red",
        () if readiness == Readiness::Ready && !has_unready_left => "brightgreen",
        () => "orange",
    };
    let mut message = ready(totals).replace(" translations", "");
    if totals.unknown() < totals.counted() && !view.doubts().is_empty() {
        message += ", not all known";
    }
    let badge = json!({
        "schemaVersion": 1,
        "label": "translations",
        "message": message,
        "color": color,
    });
    format!("{badge}\n")
}
