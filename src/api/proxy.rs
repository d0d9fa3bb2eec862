//! The proxy of the environment: `HTTPS_PROXY`, and `NO_PROXY` as Go reads it.

use reqwest::Proxy;
use std::net::IpAddr;
use url::{Host, Url};

/// A variable that does not hold the address of a proxy.
#[derive(Debug, thiserror::Error)]
#[error("{variable}: not the address of a proxy; give one such as http://proxy.example.com:3128")]
pub struct ProxyError {
    variable: &'static str,
}

/// Returns the proxy for `url`, if `HTTPS_PROXY` names one and `NO_PROXY` does not bypass it.
pub fn https_proxy(url: &Url) -> Result<Option<Proxy>, ProxyError> {
    let Some((variable, address)) = variable(["HTTPS_PROXY", "https_proxy"]) else {
        return Ok(None);
    };
    // Without a scheme, it is http.
    let is_http = |address: &&str| {
        let scheme = address
            .split_once("://")
            .map(|(scheme, _)| scheme.to_ascii_lowercase());
        matches!(scheme.as_deref(), None | Some("http" | "https"))
    };
    let proxy = address.to_str().filter(is_http);
    let proxy = proxy.and_then(|address| Proxy::https(address).ok());
    let proxy = proxy.ok_or(ProxyError { variable })?;
    let bypass = variable_text(["NO_PROXY", "no_proxy"]);
    Ok((!is_bypassed(&bypass, url)).then_some(proxy))
}

/// Returns the first variable that is set and not empty.
fn variable(names: [&'static str; 2]) -> Option<(&'static str, std::ffi::OsString)> {
    names.into_iter().find_map(|name| {
        let value = std::env::var_os(name).filter(|value| !value.is_empty())?;
        Some((name, value))
    })
}

fn variable_text(names: [&'static str; 2]) -> String {
    variable(names).map_or_else(String::new, |(_, value)| {
        value.to_string_lossy().into_owned()
    })
}

/// Returns whether `url` bypasses the proxy. A loopback address always does.
///
/// An entry of `NO_PROXY` is `*`, an address, a block of addresses such as `10.0.0.0/8`, a domain
/// with its subdomains, or `.domain` or `*.domain` for its subdomains only. Every entry except `*`
/// and a block may name a port.
fn is_bypassed(no_proxy: &str, url: &Url) -> bool {
    let port = url.port_or_known_default();
    let address = match url.host() {
        Some(Host::Ipv4(address)) => Some(IpAddr::V4(address)),
        Some(Host::Ipv6(address)) => Some(IpAddr::V6(address)),
        Some(Host::Domain("localhost")) => return true,
        _ => None,
    };
    if address.is_some_and(|address| address.is_loopback()) {
        return true;
    }
    let host = url.host_str().unwrap_or_default();
    let host = host.trim_matches(['[', ']']).trim_end_matches('.');
    let entries = no_proxy.split(',').map(|entry| entry.trim().to_lowercase());
    entries.filter(|entry| !entry.is_empty()).any(|entry| {
        if entry == "*" {
            return true;
        }
        if let Some((block, bits)) = entry.split_once('/') {
            let block = block.parse().ok().zip(bits.parse().ok());
            return address
                .zip(block)
                .is_some_and(|(address, (block, bits))| is_within(address, block, bits));
        }
        let (name, entry_port) = split_port(&entry);
        if entry_port.is_some_and(|entry_port| Some(entry_port) != port) {
            return false;
        }
        if let Some(address) = address {
            return name.parse() == Ok(address);
        }
        let name = name.strip_prefix('*').unwrap_or(name);
        match name.strip_prefix('.') {
            Some(domain) => is_below(host, domain),
            None => host == name || is_below(host, name),
        }
    })
}

/// Splits `host:port` and `[address]:port`; an IPv6 address without brackets has no port.
fn split_port(entry: &str) -> (&str, Option<u16>) {
    let (name, port) = match entry.rsplit_once(':') {
        Some((name, port)) if !name.contains(':') || name.ends_with(']') => {
            (name, port.parse().ok())
        }
        _ => (entry, None),
    };
    (name.trim_matches(['[', ']']), port)
}

fn is_below(host: &str, domain: &str) -> bool {
    host.strip_suffix(domain)
        .is_some_and(|below| below.ends_with('.'))
}

fn is_within(address: IpAddr, block: IpAddr, bits: u32) -> bool {
    let (address, block, width) = match (address, block) {
        (IpAddr::V4(address), IpAddr::V4(block)) => (
            u128::from(address.to_bits()),
            u128::from(block.to_bits()),
            32,
        ),
        (IpAddr::V6(address), IpAddr::V6(block)) => (address.to_bits(), block.to_bits(), 128),
        _ => return false,
    };
    bits <= width && (address ^ block).checked_shr(width - bits).unwrap_or(0) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_proxy_is_read_as_go_reads_it() {
        for (no_proxy, host, bypassed) in [
            ("", "api.example.com", false),
            ("*", "api.example.com", true),
            ("example.com", "api.example.com", true),
            ("example.com", "example.com", true),
            ("example.com", "badexample.com", false),
            (".example.com", "api.example.com", true),
            (".example.com", "example.com", false),
            ("*.example.com", "api.example.com", true),
            ("*.example.com", "example.com", false),
            ("other, API.example.com", "api.example.com", true),
            ("api.example.com:443", "api.example.com", true),
            ("api.example.com:8443", "api.example.com", false),
            ("api.example.com:8443", "api.example.com:8443", true),
            ("10.0.0.0/8", "10.1.2.3", true),
            ("10.0.0.0/8", "11.1.2.3", false),
            ("0.0.0.0/0", "11.1.2.3", true),
            ("fd00::/8", "[fd12::1]", true),
            ("192.0.2.1", "192.0.2.1", true),
            ("192.0.2.1:8443", "192.0.2.1", false),
            ("[2001:db8::1]:443", "[2001:db8::1]", true),
            ("", "localhost", true),
            ("", "127.0.0.1", true),
            ("", "[::1]", true),
        ] {
            let url = Url::parse(&format!("https://{host}/")).unwrap();
            assert_eq!(is_bypassed(no_proxy, &url), bypassed, "{no_proxy} {host}");
        }
    }
}
