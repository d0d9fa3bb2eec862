//! Content negotiation of a scrape: which format, which encoding, and what the answer calls them.
//!
//! Quality values count, a more specific range counts before a wider one (RFC 9110, 12.5.1), and nothing is ever
//! refused: where nothing matches, the answer is text 0.0.4 as it is, as every Prometheus exporter answers.

use crate::exposition::Format;
use axum::http::{HeaderMap, HeaderValue, header};

/// How a client wants its scrape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Negotiated {
    pub format: Format,
    pub gzip: bool,
    escaping: Option<Escaping>,
}

/// How the client wants names escaped that are no classic metric names. There are none here, so that every scheme gives
/// the same bytes; the answer only has to name the one it was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Escaping {
    AllowUtf8,
    Underscores,
    Dots,
    Values,
}

impl Escaping {
    fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "allow-utf-8" => Self::AllowUtf8,
            "underscores" => Self::Underscores,
            "dots" => Self::Dots,
            "values" => Self::Values,
            _ => return None,
        })
    }
}

impl Negotiated {
    /// What the request's headers ask for.
    #[must_use]
    pub fn from_headers(headers: &HeaderMap) -> Self {
        let accept = joined(headers, header::ACCEPT);
        let ranges: Vec<Range<'_>> = list(&accept).filter_map(Range::parse).collect();
        let open_metrics = best(&ranges, "application", "openmetrics-text", "1.0.0");
        let text = best(&ranges, "text", "plain", "0.0.4");
        // Of equals the one named first wins, and text where both are meant by one wildcard.
        let wants_open_metrics = match (open_metrics, text) {
            (Some(one), Some(other)) => {
                one.quality > 0 && (one.quality, other.position) > (other.quality, one.position)
            }
            (Some(one), None) => one.quality > 0,
            (None, _) => false,
        };
        let (format, chosen) =
            if wants_open_metrics { (Format::OpenMetrics, open_metrics) } else { (Format::Text, text) };
        let escaping = match chosen.filter(|matched| matched.quality > 0) {
            Some(matched) => ranges[matched.position].escaping,
            None => ranges.iter().find_map(|range| range.escaping),
        };
        Self { format, gzip: accepts_gzip(&joined(headers, header::ACCEPT_ENCODING)), escaping }
    }

    /// The value of `Content-Type`, as the official Go client writes it.
    #[must_use]
    pub fn content_type(self) -> HeaderValue {
        HeaderValue::from_static(match (self.format, self.escaping) {
            (Format::OpenMetrics, None) => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            (Format::OpenMetrics, Some(Escaping::AllowUtf8)) => {
                "application/openmetrics-text; version=1.0.0; charset=utf-8; escaping=allow-utf-8"
            }
            (Format::OpenMetrics, Some(Escaping::Underscores)) => {
                "application/openmetrics-text; version=1.0.0; charset=utf-8; escaping=underscores"
            }
            (Format::OpenMetrics, Some(Escaping::Dots)) => {
                "application/openmetrics-text; version=1.0.0; charset=utf-8; escaping=dots"
            }
            (Format::OpenMetrics, Some(Escaping::Values)) => {
                "application/openmetrics-text; version=1.0.0; charset=utf-8; escaping=values"
            }
            (Format::Text, None) => "text/plain; version=0.0.4; charset=utf-8",
            (Format::Text, Some(Escaping::AllowUtf8)) => {
                "text/plain; version=0.0.4; charset=utf-8; escaping=allow-utf-8"
            }
            (Format::Text, Some(Escaping::Underscores)) => {
                "text/plain; version=0.0.4; charset=utf-8; escaping=underscores"
            }
            (Format::Text, Some(Escaping::Dots)) => "text/plain; version=0.0.4; charset=utf-8; escaping=dots",
            (Format::Text, Some(Escaping::Values)) => "text/plain; version=0.0.4; charset=utf-8; escaping=values",
        })
    }
}

