//! The handler of the status page, which [`crate::report`] writes.
//!
//! Threads for blocking work render the page, without a script. One response has everything, so
//! that the page works under a policy that forbids loading anything.

#[cfg(test)]
mod tests;

use super::{render::render, state::AppState};
use crate::{
    diagnosis,
    report::{
        Query,
        html::{self, Page},
    },
};
use axum::{
    extract::{self, State},
    http::header,
    response::{Html, IntoResponse, Result},
};
use base64::{Engine, engine::general_purpose::STANDARD};
use ring::digest::{SHA256, digest};
use std::sync::Arc;

/// Returns the policy of the page: a browser loads, runs and frames nothing. Hashes admit the
/// styles in the page, and `data:` its icon.
fn policy() -> String {
    let [style, wide] =
        [html::STYLE, html::WIDE].map(|style| STANDARD.encode(digest(&SHA256, style.as_bytes())));
    format!(
        "default-src 'none'; style-src 'sha256-{style}' 'sha256-{wide}'; img-src data:; \
         form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    )
}

/// Handles requests for the page.
pub async fn show(
    State(state): State<Arc<AppState>>,
    extract::Query(query): extract::Query<Query>,
) -> Result<impl IntoResponse> {
    let now = state.clock.now();
    let page = render(query, now, move |query, selection, since| {
        let current = state.current();
        let document = current.document.select(&selection);
        let facts = state.instruments.facts().clone();
        let mut findings = diagnosis::findings(&document, &facts, now);
        // The log of problems has dated those of the exporter itself.
        for finding in &mut findings {
            let mut known = current.findings.iter();
            let same = known.find(|known| known.kind == finding.kind);
            finding.since = finding.since.or(same.and_then(|same| same.since));
        }
        let page = Page {
            now,
            telemetry_path: (query.get("print") != "1").then_some(&state.telemetry_path),
            api: &state.api,
            document: &document,
            findings: if document.selection.is_everything() {
                &current.findings
            } else {
                &findings
            },
            since,
            query,
        };
        page.html()
    });
    let headers = [
        (header::REFERRER_POLICY, "no-referrer".to_owned()),
        (header::CONTENT_SECURITY_POLICY, policy()),
    ];
    Ok((headers, Html(page.await?)))
}
