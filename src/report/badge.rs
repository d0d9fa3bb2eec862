//! The JSON that Shields reads as an endpoint: <https://shields.io/badges/endpoint-badge>.

use super::{
    Report,
    words::{counts, ready},
};
use crate::domain::document::Tone;
use serde_json::json;

/// Counts the ready translations, in the colour of the verdict: green if all is known to be ready.
pub fn badge(report: &Report<'_>) -> String {
    let (document, totals) = (&report.document, &report.document.totals);
    let color = match document.tone() {
        Tone::Overdue => "red",
        Tone::Troubled | Tone::Behind => "orange",
        Tone::Silent => "lightgrey",
        Tone::Ready => "brightgreen",
    };
    let left_out = match &*counts([
        (totals.unknown(), "not known"),
        (document.unread(), "unread"),
    ]) {
        [] if document.doubts().is_empty() => String::new(),
        [] => ", not all known".to_owned(),
        left_out => format!(", {}", left_out.join(", ")),
    };
    let badge = json!({
        "schemaVersion": 1,
        "label": "translations",
        "message": ready(totals).replace(" translations", "") + &left_out,
        "color": color,
    });
    format!("{badge}\n")
}
