//! Content negotiation: which format and encoding a client asks for (RFC 9110, 12.5).
//!
//! Nothing is ever refused: if nothing matches, the response is text 0.0.4, not compressed, as with every Prometheus
//! exporter.

use crate::exposition::Format;
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};

/// What `Accept` asks for; OpenMetrics if both are equal.
pub(super) fn format(headers: &HeaderMap) -> Format {
    let (mut open_metrics, mut text) = (0.0, 0.0);
    for (range, version, quality) in items(headers, header::ACCEPT) {
        match (&*range, version.as_deref()) {
            ("application/openmetrics-text", None | Some("1.0.0")) => open_metrics = quality,
            ("text/plain", None | Some("0.0.4")) => text = quality,
            ("text/*" | "*/*", _) if text == 0.0 => text = quality,
            _ => {}
        }
    }
    if open_metrics > 0.0 && open_metrics >= text {
        Format::OpenMetrics
    } else {
        Format::Text
    }
}

/// The value of `Content-Type`, as the official Go client writes it.
pub(super) fn content_type(format: Format) -> HeaderValue {
    HeaderValue::from_static(match format {
        Format::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        Format::Text => "text/plain; version=0.0.4; charset=utf-8",
    })
}

/// Whether `Accept-Encoding` asks for gzip at least as much as for a plain body.
pub(super) fn accepts_gzip(headers: &HeaderMap) -> bool {
    let (mut gzip, mut identity, mut others) = (None, 0.0, 0.0);
    for (coding, _, quality) in items(headers, header::ACCEPT_ENCODING) {
        match &*coding {
            "gzip" | "x-gzip" => gzip = Some(quality),
            "identity" => identity = quality,
            "*" => others = quality,
            _ => {}
        }
    }
    let gzip = gzip.unwrap_or(others);
    gzip > 0.0 && gzip >= identity
}

/// The items of a list: name, version and quality. A quality that cannot be read counts as 0, so that readable ones are
/// preferred.
fn items(
    headers: &HeaderMap,
    name: HeaderName,
) -> impl Iterator<Item = (String, Option<String>, f32)> {
    let lines = headers
        .get_all(name)
        .into_iter()
        .filter_map(|line| line.to_str().ok());
    lines.flat_map(|line| line.split(',')).map(|item| {
        let mut parts = item.split(';').map(|part| part.trim().to_ascii_lowercase());
        let (name, mut version, mut quality) = (parts.next().unwrap_or_default(), None, 1.0);
        for part in parts {
            match part.split_once('=') {
                Some(("q", value)) => quality = value.parse().unwrap_or(0.0),
                Some(("version", value)) => version = Some(value.trim_matches('"').to_owned()),
                _ => {}
            }
        }
        (name, version, quality)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepted(name: HeaderName, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(name, value.parse().unwrap())])
    }

    fn is_open_metrics(accept: &str) -> bool {
        format(&accepted(header::ACCEPT, accept)) == Format::OpenMetrics
    }

    #[test]
    fn a_client_that_asks_for_nothing_gets_plain_text() {
        assert_eq!(format(&HeaderMap::new()), Format::Text);
        assert!(!accepts_gzip(&HeaderMap::new()));
    }

    #[test]
    fn prometheus_2_and_3_get_openmetrics_and_text_where_they_prefer_it() {
        for accept in [
            "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,\
             text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
            "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,\
             application/openmetrics-text;version=0.0.1;q=0.5,\
             text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2",
            "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited;q=0.7,\
             application/openmetrics-text;version=1.0.0;escaping=underscores;q=0.6,*/*;q=0.1",
        ] {
            assert!(is_open_metrics(accept), "{accept}");
        }
        assert!(!is_open_metrics(
            "text/plain;version=1.0.0;q=0.6,text/plain;version=0.0.4;q=0.5,application/openmetrics-text;version=1.0.0;q=0.4"
        ));
    }

    #[test]
    fn quality_decides() {
        for accept in [
            "text/plain;q=0.4, application/openmetrics-text;q=0.5",
            "text/plain, application/openmetrics-text",
            "Application/OpenMetrics-Text; Version=\"1.0.0\"; Q=1",
            "application/openmetrics-text, */*",
        ] {
            assert!(is_open_metrics(accept), "{accept}");
        }
        for accept in [
            "text/plain;q=0.5, application/openmetrics-text;q=0.4",
            "*/*;q=0.5, application/openmetrics-text;q=0.4",
            "application/openmetrics-text;q=0, */*;q=0",
            "application/openmetrics-text;q=x, text/plain;q=0.1",
        ] {
            assert!(!is_open_metrics(accept), "{accept}");
        }
    }

    #[test]
    fn where_nothing_matches_the_answer_is_text() {
        for accept in [
            "*/*",
            "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
            "application/openmetrics-text;version=0.0.1",
            "application/openmetrics-text;version=2.0.0",
            "image/png",
            ",;=/\"q=,\",,",
        ] {
            assert!(!is_open_metrics(accept), "{accept}");
        }
    }

    #[test]
    fn gzip_is_sent_where_it_is_as_welcome_as_plain() {
        for accept in [
            "gzip",
            "deflate, GZIP;q=0.5",
            "x-gzip",
            "*",
            "gzip;q=0.5, *;q=0",
            "identity;q=0.5, gzip;q=0.5",
        ] {
            assert!(
                accepts_gzip(&accepted(header::ACCEPT_ENCODING, accept)),
                "{accept}"
            );
        }
        for accept in [
            "",
            "identity",
            "gzip;q=0",
            "gzip;q=0.000",
            "br",
            "identity;q=1, gzip;q=0.5",
            "*;q=0",
            "gzip;q=0, *",
        ] {
            assert!(
                !accepts_gzip(&accepted(header::ACCEPT_ENCODING, accept)),
                "{accept}"
            );
        }
    }
}
