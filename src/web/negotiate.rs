//! Content negotiation: the format and encoding of a response.
//!
//! No request is refused. As in every Prometheus exporter, the fallback is uncompressed text 0.0.4.

use crate::metrics::exposition::ExpositionFormat;
use axum::http::{HeaderMap, HeaderName, header};

/// Returns the first known format that `Accept` names, because scrapers name the preferred one
/// first, and the value of `Content-Type`. No name of ours needs to be escaped.
pub fn format(headers: &HeaderMap) -> (ExpositionFormat, &'static str) {
    let accepted = accepted(headers, header::ACCEPT);
    let known = accepted.iter().find_map(|range| {
        let mut parts = range.split(';');
        let name = parts.next()?;
        match (name, parts.find_map(|part| part.strip_prefix("version="))) {
            ("application/openmetrics-text", None | Some("1.0.0")) => {
                Some(ExpositionFormat::OpenMetrics)
            }
            ("text/plain", None | Some("0.0.4")) => Some(ExpositionFormat::Text),
            _ => None,
        }
    });
    let format = known.unwrap_or(ExpositionFormat::Text);
    let content_type = match format {
        ExpositionFormat::OpenMetrics => {
            "application/openmetrics-text; version=1.0.0; charset=utf-8; escaping=underscores"
        }
        ExpositionFormat::Text => "text/plain; version=0.0.4; charset=utf-8; escaping=underscores",
    };
    (format, content_type)
}

/// Returns whether `Accept-Encoding` names gzip without refusing it.
pub fn accepts_gzip(headers: &HeaderMap) -> bool {
    let codings = accepted(headers, header::ACCEPT_ENCODING);
    codings
        .iter()
        .any(|coding| coding.split(';').next() == Some("gzip"))
}

/// Returns the items of a header that are not refused, in lower case, without spaces and quotes.
fn accepted(headers: &HeaderMap, name: HeaderName) -> Vec<String> {
    let lines = headers.get_all(name).iter().flat_map(|line| line.to_str());
    let mut items: Vec<_> = lines
        .flat_map(|line| line.split(','))
        .map(|item| item.to_ascii_lowercase().replace([' ', '\t', '"'], ""))
        .collect();
    items.retain(|item| {
        let mut weights = item.split(';').filter_map(|part| part.strip_prefix("q="));
        weights.all(|weight| weight.parse() != Ok(0.0))
    });
    items
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(name: HeaderName, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(name, value.parse().unwrap())])
    }

    fn is_open_metrics(accept: &str) -> bool {
        format(&with(header::ACCEPT, accept)).0 == ExpositionFormat::OpenMetrics
    }

    #[test]
    fn a_request_without_accept_headers_gets_uncompressed_text() {
        let text = "text/plain; version=0.0.4; charset=utf-8; escaping=underscores";
        assert_eq!(format(&HeaderMap::new()), (ExpositionFormat::Text, text));
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
    fn the_first_known_format_counts() {
        for accept in [
            "image/png, application/openmetrics-text, text/plain",
            "Application/OpenMetrics-Text; Version=\"1.0.0\"; Q=1",
        ] {
            assert!(is_open_metrics(accept), "{accept}");
        }
        assert!(!is_open_metrics("text/plain, application/openmetrics-text"));
    }

    #[test]
    fn text_is_the_fallback() {
        for accept in [
            "*/*",
            "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
            "application/openmetrics-text;version=0.0.1",
            "application/openmetrics-text;version=2.0.0",
            "application/openmetrics-text;q=0, */*",
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
            "gzip;q=0.5, *;q=0",
            "identity;q=0.5, gzip;q=0.5",
        ] {
            assert!(
                accepts_gzip(&with(header::ACCEPT_ENCODING, accept)),
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
                !accepts_gzip(&with(header::ACCEPT_ENCODING, accept)),
                "{accept}"
            );
        }
    }
}
