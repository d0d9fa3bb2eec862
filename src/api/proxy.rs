//! The proxy of the environment through which an API with TLS is reached.

use super::error::RequestFailure;
use crate::{domain::Reason, support::hint::SetupError};
use hyper_util::client::proxy::matcher::Matcher;
use reqwest::Url;
use std::{env, fmt};

/// The variables that name a proxy. The first that is not blank counts.
const VARIABLES: [&str; 4] = ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];

/// A proxy, and the variable that names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proxy {
    pub url: Url,
    variable: &'static str,
}

impl Proxy {
    /// Returns the proxy for requests to `api`; `None` for an API without TLS, because a proxy for
    /// plain HTTP would see the key, and for a host in `NO_PROXY`.
    ///
    /// # Errors
    ///
    /// Fails if the variable is set to a value that is no URL of a proxy, so that no request goes
    /// past a proxy that is required.
    pub fn of_environment(api: &Url) -> Result<Option<Self>, SetupError> {
        let variable = |name: &str| env::var(name).ok().filter(|value| !value.trim().is_empty());
        Self::choose(api, variable)
    }

    fn choose(
        api: &Url,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Option<Self>, SetupError> {
        let set = VARIABLES
            .into_iter()
            .find_map(|name| Some((name, variable(name)?)));
        let (Some((name, value)), "https") = (set, api.scheme()) else {
            return Ok(None);
        };
        let url = parse(&value).ok_or_else(|| {
            SetupError::new(
                format!("{name} is not the URL of a proxy; its value is not shown"),
                "set it to http://host:port or http://user:password@host:port, without quotes or \
                 blanks, or leave it out",
            )
        })?;
        let no_proxy = variable("NO_PROXY").or_else(|| variable("no_proxy"));
        let matcher = Matcher::builder()
            .all(url.as_str())
            .no(no_proxy.unwrap_or_default());
        let api = api.as_str().parse();
        let is_used = api.is_ok_and(|api| matcher.build().intercept(&api).is_some());
        Ok(is_used.then_some(Self {
            url,
            variable: name,
        }))
    }

    /// Names the proxy in the failure of a connection that may be its fault.
    pub fn blame(&self, failure: &mut RequestFailure) {
        if matches!(failure.reason, Reason::Connect | Reason::Tls) {
            failure.what = format!("{} (through the proxy {self})", failure.what);
            failure.hint = format!(
                "{}; check {}, too: its form is http://user:password@host:port, and the proxy must \
                 let requests to the API pass",
                failure.hint, self.variable
            )
            .into();
        }
    }
}

/// Formats the proxy without its user and password.
impl fmt::Display for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.url.origin().ascii_serialization())
    }
}

fn parse(value: &str) -> Option<Url> {
    let is_of_url = |c: char| c.is_ascii_graphic() && !matches!(c, '"' | '\'' | '{' | '`');
    let begins = value.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '[');
    let url = match value.split_once("://") {
        Some(_) => Url::parse(value),
        None => Url::parse(&format!("http://{value}")),
    };
    let url = url
        .ok()
        .filter(|url| matches!(url.scheme(), "http" | "https"));
    url.filter(|_| begins && value.chars().all(is_of_url))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(
        api: &str,
        variables: &[(&str, &str)],
    ) -> Result<Option<(&'static str, String)>, String> {
        let api = Url::parse(api).unwrap();
        let value = |name: &str| {
            let found = variables.iter().find(|(set, _)| *set == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        let proxy = Proxy::choose(&api, value).map_err(|error| error.to_string())?;
        Ok(proxy.map(|proxy| (proxy.variable, proxy.to_string())))
    }

    const API: &str = "https://api.example.com";

    #[test]
    fn the_first_variable_names_the_proxy_of_an_api_with_tls() {
        for (value, shown) in [
            ("http://proxy:3128", "http://proxy:3128"),
            ("proxy:3128", "http://proxy:3128"),
            ("https://user:secret@proxy", "https://proxy"),
            ("http://[::1]:3128/", "http://[::1]:3128"),
        ] {
            let variables = [("https_proxy", value), ("ALL_PROXY", "http://other")];
            let expected = Some(("https_proxy", shown.to_owned()));
            assert_eq!(chosen(API, &variables), Ok(expected));
            assert_eq!(chosen("http://api.example.com", &variables), Ok(None));
        }
        assert_eq!(chosen(API, &[("HTTP_PROXY", "http://proxy")]), Ok(None));
    }

    #[test]
    fn a_host_in_no_proxy_needs_no_proxy() {
        for (no_proxy, is_used) in [
            ("*", false),
            ("example.com", false),
            (".example.com", false),
            ("api.example.com:443", true),
            ("xample.com", true),
        ] {
            let variables = [("HTTPS_PROXY", "http://proxy"), ("NO_PROXY", no_proxy)];
            let proxy = chosen(API, &variables).unwrap();
            assert_eq!(proxy.is_some(), is_used, "{no_proxy}");
        }
    }

    #[test]
    fn a_value_that_is_no_url_is_an_error_that_does_not_quote_it() {
        for value in [
            "\"http://proxy:3128\"",
            "'http://proxy:3128'",
            " http://proxy:3128",
            "http://proxy:3128 ",
            "${PROXY}",
            "$PROXY",
            "//proxy:3128",
            "ftp://proxy:3128",
            "socks5://proxy:3128",
            "::",
            "http://",
            "http://proxy:port",
        ] {
            let error = chosen(API, &[("HTTPS_PROXY", value)]).unwrap_err();
            assert!(error.starts_with("HTTPS_PROXY is not"), "{value}: {error}");
            assert!(!error.contains("3128"), "{error}");
        }
    }
}
