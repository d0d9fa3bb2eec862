//! Values of the configuration that parse themselves from text.

use crate::support::{
    logging::Format,
    parsed::{Parse, is, items, parse},
};
use secrecy::SecretString;
use std::path::PathBuf;
use tracing::Level;
use url::Url;

impl Parse for SecretString {
    const TAKES: &'static str = "the API key as one text in quotes, and nothing else";

    fn parse(text: &str) -> Result<Self, String> {
        sendable(text.as_bytes()).map_err(str::to_owned)
    }
}

/// Returns the key if it can be sent.
pub fn sendable(bytes: &[u8]) -> Result<SecretString, &'static str> {
    match std::str::from_utf8(bytes).map(|text| text.trim_end_matches(['\r', '\n'])) {
        Ok("") => Err("is empty"),
        Ok(text) if text.starts_with(['"', '\'']) => {
            Err("begins with a quote, which a tool left there")
        }
        Ok(text) if text.starts_with("${") => {
            Err("begins with ${, the start of a variable that a tool did not expand")
        }
        Ok(text) if text.bytes().all(|byte| byte.is_ascii_graphic()) => {
            Ok(SecretString::from(text))
        }
        _ => Err(
            "contains a character that cannot be sent in a header (a line break, a space, or one \
             that is not printable ASCII)",
        ),
    }
}

parse! {
    // The root of the API; its path ends with a slash.
    Url:
        "the root of the API, such as https://api.example.com: https or http, no user, query (?) or \
         fragment (#)",
        |text| {
            let mut url = Url::parse(text).ok()?;
            url.set_path(&format!("{}/", url.path().trim_end_matches('/')));
            let is_root = !url.authority().contains('@') && !text.contains(['?', '#']);
            (is_root && ["http", "https"].contains(&url.scheme())).then_some(url)
        };
    PathBuf: "the path of a file in quotes", |text: &str| Some(text.into());
    Level: "one of error, warn, info, debug, trace", |text: &str| text.parse().ok();
    Format: "one of logfmt, json", |text| match text {
        "logfmt" => Some(Format::Logfmt),
        "json" => Some(Format::Json),
        _ => None,
    };
    // The path of the metrics.
    String:
        "a path such as /metrics, of letters, digits and -._~/, that has no other use here",
        |path: &str| {
            let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
            let is_other = ["/", "/translations.json", "/translations.csv"].contains(&path)
                || path.starts_with("/-/");
            let is_path = path.starts_with('/') && !path.contains("//");
            (is_path && path.bytes().all(is_allowed) && !is_other).then(|| path.to_owned())
        };
}

/// Addresses to listen on, of which the server knows the form.
impl Parse for Vec<String> {
    const TAKES: &'static str = "host:port, such as :10018 or 127.0.0.1:10018,[::1]:10018";
    const IS_LIST: bool = true;

    fn parse(text: &str) -> Result<Self, String> {
        match items(text) {
            items if items.is_empty() => Err(is(text)),
            items => Ok(items.into_iter().map(str::to_owned).collect()),
        }
    }
}