/// One media range of `Accept`.
struct Range<'a> {
    kind: &'a str,
    subtype: &'a str,
    version: Option<&'a str>,
    escaping: Option<Escaping>,
    /// Thousandths.
    quality: u16,
}

impl<'a> Range<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let mut parts = split(text, ';').map(str::trim);
        let (kind, subtype) = parts.next()?.split_once('/')?;
        let mut range = Self { kind, subtype, version: None, escaping: None, quality: 1000 };
        for (name, value) in parts.filter_map(|part| part.split_once('=')) {
            let value = value.trim().trim_matches('"');
            match name.trim().to_ascii_lowercase().as_str() {
                "q" => range.quality = quality(value),
                "version" => range.version = Some(value),
                "escaping" => range.escaping = Escaping::parse(value),
                _ => {}
            }
        }
        Some(range)
    }

    /// How specifically this range means the format; `None` where it does not.
    fn specificity(&self, kind: &str, subtype: &str, version: &str) -> Option<u8> {
        if self.kind == "*" && self.subtype == "*" {
            return Some(0);
        }
        if !self.kind.eq_ignore_ascii_case(kind) {
            return None;
        }
        match (self.subtype, self.version) {
            ("*", _) => Some(1),
            (other, _) if !other.eq_ignore_ascii_case(subtype) => None,
            (_, None) => Some(2),
            (_, Some(other)) => (other == version).then_some(3),
        }
    }
}

#[derive(Clone, Copy)]
struct Match {
    quality: u16,
    position: usize,
}

