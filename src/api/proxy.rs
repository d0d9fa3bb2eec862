//! The proxy of the environment through which an API with TLS is reached. reqwest chooses it.

use super::error::RequestFailure;
use crate::{domain::Reason, support::hint::Failure};
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use reqwest::Url;
use std::env;

/// The variables that name a proxy. reqwest uses the first that is not empty.
const VARIABLES: [&str; 4] = ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];

/// Returns the address of the proxy for requests to `api`, without its user and password; `None`
/// for an API without TLS, because a proxy for plain HTTP would see the key.
///
/// # Errors
///
/// Fails if the variable is set to a value that is no URL of a proxy: reqwest would go past a
/// proxy that is required.
pub fn of_environment(api: &Url) -> Result<Option<String>, Failure> {
    if api.scheme() != "https" {
        return Ok(None);
    }
    let set = VARIABLES.map(|name| (name, env::var(name).unwrap_or_default()));
    let Some((name, value)) = set.iter().find(|(_, value)| !value.is_empty()) else {
        return Ok(None);
    };
    if !is_proxy(value) {
        return Err(Failure::new(
            format!("{name} is not the URL of a proxy; its value is not shown"),
            "set it to http://host:port or http://user:password@host:port, without quotes or \
             blanks and with %40 for an @ of the password, or leave it out",
        ));
    }
    let proxy = intercept(&Matcher::from_env(), api.as_str());
    Ok(proxy.map(|proxy| format!("{} of {name}", proxy.uri())))
}

/// Returns true for a URL that ends with its host and port, which messages show: elsewhere
/// hyper-util takes a piece of a password that contains an `@` or a slash for the host.
fn is_proxy(value: &str) -> bool {
    let matcher = Matcher::builder().all(value).build();
    intercept(&matcher, "https://api.example.com").is_some_and(|proxy| {
        let (uri, value) = (proxy.uri(), value.trim_end_matches('/'));
        matches!(uri.scheme_str(), Some("http" | "https"))
            && uri
                .authority()
                .is_some_and(|address| value.ends_with(address.as_str()))
            && Url::parse(&uri.to_string()).is_ok_and(|url| url.username().is_empty())
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
        if failure.reason == Reason::Connect {
            failure.hint = "check that the proxy works, with its user and password, and that it \
                            reaches the host and port of api.base_url";
        }
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
