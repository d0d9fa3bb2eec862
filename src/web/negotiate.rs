//! Content negotiation: the format and encoding of a response (RFC 9110, 12.5).
//!
//! No request is refused. As in every Prometheus exporter, the fallback is uncompressed text 0.0.4.

use crate::metrics::exposition::Format;
use axum::http::{HeaderMap, HeaderName, header};

/// Returns the format that `Accept` prefers and the value of `Content-Type`, like the official Go
/// client. Our metric names are valid under every escaping scheme, so any requested scheme is
/// confirmed.
pub fn format(headers: &HeaderMap) -> (Format, String) {
    let accept = value(headers, header::ACCEPT);
    let mut ranges: Vec<_> = accept.split(',').filter(|one| quality(one) > 0.0).collect();
    ranges.sort_by(|a, b| quality(b).total_cmp(&quality(a)));
    let (mut format, mut escaping) = (Format::Text, "underscores");
    for range in ranges {
        let asked = parameter(range, "escaping");
        if ["allow-utf-8", "underscores", "dots", "values"].contains(&asked) {
            escaping = asked;
        }
        match (name(range), parameter(range, "version")) {
            ("application/openmetrics-text", "" | "1.0.0") => format = Format::OpenMetrics,
            ("text/plain", "" | "0.0.4") => {}
            _ => continue,
        }
        break;
    }
    let content_type = match format {
        Format::OpenMetrics => "application/openmetrics-text; version=1.0.0",
        Format::Text => "text/plain; version=0.0.4",
    };
    (
        format,
        format!("{content_type}; charset=utf-8; escaping={escaping}"),
    )
}

/// Returns true if `Accept-Encoding` allows gzip.
pub fn accepts_gzip(headers: &HeaderMap) -> bool {
    let codings = value(headers, header::ACCEPT_ENCODING);
    let find = |wanted| codings.split(',').find(|coding| name(coding) == wanted);
    find("gzip")
        .or_else(|| find("*"))
        .is_some_and(|coding| quality(coding) > 0.0)
}

/// Returns all values of a header, joined by commas and in lower case.
fn value(headers: &HeaderMap, name: HeaderName) -> String {
    let lines = headers.get_all(name).iter();
    let lines: Vec<_> = lines.flat_map(|line| line.to_str()).collect();
    lines.join(",").to_ascii_lowercase()
}

/// Returns the name of an item in a list.
fn name(item: &str) -> &str {
    item.split(';').next().unwrap_or_default().trim()
}

/// Returns a parameter of an item; empty without one.
fn parameter<'a>(item: &'a str, name: &str) -> &'a str {
    let mut parts = item.split(';').filter_map(|one| one.trim().split_once('='));
    let found = parts.find(|(given, _)| *given == name);
    found.map_or("", |(_, value)| value.trim_matches('"'))
}

/// Returns the quality of an item: 1 by default, and 0 if it is malformed, so that well-formed
/// items win.
fn quality(item: &str) -> f32 {
    match parameter(item, "q") {
        "" => 1.0,
        quality => quality.parse().unwrap_or(0.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepted(name: HeaderName, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(name, value.parse().unwrap())])
    }

    fn is_open_metrics(accept: &str) -> bool {
        format(&accepted(header::ACCEPT, accept)).0 == Format::OpenMetrics
    }

    #[test]
    fn a_request_without_accept_headers_gets_uncompressed_text() {
        let text = "text/plain; version=0.0.4; charset=utf-8; escaping=underscores";
        assert_eq!(format(&HeaderMap::new()), (Format::Text, text.to_owned()));
        assert!(!accepts_gzip(&HeaderMap::new()));
    }

    #[test]
    fn prometheus_2_and_3_get_the_format_that_they_prefer() {
        for accept in [
            "application/openmetrics-text;version=1.0.0,\
             application/openmetrics-text;version=0.0.1;q=0.75,\
             text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
            "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,\
             application/openmetrics-text;version=0.0.1;q=0.5,\
             text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,\
             text/plain;version=0.0.4;q=0.3,*/*;q=0.2",
            "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;\
             encoding=delimited;q=0.7,\
             application/openmetrics-text;version=1.0.0;escaping=underscores;q=0.6,*/*;q=0.1",
        ] {
            assert!(is_open_metrics(accept), "{accept}");
        }
        assert!(!is_open_metrics(
            "text/plain;version=1.0.0;q=0.6,text/plain;version=0.0.4;q=0.5,\
             application/openmetrics-text;version=1.0.0;q=0.4"
        ));
    }

    #[test]
    fn the_quality_of_accept_decides() {
        for accept in [
            "text/plain;q=0.4, application/openmetrics-text;q=0.5",
            "application/openmetrics-text, text/plain",
            "application/openmetrics-text;q=0.4, */*;q=0.5",
            "Application/OpenMetrics-Text; Version=\"1.0.0\"; Q=1",
            "application/openmetrics-text, */*",
        ] {
            assert!(is_open_metrics(accept), "{accept}");
        }
        for accept in [
            "text/plain;q=0.5, application/openmetrics-text;q=0.4",
            "text/plain, application/openmetrics-text",
            "application/openmetrics-text;q=0, */*;q=0",
            "application/openmetrics-text;q=x, text/plain;q=0.1",
        ] {
            assert!(!is_open_metrics(accept), "{accept}");
        }
    }

    /// Compares with the responses of `client_golang` 1.24.1.
    #[test]
    fn the_escaping_of_names_is_negotiated_like_in_the_go_client() {
        let open_metrics = "application/openmetrics-text; version=1.0.0; charset=utf-8; escaping=";
        let text = "text/plain; version=0.0.4; charset=utf-8; escaping=";
        for (accept, content_type, escaping) in [
            ("*/*", text, "underscores"),
            ("text/plain;escaping=allow-utf-8", text, "allow-utf-8"),
            ("text/plain;escaping=sometimes", text, "underscores"),
            (
                "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,\
                 */*;q=0.1",
                open_metrics,
                "underscores",
            ),
            (
                "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,\
                 application/openmetrics-text;version=0.0.1;q=0.5,\
                 text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,\
             text/plain;version=0.0.4;q=0.3,*/*;q=0.2",
                open_metrics,
                "allow-utf-8",
            ),
            // The escaping counts even if the format beside it is not supported.
            (
                "text/plain;version=1.0.0;escaping=dots;q=0.6,text/plain;version=0.0.4;q=0.5",
                text,
                "dots",
            ),
            (
                "text/plain;version=0.0.4;q=0.6,\
                 application/openmetrics-text;escaping=values;q=0.5",
                text,
                "underscores",
            ),
        ] {
            let (_, answered) = format(&accepted(header::ACCEPT, accept));
            assert_eq!(answered, format!("{content_type}{escaping}"), "{accept}");
        }
    }

    #[test]
    fn text_is_the_fallback() {
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
    fn gzip_is_sent_if_it_is_accepted() {
        for accept in [
            "gzip",
            "deflate, GZIP;q=0.5",
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
