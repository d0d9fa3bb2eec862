//! The proxy of the environment through which an API with TLS is reached. reqwest chooses it.

use super::error::RequestFailure;
use crate::{domain::Reason, support::hint::SetupError};
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use reqwest::Url;
use std::env;

/// The variables that name a proxy. reqwest reads the first of a pair that is set, and the second
/// pair if that is empty.
const VARIABLES: [[&str; 2]; 2] = [["HTTPS_PROXY", "https_proxy"], ["ALL_PROXY", "all_proxy"]];

/// Returns the address of the proxy for requests to `api`, without its user and password; `None`
/// for an API without TLS, because a proxy for plain HTTP would see the key.
///
/// # Errors
///
/// Fails if the variable is set to a value that is no URL of a proxy: reqwest would go past a
/// proxy that is required.
pub fn of_environment(api: &Url) -> Result<Option<String>, SetupError> {
    if api.scheme() != "https" {
        return Ok(None);
    }
    let set = |pair: [&'static str; 2]| {
        let mut set = pair
            .iter()
            .filter_map(|name| Some((*name, env::var(name).ok()?)));
        set.next().filter(|(_, value)| !value.is_empty())
    };
    let Some((name, value)) = VARIABLES.into_iter().find_map(set) else {
        return Ok(None);
    };
    if !is_proxy(&value) {
        return Err(SetupError::new(
            format!("{name} is not the URL of a proxy; its value is not shown"),
            "set it to http://host:port or http://user:password@host:port, without quotes or \
             blanks and with %40 for an @ of the password, or leave it out",
        ));
    }
    let proxy = intercept(&Matcher::from_env(), api.as_str());
    Ok(proxy.map(|proxy| format!("{} of {name}", proxy.uri())))
}

/// Returns true for a URL that is nothing but a host and a port behind its last `@`: messages show
/// the host, in which hyper-util leaves a piece of a password that contains an `@` or a slash.
fn is_proxy(value: &str) -> bool {
    let matcher = Matcher::builder().all(value).build();
    let mut parts = value.trim_end_matches('/').rsplit(['@', '/']);
    let address = parts.next().unwrap_or_default();
    intercept(&matcher, "https://api.example.com").is_some_and(|proxy| {
        let shown = proxy.uri().to_string();
        let is_whole = |scheme| shown == format!("{scheme}://{address}/");
        ["http", "https"].into_iter().any(is_whole) && Url::parse(&shown).is_ok()
    })
}

fn intercept(matcher: &Matcher, url: &str) -> Option<Intercept> {
    matcher.intercept(&url.parse().ok()?)
}

/// Names the proxy in the failure of a connection that may be its fault.
pub fn blame(proxy: &str, failure: &mut RequestFailure) {
    if matches!(failure.reason, Reason::Connect | Reason::Tls) {
        let through = format!(" (through the proxy {proxy}: check that, too)");
        failure.what += &through;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_is_no_url_is_refused() {
        for value in [
            "http://proxy:3128",
            "proxy:3128",
            "https://user:secret@proxy",
            "user:se%40cret@proxy:3128",
            "http://[::1]:3128/",
        ] {
            assert!(is_proxy(value), "{value}");
        }
        for value in [
            "\"http://proxy:3128\"",
            "'http://proxy:3128'",
            " http://proxy:3128",
            "http://proxy:3128 ",
            "${PROXY}",
            "//proxy:3128",
            "ftp://proxy:3128",
            "socks5://proxy:3128",
            "::",
            "http://",
            "http://user:s3@cret@proxy:3128",
            "http://user:s3/cret@proxy:3128",
            "http://user:1/cret@proxy:3128",
            "http://user:s3cret",
            "http://user:s3cret@",
            "http://proxy:3128/path",
            "http://proxy:99999",
            "http://proxy?s3cret",
        ] {
            assert!(!is_proxy(value), "{value}");
        }
    }
}
