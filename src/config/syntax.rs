//! What single values must look like. Each error says what is wrong with the value, to follow its key; it quotes the
//! value only if that can hold no secret.

use super::error::short;
use std::net::Ipv6Addr;
use url::{Host, Url};

/// The root of the API, its path ending with a slash. The value may hold a secret in the wrong place: no error quotes it.
pub(super) fn base_url(text: &str) -> Result<Url, String> {
    if !text.contains("://") {
        return Err("does not begin with https://".to_owned());
    }
    let mut url = Url::parse(text).map_err(|error| format!("is not a URL: {error}"))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err("is neither an https nor an http URL".to_owned());
    }
    let has_user = !url.username().is_empty() || url.password().is_some();
    if has_user || url.query().is_some() || url.fragment().is_some() {
        return Err(
            "holds a user, a password, a query (from \"?\" on) or a fragment (from \"#\" on), which is not allowed"
                .to_owned(),
        );
    }
    if !url.path().ends_with('/') {
        url.set_path(&format!("{}/", url.path()));
    }
    Ok(url)
}

/// Whether what is sent there stays on this machine.
pub(super) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.to_canonical().is_loopback(),
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        None => false,
    }
}

/// host:port; the host may be missing, an IPv6 address is in brackets.
pub(super) fn listen_address(text: &str) -> Result<(), &'static str> {
    let (host, port) = text.rsplit_once(':').ok_or("has no port")?;
    if text.parse::<Ipv6Addr>().is_ok() || host.parse::<Ipv6Addr>().is_ok() {
        return Err("holds an IPv6 address without brackets");
    }
    if !port.bytes().all(|byte| byte.is_ascii_digit()) || port.parse::<u16>().is_err() {
        return Err("has a port that is not a number from 0 to 65535");
    }
    let known = match host.strip_prefix('[') {
        Some(address) => address.strip_suffix(']').is_some_and(|address| address.parse::<Ipv6Addr>().is_ok()),
        None => host.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_')),
    };
    if known { Ok(()) } else { Err("has a host that is neither a name nor an address") }
}

/// A path at which the metrics can be served: not that of the status page, and none that begins like the exporter's own.
pub(super) fn telemetry_path(text: &str) -> Result<(), String> {
    let problem = match text {
        _ if !text.starts_with('/') => "does not begin with a slash",
        _ if text == "/" || text.starts_with("/-/") => "is already a path of the exporter",
        _ if !text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte)) => {
            "contains a character that is not allowed in it"
        }
        _ => return Ok(()),
    };
    Err(format!("{} {problem}", short(text)))
}
