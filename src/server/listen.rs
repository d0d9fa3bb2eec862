//! Listeners, bound before the first request to the API: an address in use is reported at once.

use crate::support::hint::Failure;
use std::{
    io::{self, ErrorKind},
    net::{self, SocketAddr, ToSocketAddrs},
};
use tokio::net::TcpListener;

/// Listens on all `addresses`, which must not overlap.
///
/// An address without a host (`:10018`) stands for all addresses, IPv6 and IPv4, or only IPv4 on a
/// machine without IPv6. A name stands for the first of its addresses that this machine has.
///
/// # Panics
/// Panics outside a tokio runtime.
pub fn bind(addresses: &[String]) -> Result<Vec<TcpListener>, Failure> {
    let bound = addresses
        .iter()
        .map(|address| listen(address).map_err(|error| cannot_listen(address, &error)));
    bound.collect()
}

/// Checks that each of `addresses` resolves.
pub fn check(addresses: &[String]) -> Result<(), Failure> {
    for address in addresses {
        resolve(address).map_err(|error| cannot_listen(address, &error))?;
    }
    Ok(())
}

fn resolve(address: &str) -> io::Result<Vec<SocketAddr>> {
    if address.starts_with(':') {
        // The IPv6 wildcard takes IPv4 connections, too. A machine without IPv6 takes the other.
        let [v6, v4] = ["[::]", "0.0.0.0"].map(|host| format!("{host}{address}").to_socket_addrs());
        return Ok(v6?.chain(v4?).collect());
    }
    Ok(address.to_socket_addrs()?.collect())
}

fn listen(address: &str) -> io::Result<TcpListener> {
    let listener = net::TcpListener::bind(&*resolve(address)?)?;
    tracing::info!(address = %listener.local_addr()?, "listening");
    listener.set_nonblocking(true)?;
    TcpListener::from_std(listener)
}

fn cannot_listen(address: &str, error: &io::Error) -> Failure {
    let hint = match error.kind() {
        ErrorKind::AddrInUse => {
            "stop the process that listens there, choose another port, or leave out one of two \
             addresses that overlap"
        }
        ErrorKind::PermissionDenied => "choose a port above 1023, or grant CAP_NET_BIND_SERVICE",
        ErrorKind::AddrNotAvailable => "choose an address that this machine has",
        ErrorKind::InvalidInput => "write host:port, [IPv6]:port or :port",
        _ => "write a name that has an address here, or an address",
    };
    Failure::new(format!("cannot listen on {address:?}: {error}"), hint)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, Ipv6Addr, TcpStream};

    fn address(listener: &TcpListener) -> SocketAddr {
        listener.local_addr().unwrap()
    }

    fn bind_to(addresses: &[&str]) -> Result<Vec<SocketAddr>, Failure> {
        let addresses: Vec<_> = addresses.iter().map(ToString::to_string).collect();
        let listeners = bind(&addresses)?;
        Ok(listeners.iter().map(address).collect())
    }

    /// Returns a port that no listener uses.
    fn free_port() -> u16 {
        address(&bind(&["127.0.0.1:0".to_owned()]).unwrap()[0]).port()
    }

    #[tokio::test]
    async fn an_address_without_a_host_listens_on_ipv4_and_ipv6() {
        let listeners = bind(&[":0".to_owned()]).unwrap();
        let port = address(&listeners[0]).port();
        TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
        if address(&listeners[0]).is_ipv6() {
            TcpStream::connect((Ipv6Addr::LOCALHOST, port)).unwrap();
        }
    }

    #[tokio::test]
    async fn overlapping_addresses_are_refused_with_a_hint() {
        for addresses in [
            ["127.0.0.1:P", ":P"],
            [":P", "127.0.0.1:P"],
            ["0.0.0.0:P", "127.0.0.1:P"],
        ] {
            let port = free_port().to_string();
            let addresses = addresses.map(|address| address.replace('P', &port));
            let error = bind(&addresses).unwrap_err();
            let what = format!("cannot listen on {:?}: ", addresses[1]);
            assert!(error.what.starts_with(&what), "{error}");
            let hint = "leave out one of two addresses that overlap";
            assert!(error.to_string().ends_with(hint), "{error}");
        }
    }

    #[tokio::test]
    async fn an_address_that_cannot_be_used_is_an_error_with_a_hint() {
        let other = bind(&["127.0.0.1:0".to_owned()]).unwrap();
        let in_use = address(&other[0]).to_string();
        let syntax = "write host:port, [IPv6]:port or :port";
        for (address, hint) in [
            (
                &*in_use,
                "stop the process that listens there, choose another port",
            ),
            ("198.51.100.1:0", "choose an address that this machine has"),
            (
                "name.invalid:80",
                "write a name that has an address here, or an address",
            ),
            (":http", syntax),
            ("10018", syntax),
            ("localhost", syntax),
            (":70000", syntax),
        ] {
            let error = bind_to(&[address]).unwrap_err();
            let what = format!("cannot listen on {address:?}: ");
            assert!(error.what.starts_with(&what), "{error}");
            assert!(error.hint.starts_with(hint), "{error}");
        }
    }
}
