//! The headers Retry-After and Date.

use crate::support::clock::{Clock, Timestamp};
use jiff::fmt::rfc2822::DateTimeParser;
use reqwest::header::{DATE, HeaderMap, HeaderName, RETRY_AFTER};
use std::time::Duration;

/// The longest wait that is obeyed.
const LONGEST: Duration = Duration::from_secs(3600);

/// Returns the wait in the Retry-After header, an hour at most: seconds, or an HTTP date (RFC 9110,
/// 10.2.3). Returns `None` for anything else.
///
/// A date counts from the Date header of the same response, because the clocks of both sides may
/// differ. It counts from the exporter's clock only without such a header.
pub fn wait(headers: &HeaderMap) -> Option<Duration> {
    let wait = text(headers, RETRY_AFTER)?;
    if !wait.is_empty() && wait.bytes().all(|byte| byte.is_ascii_digit()) {
        // A number that does not fit is a very long time.
        return Some(Duration::from_secs(wait.parse().unwrap_or(u64::MAX)).min(LONGEST));
    }
    let sent_at = text(headers, DATE).and_then(parse_date);
    let sent_at = sent_at.unwrap_or_else(|| Clock::system().now());
    Some(parse_date(wait)?.since(sent_at).min(LONGEST))
}

fn text(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    Some(headers.get(name)?.to_str().ok()?.trim())
}

fn parse_date(text: &str) -> Option<Timestamp> {
    let date = DateTimeParser::new().parse_timestamp(text).ok()?;
    Some(date.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(retry_after: &str, date: Option<&str>) -> Option<u64> {
        let mut headers = HeaderMap::from_iter([(RETRY_AFTER, retry_after.parse().unwrap())]);
        headers.extend(date.map(|date| (DATE, date.parse().unwrap())));
        wait(&headers).map(|wait| wait.as_secs())
    }

    #[test]
    fn retry_after_is_seconds_or_a_date_that_counts_from_the_date_header() {
        assert_eq!(seconds("120", None), Some(120));
        assert_eq!(seconds(" 0 ", None), Some(0));
        assert_eq!(seconds("99999999999999999999999", None), Some(3600));
        for nonsense in ["", "-1", "1.5", "soon", "+3"] {
            assert_eq!(seconds(nonsense, None), None, "{nonsense}");
        }
        // The API's clock is far behind, or this machine's far ahead.
        let date = Some("Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(seconds("Sun, 06 Nov 1994 08:50:37 GMT", date), Some(60));
        assert_eq!(seconds("Sun, 06 Nov 1994 08:00:00 GMT", date), Some(0));
        assert_eq!(seconds("30", date), Some(30));
        assert_eq!(seconds("Sun, 06 Nov 1994 08:50:37 GMT", None), Some(0));
    }
}
