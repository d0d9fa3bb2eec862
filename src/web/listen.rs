//! Listeners: bound early, so that an address in use is reported before the API is called.

use crate::text::os_hint;
use socket2::{Domain, Protocol, Socket, Type};
use std::{
    io,
    net::{self, Ipv6Addr, SocketAddr, ToSocketAddrs},
};
use tokio::net::TcpListener;

/// Why the exporter cannot listen.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    #[error("cannot listen on {address:?} (web.listen_addresses): {error}; {hint}")]
    Address {
        address: String,
        error: io::Error,
        hint: &'static str,
    },
    #[error(
        "cannot take over the sockets that systemd passes (LISTEN_FDS): {0}; use only TCP streams in the .socket unit"
    )]
    Activation(io::Error),
}

/// How many connections may wait to be accepted.
const BACKLOG: i32 = 1024;

/// The sockets that systemd passed (`LISTEN_FDS`), if any.
#[derive(Debug, Default)]
pub struct PassedSockets(Vec<net::TcpListener>);

impl PassedSockets {
    /// Takes them over. It removes the variables that name them, so call it before there are threads.
    pub fn take() -> Result<Self, BindError> {
        // listenfd takes sockets even if LISTEN_PID is missing; systemd always says which process they are for.
        if sd_notify::listen_fds()
            .map_err(BindError::Activation)?
            .len()
            == 0
        {
            return Ok(Self::default());
        }
        let mut passed = listenfd::ListenFd::from_env();
        let sockets =
            (0..passed.len()).filter_map(|index| passed.take_tcp_listener(index).transpose());
        sockets
            .collect::<io::Result<_>>()
            .map(Self)
            .map_err(BindError::Activation)
    }
}

/// Listens on all `addresses`, or on the sockets that systemd passed, if it passed any: they take precedence.
///
/// An address without a host (`:10018`) means all addresses, IPv6 and IPv4, or only IPv4 if there is no IPv6. A name means
/// all its addresses; one that this machine lacks is skipped if there is another.
///
/// # Panics
/// Outside of a tokio runtime.
pub fn bind(addresses: &[String], passed: PassedSockets) -> Result<Vec<TcpListener>, BindError> {
    let listeners: Vec<_> = if passed.0.is_empty() {
        let bound: Vec<_> = addresses
            .iter()
            .map(|address| bind_one(address))
            .collect::<Result<_, _>>()?;
        bound.into_iter().flatten().collect()
    } else {
        passed
            .0
            .into_iter()
            .map(listener)
            .collect::<io::Result<_>>()
            .map_err(BindError::Activation)?
    };
    for address in listeners
        .iter()
        .filter_map(|listener| listener.local_addr().ok())
    {
        tracing::info!(%address, "listening");
    }
    Ok(listeners)
}

fn bind_one(address: &str) -> Result<Vec<TcpListener>, BindError> {
    let bind = |address: &str| address.to_socket_addrs().and_then(bind_all);
    let bound = match address.strip_prefix(':') {
        Some(port) => match bind(&format!("[::]:{port}")) {
            Err(error) if is_lack(&error) => bind(&format!("0.0.0.0:{port}")),
            result => result,
        },
        None => bind(address),
    };
    bound.map_err(|error| BindError::Address {
        address: address.to_owned(),
        hint: hint(&error),
        error,
    })
}

/// Listens on all addresses of a name. If its port is 0, all use the port that the first was given.
fn bind_all(addresses: impl Iterator<Item = SocketAddr>) -> io::Result<Vec<TcpListener>> {
    let (mut bound, mut lacking) = (Vec::<TcpListener>::new(), Vec::new());
    for mut address in addresses {
        if let (0, Some(first)) = (address.port(), bound.first()) {
            address.set_port(first.local_addr()?.port());
        }
        match open(address) {
            Ok(listener) => bound.push(listener),
            Err(error) if is_lack(&error) => lacking.push((address, error)),
            Err(error) => return Err(error),
        }
    }
    if bound.is_empty() {
        let none = io::Error::new(io::ErrorKind::AddrNotAvailable, "the name has no address");
        return Err(lacking.pop().map_or(none, |(_, error)| error));
    }
    for (address, error) in lacking {
        tracing::warn!(%address, %error, "not listening on an address of this name, which this machine lacks");
    }
    Ok(bound)
}

fn open(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(
        Domain::for_address(address),
        Type::STREAM,
        Some(Protocol::TCP),
    )?;
    if address.ip() == Ipv6Addr::UNSPECIFIED {
        socket.set_only_v6(false)?;
    }
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    listener(socket.into())
}

fn listener(socket: net::TcpListener) -> io::Result<TcpListener> {
    socket.set_nonblocking(true)?;
    TcpListener::from_std(socket)
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
    use std::net::{Ipv4Addr, TcpStream};

    fn address(listener: &TcpListener) -> SocketAddr {
        listener.local_addr().unwrap()
    }

    #[tokio::test]
    async fn without_a_host_both_families_are_served() {
        let listener = bind_one(":0").unwrap().remove(0);
        let port = address(&listener).port();
        TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
        if address(&listener).is_ipv6() {
            TcpStream::connect((Ipv6Addr::LOCALHOST, port)).unwrap();
        }
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
        let bound = bind_all(addresses.iter().map(|address| address.parse().unwrap())).unwrap();
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
        let lacking = bind_all(["198.51.100.1:0".parse().unwrap()].into_iter()).unwrap_err();
        assert_eq!(lacking.kind(), io::ErrorKind::AddrNotAvailable);
        let other = bind_one("127.0.0.2:0").unwrap();
        let taken = address(&other[0]);
        let addresses = [
            SocketAddr::new(Ipv4Addr::LOCALHOST.into(), taken.port()),
            taken,
        ];
        assert_eq!(
            bind_all(addresses.into_iter()).unwrap_err().kind(),
            io::ErrorKind::AddrInUse
        );
    }

    #[tokio::test]
    async fn an_address_in_use_is_named_with_its_hint() {
        let first = bind_one("127.0.0.1:0").unwrap().remove(0);
        let address = address(&first).to_string();
        let message = bind(std::slice::from_ref(&address), PassedSockets::default())
            .unwrap_err()
            .to_string();
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
            let message = bind_one(address).unwrap_err().to_string();
            assert!(
                message.ends_with("write host:port, [IPv6]:port or :port"),
                "{message}"
            );
        }
    }
}
