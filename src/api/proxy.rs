//! The proxy of the environment.

use crate::support::hint::SetupError;
use reqwest::{NoProxy, Proxy};
use std::env;

/// Returns the proxy that `HTTPS_PROXY` names. It is not used for hosts in `NO_PROXY`.
pub fn https_proxy() -> Result<Option<Proxy>, SetupError> {
    let set = ["HTTPS_PROXY", "https_proxy"].into_iter().find_map(|name| {
        let address = env::var_os(name).filter(|address| !address.is_empty())?;
        Some((name, address))
    });
    let Some((variable, address)) = set else {
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
    let proxy = proxy.ok_or_else(|| {
        SetupError::new(
            format!("{variable}: not the address of a proxy"),
            "give one such as http://proxy.example.com:3128",
        )
    })?;
    Ok(Some(proxy.no_proxy(NoProxy::from_env())))
}
