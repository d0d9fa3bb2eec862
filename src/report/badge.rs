//! The JSON that Shields reads as an endpoint: <https://shields.io/badges/endpoint-badge>.

use super::{Report, words::ready};
use crate::domain::document::Tone;
use serde_json::json;

/// Counts the ready translations, in the colour of the verdict: green if all is known to be ready.
pub fn badge(report: &Report) -> String {
    let document = &report.document;
    let color = match document.tone() {
        Tone::Overdue => "red",
        Tone::Troubled | Tone::Behind => "orange",
        Tone::Silent => "lightgrey",
        Tone::Ready => "brightgreen",
    };
    let is_known = document.doubts().is_empty();
    let left_out = if is_known { "" } else { ", not all known" };
    let badge = json!({
        "schemaVersion": 1,
        "label": "translations",
        "message": ready(&document.totals).replace(" translations", "") + left_out,
        "color": color,
    });
    format!("{badge}\n")
}
