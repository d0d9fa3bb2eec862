//! The JSON that Shields reads as an endpoint: <https://shields.io/badges/endpoint-badge>.

use super::{Report, words::ready};
use crate::domain::{TranslationProblem, document::Readiness};
use serde_json::json;

/// Counts the ready translations. The badge is green only if everything was read and is ready.
pub fn badge(report: &Report<'_>) -> String {
    let (totals, readiness) = (&report.view.totals, report.view.readiness());
    let color = match () {
        () if totals.unknown == totals.counted => "lightgrey",
        () if totals.count(TranslationProblem::Overdue) > 0 => "red",
        () if readiness == Readiness::Ready => "brightgreen",
        () => "orange",
    };
    let mut message = ready(totals).replace(" translations", "");
    if readiness == Readiness::Unknown && totals.unknown < totals.counted {
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
