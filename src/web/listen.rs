//! Listeners: bound early, so that an address in use is reported before the API is called.

use crate::text::os_hint;
use std::{
    io,
    net::{self, SocketAddr, ToSocketAddrs},
};
use tokio::net::TcpListener;

/// Why the exporter cannot listen.
#[derive(Debug, thiserror::Error)]
#[error(
    "cannot listen on {address:?} (web.listen_addresses): {error}; {}",
    hint(error)
)]
pub struct BindError {
    address: String,
    error: io::Error,
}

/// Listens on all `addresses`. Those that overlap are one.
///
/// An address without a host (`:10018`) means all addresses, IPv6 and IPv4, or only IPv4 if there is no IPv6. A name means
/// all its addresses; one that this machine lacks is skipped if there is another.
///
/// # Panics
/// Outside of a tokio runtime.
pub fn bind(addresses: &[String]) -> Result<Vec<TcpListener>, BindError> {
    let mut resolved = Vec::new();
    for address in addresses {
        let failed = |error| BindError {
            address: address.clone(),
            error,
        };
        resolved.push((resolve(address).map_err(failed)?, failed));
    }
    // A wildcard serves the others, but cannot be bound after them.
    resolved.sort_by_key(|(addresses, _)| {
        let first = addresses.first();
        first.map(|first| (!first.ip().is_unspecified(), first.is_ipv4()))
    });
    let mut listeners = Vec::new();
    for (addresses, failed) in resolved {
        bind_all(addresses, &mut listeners).map_err(failed)?;
    }
    for listener in &listeners {
        if let Ok(address) = listener.local_addr() {
            tracing::info!(%address, "listening");
        }
    }
    Ok(listeners)
}

fn resolve(address: &str) -> io::Result<Vec<SocketAddr>> {
    let mut resolved = Vec::new();
    let hosts: &[&str] = if address.starts_with(':') {
        &["[::]", "0.0.0.0"]
    } else {
        &[""]
    };
    for host in hosts {
        resolved.extend(format!("{host}{address}").to_socket_addrs()?);
    }
    Ok(resolved)
}

/// Adds a listener for each of the addresses of a name. If its port is 0, all use the port that the first was given.
fn bind_all(addresses: Vec<SocketAddr>, listeners: &mut Vec<TcpListener>) -> io::Result<()> {
    let (mut port, mut lacking) = (None, None);
    for mut address in addresses {
        if let (0, Some(port)) = (address.port(), port) {
            address.set_port(port);
        }
        match listen(address) {
            Ok(listener) => {
                port = Some(listener.local_addr()?.port());
                listeners.push(listener);
            }
            Err(error) if is_in_use(&error) && is_served(address, listeners) => {
                port = Some(address.port());
            }
            Err(error) if is_lack(&error) => {
                tracing::info!(%address, %error, "not listening on an address that this machine lacks");
                lacking = Some(error);
            }
            Err(error) => return Err(error),
        }
    }
    match (port, lacking) {
        (Some(_), _) => Ok(()),
        (None, Some(error)) => Err(error),
        (None, None) => Err(io::Error::new(
            io::ErrorKind::AddrNotAvailable,
            "the name has no address",
        )),
    }
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let listener = net::TcpListener::bind(address)?;
    listener.set_nonblocking(true)?;
    TcpListener::from_std(listener)
}

fn is_in_use(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::AddrInUse
}

/// Whether one of these listeners, which may be a wildcard, takes connections to the address.
fn is_served(address: SocketAddr, listeners: &[TcpListener]) -> bool {
    let serves = |own: SocketAddr| {
        own.port() == address.port() && (own.ip() == address.ip() || own.ip().is_unspecified())
    };
    listeners
        .iter()
        .any(|listener| listener.local_addr().is_ok_and(serves))
}

/// Whether this machine lacks the address: it is another machine's, or IPv6 without IPv6 support.
fn is_lack(error: &io::Error) -> bool {
    const EAFNOSUPPORT: i32 = 97;
    error.raw_os_error() == Some(EAFNOSUPPORT)
        || matches!(
            error.kind(),
            io::ErrorKind::AddrNotAvailable | io::ErrorKind::Unsupported
        )
}