/// The quality of a format, by the most specific range that means it.
fn best(ranges: &[Range<'_>], kind: &str, subtype: &str, version: &str) -> Option<Match> {
    let matches = ranges.iter().enumerate().filter_map(|(position, range)| {
        let specificity = range.specificity(kind, subtype, version)?;
        Some((specificity, Match { quality: range.quality, position }))
    });
    matches
        .max_by_key(|(specificity, matched)| (*specificity, matched.quality, usize::MAX - matched.position))
        .map(|(_, matched)| matched)
}

/// Whether a gzip body is at least as welcome as a plain one.
fn accepts_gzip(accept_encoding: &str) -> bool {
    let (mut gzip, mut identity, mut others) = (None, None, None);
    for item in list(accept_encoding) {
        let mut parts = item.split(';').map(str::trim);
        let coding = parts.next().unwrap_or_default();
        let weight = parts.find_map(|part| part.strip_prefix("q=").or_else(|| part.strip_prefix("Q=")));
        let weight = weight.map_or(1000, quality);
        match coding.to_ascii_lowercase().as_str() {
            "gzip" | "x-gzip" => gzip = Some(weight),
            "identity" => identity = Some(weight),
            "*" => others = Some(weight),
            _ => {}
        }
    }
    let gzip = gzip.or(others).unwrap_or(0);
    gzip > 0 && gzip >= identity.unwrap_or(0)
}

/// Thousandths; a weight that cannot be read counts as 0, so that it is not preferred to a readable one.
fn quality(text: &str) -> u16 {
    match text.parse::<f64>() {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to 0 to 1000")]
        Ok(weight) if weight >= 0.0 => (weight.min(1.0) * 1000.0).round() as u16,
        _ => 0,
    }
}

fn joined(headers: &HeaderMap, name: header::HeaderName) -> String {
    let values: Vec<&str> = headers.get_all(name).iter().filter_map(|value| value.to_str().ok()).collect();
    values.join(",")
}

fn list(text: &str) -> impl Iterator<Item = &str> {
    split(text, ',').map(str::trim).filter(|item| !item.is_empty())
}

/// Splits at `separator` outside quoted strings.
fn split(text: &str, separator: char) -> impl Iterator<Item = &str> {
    let mut quoted = false;
    text.split(move |character| {
        quoted ^= character == '"';
        character == separator && !quoted
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

    fn content_type(accept: &str) -> String {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, accept.parse().unwrap());
        Negotiated::from_headers(&headers).content_type().to_str().unwrap().to_owned()
    }

    fn gzip(accept_encoding: &str) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT_ENCODING, accept_encoding.parse().unwrap());
        Negotiated::from_headers(&headers).gzip
    }

    #[test]
    fn a_client_that_says_nothing_gets_plain_text() {
        let negotiated = Negotiated::from_headers(&HeaderMap::new());
        assert_eq!(negotiated.content_type(), TEXT);
        assert!(!negotiated.gzip);
    }

    #[test]
    fn prometheus_2_gets_openmetrics() {
        let accept = "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,\
                      text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
        assert_eq!(content_type(accept), OPEN_METRICS);
    }

    #[test]
    fn prometheus_3_gets_what_it_asks_for_with_its_escaping() {
        let accept = "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,\
                      application/openmetrics-text;version=0.0.1;q=0.5,\
                      text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2";
        assert_eq!(content_type(accept), format!("{OPEN_METRICS}; escaping=allow-utf-8"));
        let protobuf = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited;\
                        q=0.7,application/openmetrics-text;version=1.0.0;escaping=underscores;q=0.6,*/*;q=0.1";
        assert_eq!(content_type(protobuf), format!("{OPEN_METRICS}; escaping=underscores"));
        let text = "text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;escaping=dots;q=0.3";
        assert_eq!(content_type(text), format!("{TEXT}; escaping=dots"));
        assert_eq!(content_type("text/plain;version=1.0.0;escaping=values"), format!("{TEXT}; escaping=values"));
        assert_eq!(content_type("text/plain;escaping=whatever"), TEXT);
    }

    #[test]
    fn quality_decides_and_order_among_equals() {
        assert_eq!(content_type("text/plain;q=0.4, application/openmetrics-text;q=0.5"), OPEN_METRICS);
        assert_eq!(content_type("text/plain;q=0.5, application/openmetrics-text;q=0.4"), TEXT);
        assert_eq!(content_type("text/plain, application/openmetrics-text"), TEXT);
        assert_eq!(content_type("application/openmetrics-text, text/plain"), OPEN_METRICS);
        assert_eq!(content_type("Application/OpenMetrics-Text; Version=\"1.0.0\"; Q=1"), OPEN_METRICS);
    }

    #[test]
    fn wildcards_mean_text_unless_text_is_excluded() {
        assert_eq!(content_type("*/*"), TEXT);
        assert_eq!(content_type("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"), TEXT);
        assert_eq!(content_type("application/*"), OPEN_METRICS);
        assert_eq!(content_type("*/*, text/plain;q=0"), OPEN_METRICS);
        assert_eq!(content_type("application/openmetrics-text;q=0, */*;q=0"), TEXT);
    }

    #[test]
    fn what_nobody_can_read_or_serve_gets_text() {
        assert_eq!(content_type("application/openmetrics-text;version=0.0.1"), TEXT);
        assert_eq!(content_type("application/openmetrics-text;version=2.0.0"), TEXT);
        assert_eq!(content_type("application/openmetrics-text;q=x, text/plain;q=0.1"), TEXT);
        assert_eq!(content_type(",;=/\"q=,\",,"), TEXT);
    }

    #[test]
    fn gzip_is_sent_where_it_is_as_welcome_as_plain() {
        for accept in ["gzip", "deflate, GZIP;q=0.5", "x-gzip", "*", "gzip;q=0.5, *;q=0", "identity;q=0.5, gzip;q=0.5"]
        {
            assert!(gzip(accept), "{accept}");
        }
        for accept in
            ["", "identity", "gzip;q=0", "gzip;q=0.000", "br", "identity;q=1, gzip;q=0.5", "*;q=0", "gzip;q=0, *"]
        {
            assert!(!gzip(accept), "{accept}");
        }
    }
}
