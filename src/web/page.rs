//! The status page.

use super::service::{Server, fixed};
use axum::{
    http::{header, request::Parts},
    response::{IntoResponse, Response},
};

#[expect(clippy::unused_async, reason = "the whole page is rendered off the runtime")]
pub(super) async fn respond(server: &Server, _request: &Parts) -> Response {
    let telemetry_path = &server.settings().telemetry_path;
    let page = maud::html! {
        (maud::DOCTYPE)
        html lang="en" {
            head { meta charset="utf-8"; title { "translation-exporter" } }
            body {
                h1 { "translation-exporter " (env!("CARGO_PKG_VERSION")) }
                a href=(telemetry_path) { "Metrics" }
            }
        }
    };
    ([fixed(header::CONTENT_TYPE, "text/html; charset=utf-8")], page.into_string()).into_response()
}