fn hint(error: &io::Error) -> &'static str {
    if let Some(hint) = os_hint(error) {
        return hint;
    }
    match error.kind() {
        io::ErrorKind::AddrInUse => "end the process that listens there, or choose another port",
        io::ErrorKind::PermissionDenied => {
            "choose a port above 1023, or grant CAP_NET_BIND_SERVICE"
        }
        io::ErrorKind::AddrNotAvailable => "choose an address that this machine has",
        _ => "write host:port, [IPv6]:port or :port",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, Ipv6Addr, TcpStream};

    fn address(listener: &TcpListener) -> SocketAddr {
        listener.local_addr().unwrap()
    }

    fn bind_to(addresses: &[&str]) -> Result<Vec<SocketAddr>, BindError> {
        let addresses: Vec<_> = addresses.iter().map(ToString::to_string).collect();
        let listeners = bind(&addresses)?;
        Ok(listeners.iter().map(address).collect())
    }

    /// A port that nobody listens on.
    fn free_port() -> u16 {
        address(&bind(&["127.0.0.1:0".to_owned()]).unwrap()[0]).port()
    }

    #[tokio::test]
    async fn without_a_host_both_families_are_served_at_one_port() {
        let listeners = bind(&[":0".to_owned()]).unwrap();
        let port = address(&listeners[0]).port();
        TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
        if address(&listeners[0]).is_ipv6() {
            TcpStream::connect((Ipv6Addr::LOCALHOST, port)).unwrap();
        }
    }

    #[tokio::test]
    async fn addresses_that_overlap_are_one_in_any_order() {
        for addresses in [
            ["127.0.0.1:P", ":P", "localhost:P"],
            ["[::]:P", ":P", "0.0.0.0:P"],
            ["0.0.0.0:P", "127.0.0.1:P", "127.0.0.1:P"],
        ] {
            let port = free_port().to_string();
            let addresses = addresses.map(|address| address.replace('P', &port));
            assert_eq!(bind(&addresses).unwrap().len(), 1, "{addresses:?}");
        }
        let port = free_port().to_string();
        let addresses = ["localhost:P", "127.0.0.1:P"].map(|address| address.replace('P', &port));
        let named = bind(&addresses[..1]).unwrap().len();
        assert_eq!(bind(&addresses).unwrap().len(), named);
    }

    #[tokio::test]
    async fn a_name_is_served_on_all_its_addresses_with_one_port_except_those_that_this_machine_lacks()
     {
        let addresses = [
            "198.51.100.1:0",
            "127.0.0.1:0",
            "198.51.100.2:0",
            "127.0.0.2:0",
        ];
        let mut bound = Vec::new();
        let addresses = addresses.map(|address| address.parse().unwrap());
        bind_all(addresses.to_vec(), &mut bound).unwrap();
        let hosts: Vec<_> = bound
            .iter()
            .map(|listener| address(listener).ip().to_string())
            .collect();
        assert_eq!(hosts, ["127.0.0.1", "127.0.0.2"]);
        assert_eq!(address(&bound[0]).port(), address(&bound[1]).port());
        for listener in bound {
            TcpStream::connect(address(&listener)).unwrap();
        }
    }

    #[tokio::test]
    async fn a_name_without_an_address_of_this_machine_and_one_whose_port_is_taken_are_errors() {
        let lacking = bind_to(&["198.51.100.1:0"]).unwrap_err();
        assert_eq!(lacking.error.kind(), io::ErrorKind::AddrNotAvailable);
        let other = bind(&["127.0.0.2:0".to_owned()]).unwrap();
        let taken = address(&other[0]);
        let free = SocketAddr::new(Ipv4Addr::LOCALHOST.into(), taken.port());
        let error = bind_all(vec![free, taken], &mut Vec::new()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AddrInUse);
    }

    #[tokio::test]
    async fn an_address_in_use_is_named_with_its_hint() {
        let other = bind(&["127.0.0.1:0".to_owned()]).unwrap();
        let address = address(&other[0]).to_string();
        let message = bind_to(&[&address]).unwrap_err().to_string();
        assert!(
            message.starts_with(&format!(
                "cannot listen on {address:?} (web.listen_addresses): "
            )),
            "{message}"
        );
        assert!(
            message.ends_with("end the process that listens there, or choose another port"),
            "{message}"
        );
    }

    #[tokio::test]
    async fn an_error_about_what_is_no_address_says_how_to_write_one() {
        for address in [":http", "10018", "localhost", ":70000"] {
            let message = bind_to(&[address]).unwrap_err().to_string();
            assert!(
                message.ends_with("write host:port, [IPv6]:port or :port"),
                "{message}"
            );
        }
    }
}
