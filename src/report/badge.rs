//! The JSON that Shields reads as an endpoint: <https://shields.io/badges/endpoint-badge>.

use super::{Report, answer::counts, words::ready};
use crate::domain::document::Tone;
use serde_json::json;

/// Counts the ready translations, in the colour of the verdict: green if all is known to be ready.
pub fn badge(report: &Report<'_>) -> String {
    let (view, totals) = (&report.view, &report.view.totals);
    let color = match view.tone() {
        Tone::Overdue => "red",
        Tone::Troubled | Tone::Behind => "orange",
        Tone::Silent => "lightgrey",
        Tone::Ready => "brightgreen",
    };
    let mut message = ready(totals).replace(" translations", "");
    if !view.doubts().is_empty() {
        let left_out = [
            (totals.unknown(), "not known", None),
            (view.unread(), "unread", None),
        ];
        message += ", ";
        message += &counts(left_out).unwrap_or_else(|| "not all known".to_owned());
    }
    let badge = json!({
        "schemaVersion": 1,
        "label": "translations",
        "message": message,
        "color": color,
    });
    format!("{badge}\n")
}
