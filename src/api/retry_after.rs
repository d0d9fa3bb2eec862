//! The headers Retry-After and Date.

use crate::support::clock::Timestamp;
use jiff::fmt::rfc2822::DateTimeParser;
use reqwest::header::{AGE, DATE, HeaderMap, HeaderValue, RETRY_AFTER};
use std::time::{Duration, SystemTime};

/// Returns the wait in the Retry-After header: seconds, or an HTTP date (RFC 9110, 10.2.3). Returns
/// `None` for anything else.
///
/// A date counts from the Date header of the same response, because the clocks of both sides may
/// differ. It counts from `now` only without such a header.
pub fn wait(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let date = |value: &HeaderValue| parse_date(value.to_str().ok()?.trim());
    let value = headers.get(RETRY_AFTER)?;
    let text = value.to_str().ok()?.trim();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        // A number that does not fit is a very long time.
        return Some(Duration::from_secs(text.parse().unwrap_or(u64::MAX)));
    }
    let sent_at = headers.get(DATE).and_then(date).unwrap_or(now);
    Some(date(value)?.duration_since(sent_at).unwrap_or_default())
}

/// Returns the time at which a response arrived by the API's clock: its Date header, and the Age
/// that it had in a cache.
pub fn date(headers: &HeaderMap) -> Option<Timestamp> {
    let date = parse_date(headers.get(DATE)?.to_str().ok()?.trim())?;
    let since_1970 = date.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    let age = headers
        .get(AGE)
        .and_then(|age| age.to_str().ok()?.trim().parse().ok());
    let age = Duration::from_secs(age.unwrap_or_default());
    Some(Timestamp::from_millis(0).saturating_add(since_1970.saturating_add(age)))
}

fn parse_date(text: &str) -> Option<SystemTime> {
    let date = DateTimeParser::new().parse_timestamp(text).ok()?;
    Some(date.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(retry_after: &str, date: Option<&str>) -> Option<u64> {
        let now = parse_date("Sun, 06 Nov 1994 08:49:37 GMT").unwrap();
        let mut headers = HeaderMap::from_iter([(RETRY_AFTER, retry_after.parse().unwrap())]);
        headers.extend(date.map(|date| (DATE, date.parse().unwrap())));
        wait(&headers, now).map(|wait| wait.as_secs())
    }

    #[test]
    fn the_date_header_is_an_http_date() {
        let date = |text: &str| date(&HeaderMap::from_iter([(DATE, text.parse().unwrap())]));
        let sent_at = Timestamp::from_millis(784_111_777_000);
        assert_eq!(date("Sun, 06 Nov 1994 08:49:37 GMT"), Some(sent_at));
        assert_eq!(date("yesterday"), None);
    }

    #[test]
    fn the_age_of_a_cached_response_counts() {
        let aged = |age: &str| {
            let sent_at = "Sun, 06 Nov 1994 08:49:37 GMT".parse().unwrap();
            super::date(&HeaderMap::from_iter([
                (DATE, sent_at),
                (AGE, age.parse().unwrap()),
            ]))
        };
        for (age, seconds) in [("90", 90), ("soon", 0)] {
            let at = Timestamp::from_millis(784_111_777_000 + seconds * 1000);
            assert_eq!(aged(age), Some(at), "{age}");
        }
    }

    #[test]
    fn retry_after_is_seconds_or_an_http_date() {
        assert_eq!(seconds("120", None), Some(120));
        assert_eq!(seconds(" 0 ", None), Some(0));
        assert_eq!(seconds("99999999999999999999999", None), Some(u64::MAX));
        assert_eq!(seconds("Sun, 06 Nov 1994 08:50:37 GMT", None), Some(60));
        assert_eq!(seconds("Sun, 06 Nov 1994 08:00:00 GMT", None), Some(0));
        for nonsense in ["", "-1", "1.5", "soon", "+3"] {
            assert_eq!(seconds(nonsense, None), None, "{nonsense}");
        }
    }

    #[test]
    fn a_retry_after_date_counts_from_the_date_header() {
        // The API's clock is a year ahead.
        let date = Some("Mon, 06 Nov 1995 08:49:37 GMT");
        assert_eq!(seconds("Mon, 06 Nov 1995 08:50:37 GMT", date), Some(60));
        assert_eq!(seconds("Sun, 06 Nov 1994 08:50:37 GMT", date), Some(0));
        assert_eq!(
            seconds("Sun, 06 Nov 1994 08:50:37 GMT", Some("yesterday")),
            Some(60)
        );
        assert_eq!(seconds("30", date), Some(30));
    }
}
