//! The headers Retry-After, Date and Age.

use crate::support::{clock::Timestamp, hint::Failure};
use reqwest::header::{AGE, DATE, HeaderMap, HeaderName, RETRY_AFTER};
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3600);

/// Returns the wait in the Retry-After header, of which an hour at most is obeyed: seconds, or an
/// HTTP date (RFC 9110, 10.2.3), which counts from the Date header of the same response, because
/// the clocks of both sides may differ. Returns `None` for anything else.
pub fn wait(headers: &HeaderMap) -> Option<Duration> {
    let wait = text(headers, RETRY_AFTER)?;
    // `NaN` and `inf` are numbers, too.
    if let Ok(seconds) = wait.parse::<f64>()
        && seconds.is_finite()
    {
        return Duration::try_from_secs_f64(seconds.min(HOUR.as_secs_f64())).ok();
    }
    let sent_at = parse_date(text(headers, DATE)?)?;
    Some(parse_date(wait)?.since(sent_at).min(HOUR))
}

/// Compares the API's clock with this machine's; `None` without a Date header. They fail to agree
/// if they differ by more than an hour.
pub fn compare_clocks(headers: &HeaderMap, now: Timestamp) -> Option<Result<(), Failure>> {
    let date = parse_date(text(headers, DATE)?)?;
    // A cache may have kept the response since then.
    let age = text(headers, AGE).and_then(|seconds| seconds.parse().ok());
    let sent_at = date.saturating_add(Duration::from_secs(age.unwrap_or_default()));
    if sent_at.since(now).max(now.since(sent_at)) <= HOUR {
        return Some(Ok(()));
    }
    let hint = "set this machine's clock; if it is right, tell the API's operators";
    let what = format!("a response is of {sent_at}");
    Some(Err(Failure::new(what, hint)))
}

fn text(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    Some(headers.get(name)?.to_str().ok()?.trim())
}

/// Parses an HTTP date in any of its three formats (RFC 9110, 5.6.7).
fn parse_date(text: &str) -> Option<Timestamp> {
    let formats = [
        "%a, %d %b %Y %T GMT %z",
        "%A, %d-%b-%y %T GMT %z",
        "%a %b %e %T %Y %z",
    ];
    // jiff asks for an offset, and HTTP's dates have none.
    let text = format!("{text} +0000");
    let mut dates = formats
        .iter()
        .map(|format| jiff::Timestamp::strptime(format, &text));
    Some(dates.find_map(Result::ok)?.into())
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
        assert_eq!(seconds("3.0", None), Some(3));
        for nonsense in ["", "-1", "3 s", ".", "1.5.1", "soon", "NaN", "inf"] {
            assert_eq!(seconds(nonsense, None), None, "{nonsense}");
        }
        // The API's clock is far behind, or this machine's far ahead.
        let date = Some("Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(seconds("Sun, 06 Nov 1994 08:50:37 GMT", date), Some(60));
        assert_eq!(seconds("Sun, 06 Nov 1994 08:00:00 GMT", date), Some(0));
        assert_eq!(seconds("30", date), Some(30));
        assert_eq!(seconds("Sunday, 06-Nov-94 08:50:37 GMT", date), Some(60));
        assert_eq!(seconds("Sun Nov  6 08:50:37 1994", date), Some(60));
        assert_eq!(seconds("Sun, 06 Nov 1994 08:50:37 GMT", None), None);
    }

    #[test]
    fn clocks_that_differ_by_more_than_an_hour_do_not_agree() {
        let compare = |date: Option<jiff::Timestamp>, age: &str| {
            let mut headers = HeaderMap::from_iter([(AGE, age.parse().unwrap())]);
            let date = date.map(|date| date.strftime("%a, %d %b %Y %T GMT").to_string());
            headers.extend(date.map(|date| (DATE, date.parse().unwrap())));
            compare_clocks(&headers, jiff::Timestamp::now().into()).map(|compared| compared.is_ok())
        };
        let at =
            |minutes: i64| Some(jiff::Timestamp::now() + jiff::SignedDuration::from_mins(minutes));
        assert_eq!(compare(None, ""), None);
        assert_eq!(compare(at(-59), ""), Some(true));
        assert_eq!(compare(at(-61), ""), Some(false));
        assert_eq!(compare(at(62), ""), Some(false));
        assert_eq!(compare(at(-600), "36000"), Some(true), "a cache kept it");
    }
}
