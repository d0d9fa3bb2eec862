//! The failures that responses without data become.

use super::*;
use reqwest::header::{HeaderName, HeaderValue};

const KEY: &str = "k3y-of-the-account";
const LISTING: &str = "https://api.example.com/base/v1/repositories?limit=1000";

/// Returns the failure of a response to a request for the listing.
fn refused(status: u16, headers: &[(&'static str, &str)], body: &str) -> RequestFailure {
    let headers = headers.iter().map(|(name, value)| {
        let value = HeaderValue::from_bytes(value.as_bytes()).unwrap();
        (HeaderName::from_static(name), value)
    });
    super::refused(
        &LISTING.parse().unwrap(),
        StatusCode::from_u16(status).unwrap(),
        &headers.collect(),
        body.as_bytes(),
        KEY,
    )
}

#[test]
fn a_status_says_whether_another_attempt_may_succeed() {
    for (status, reason, is_momentary) in [
        (400, Reason::ClientError, false),
        (401, Reason::Unauthorized, false),
        (403, Reason::Forbidden, false),
        (404, Reason::NotFound, false),
        (408, Reason::ServerError, true),
        (409, Reason::ServerError, true),
        (425, Reason::ServerError, true),
        (429, Reason::RateLimited, true),
        (499, Reason::ServerError, true),
        (500, Reason::ServerError, true),
        (501, Reason::ServerError, false),
        (504, Reason::ServerError, true),
    ] {
        let failure = refused(status, &[], "{}");
        assert_eq!(
            (failure.reason, failure.is_momentary()),
            (reason, is_momentary),
            "{status}"
        );
    }
}

#[test]
fn a_403_that_tells_of_a_quota_is_a_429() {
    for (headers, hold) in [
        (&[("retry-after", "60")][..], Some(60)),
        (&[("x-ratelimit-remaining", "0")], None),
    ] {
        let failure = refused(403, headers, "<html>");
        assert_eq!(failure.reason, Reason::RateLimited);
        assert!(failure.is_momentary() && failure.is_refusal());
        assert_eq!(failure.retry_after, hold.map(Duration::from_secs));
        assert!(failure.what.contains("403"), "{}", failure.what);
    }
    let failure = refused(403, &[("x-ratelimit-remaining", "7")], "");
    assert_eq!(failure.reason, Reason::Forbidden);
    assert_eq!(refused(404, &[("retry-after", "60")], "").retry_after, None);
}

#[test]
fn a_page_of_html_is_not_of_the_api() {
    for status in [400, 401, 403, 404] {
        let failure = refused(status, &[], "\r\n <!doctype html>");
        assert_eq!(failure.reason, Reason::NotJson, "{status}");
        assert!(
            failure.what.ends_with(" with a page of HTML"),
            "{}",
            failure.what
        );
        assert!(failure.hint.ends_with("if it is the API, check the key"));
    }
    let failure = refused(503, &[("retry-after", "5")], "<html>");
    assert_eq!(failure.reason, Reason::ServerError);
    assert_eq!(failure.retry_after, Some(Duration::from_secs(5)));
}

#[test]
fn a_redirect_says_where_to_without_secrets() {
    for (location, shown) in [
        (
            "https://new.example.com/base/v1/repositories?limit=1000",
            "https://new.example.com/base/v1/repositories",
        ),
        (
            "/base/v1/repositories/",
            "https://api.example.com/base/v1/repositories/",
        ),
        (
            "https://user:secret@login.example.com/?state=secret",
            "https://login.example.com/",
        ),
    ] {
        let failure = refused(307, &[("location", location)], "");
        assert_eq!(failure.reason, Reason::Redirect);
        let end = format!("307 Temporary Redirect, which points to {shown}");
        assert!(failure.what.ends_with(&end), "{}", failure.what);
    }
    let echoed = refused(302, &[("location", &format!("/{KEY}/v1/repositories"))], "");
    assert!(!echoed.what.contains(KEY));
    assert!(refused(304, &[], "").what.ends_with("304 Not Modified"));
}
