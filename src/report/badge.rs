//! The JSON that Shields reads as an endpoint: <https://shields.io/badges/endpoint-badge>.

use super::{
    Report,
    words::{counts, ready},
};
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
    let unknown = [
        (document.totals.unknown(), "not known"),
        (document.unread(), "unread"),
    ];
    let left_out = match counts(unknown).join(", ") {
        left_out if !left_out.is_empty() => format!(", {left_out}"),
        _ if document.doubts().is_empty() => String::new(),
        _ => ", not all known".to_owned(),
    };
    let badge = json!({
        "schemaVersion": 1,
        "label": "translations",
        "message": ready(&document.totals).replace(" translations", "") + &left_out,
        "color": color,
    });
    format!("{badge}\n")
}
