//! What the single values must look like. Each error says what is wrong with the value, to stand behind its key; the
//! value itself is quoted only where it can hold no secret.

use std::{
    fmt,
    net::{IpAddr, Ipv6Addr},
};
use url::Url;

/// A number of bytes; shown exactly, in the largest unit that allows it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Size(pub(super) u64);

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"), (1, "B")];
        let exact = units.into_iter().find(|(unit, _)| self.0.is_multiple_of(*unit));
        let (unit, name) = exact.unwrap_or((1, "B"));
        write!(f, "{}{name}", self.0 / unit)
    }
}

/// The root of the API, its path ending with a slash. The value may hold a secret in the wrong place: no error quotes it.
pub(super) fn base_url(text: &str) -> Result<Url, String> {
    if !text.contains("://") {
        return Err("does not begin with https://".to_owned());
    }
    let mut url = Url::parse(text).map_err(|error| format!("is no URL: {error}"))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err("is neither an https nor an http URL".to_owned());
    }
    if url.host_str().is_none_or(str::is_empty) {
        return Err("has no host".to_owned());
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("holds a user or password, which the API does not take".to_owned());
    }
    if url.query().is_some() {
        return Err("holds a query (from its \"?\" on)".to_owned());
    }
    if url.fragment().is_some() {
        return Err("holds a fragment (from its \"#\" on)".to_owned());
    }
    if !url.path().ends_with('/') {
        url.set_path(&format!("{}/", url.path()));
    }
    Ok(url)
}

/// Whether what is sent there stays on this machine.
pub(super) fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']');
    match address.parse::<IpAddr>() {
        Ok(address) => address.to_canonical().is_loopback(),
        Err(_) => host == "localhost" || host.ends_with(".localhost"),
    }
}

/// host:port; the host may be missing, an IPv6 one stands in brackets.
pub(super) fn listen_address(text: &str) -> Result<(), &'static str> {
    let (host, port) = text.rsplit_once(':').ok_or("has no port")?;
    if text.parse::<Ipv6Addr>().is_ok() || host.parse::<Ipv6Addr>().is_ok() {
        return Err("holds an IPv6 address without brackets");
    }
    if !port.bytes().all(|byte| byte.is_ascii_digit()) || port.parse::<u16>().is_err() {
        return Err("has a port that is no number from 0 to 65535");
    }
    let known = match host.strip_prefix('[') {
        Some(address) => address.strip_suffix(']').is_some_and(|address| address.parse::<Ipv6Addr>().is_ok()),
        None => host.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_')),
    };
    if known { Ok(()) } else { Err("has a host that is neither a name nor an address") }
}

/// A path at which the metrics can be served.
pub(super) fn telemetry_path(text: &str) -> Result<String, String> {
    let quoted = super::error::short(text);
    if !text.starts_with('/') {
        return Err(format!("{quoted} does not begin with a slash"));
    }
    if ["/", "/-/healthy", "/-/ready", "/-/reload"].contains(&text) {
        return Err(format!("{quoted} is a path of the exporter already"));
    }
    if !text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte)) {
        return Err(format!("{quoted} holds a character that a path should not"));
    }
    Ok(text.to_owned())
}

/// The items of a list that is written as one text.
pub(super) fn split_commas(text: &str) -> Vec<String> {
    text.split(',').map(str::trim).filter(|item| !item.is_empty()).map(str::to_owned).collect()
}

/// Like [`split_commas`], but a comma within the braces of a glob is the glob's own.
pub(super) fn split_globs(text: &str) -> Vec<String> {
    let mut depth = 0_usize;
    let items = text.split(|c| {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    });
    items.map(str::trim).filter(|item| !item.is_empty()).map(str::to_owned).collect()
}
