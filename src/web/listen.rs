//! Listeners: bound early, so that an address in use is told before the API is asked.

use crate::text::os_hint;
use socket2::{Domain, Protocol, Socket, Type};
use std::{
    io,
    net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, ToSocketAddrs},
};

/// A bound socket that listens; connections wait in its queue until [`super::serve`] accepts them.
#[derive(Debug)]
pub struct Listener {
    pub(super) socket: TcpListener,
    pub(super) address: SocketAddr,
}

impl Listener {
    /// The address with the real port.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

/// Why the exporter cannot listen.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    #[error("cannot listen on {address:?} (web.listen_addresses): {error}; {hint}")]
    Address { address: String, error: io::Error, hint: &'static str },
    #[error(
        "cannot take over the sockets that systemd passes (LISTEN_FDS): {0}; let the .socket unit have TCP streams only"
    )]
    Activation(io::Error),
}

/// How many connections wait to be accepted.
const BACKLOG: i32 = 1024;

/// Listens on all `addresses`, or on the sockets that systemd `passed`, if it passed any: they take precedence.
///
/// An address without a host (`:10018`) means all addresses, IPv6 and IPv4, or IPv4 alone where there is no IPv6.
pub fn bind(addresses: &[String], passed: Vec<Listener>) -> Result<Vec<Listener>, BindError> {
    let listeners = if passed.is_empty() {
        addresses.iter().map(|address| bind_one(address)).collect::<Result<_, _>>()?
    } else {
        passed
    };
    for listener in &listeners {
        tracing::info!(address = %listener.address, "listening");
    }
    Ok(listeners)
}

/// The sockets that systemd passed. It removes the variables that say so: call it before any thread is started.
pub fn passed_by_systemd() -> Result<Vec<Listener>, BindError> {
    take_passed().map_err(BindError::Activation)
}

fn take_passed() -> io::Result<Vec<Listener>> {
    // listenfd takes sockets also where LISTEN_PID is missing; systemd always says whom they are for.
    if sd_notify::listen_fds()?.len() == 0 {
        return Ok(Vec::new());
    }
    let mut passed = listenfd::ListenFd::from_env();
    let sockets = (0..passed.len()).filter_map(|index| passed.take_tcp_listener(index).transpose());
    sockets.map(|socket| socket.and_then(listener)).collect()
}

fn bind_one(address: &str) -> Result<Listener, BindError> {
    let failed = |error: io::Error| {
        let hint = hint(&error);
        BindError::Address { address: address.to_owned(), error, hint }
    };
    if let Some(port) = address.strip_prefix(':') {
        let port: u16 = port.parse().map_err(|_| {
            failed(io::Error::new(io::ErrorKind::InvalidInput, format!("{port:?} is no port from 0 to 65535")))
        })?;
        return match open((Ipv6Addr::UNSPECIFIED, port).into()) {
            Err(error) if lacks_ipv6(&error) => open((Ipv4Addr::UNSPECIFIED, port).into()),
            result => result,
        }
        .map_err(failed);
    }
    let candidates = address.to_socket_addrs().map_err(failed)?;
    let mut last = io::Error::new(io::ErrorKind::AddrNotAvailable, "the name has no address");
    for candidate in candidates {
        match open(candidate) {
            Ok(listener) => return Ok(listener),
            Err(error) => last = error,
        }
    }
    Err(failed(last))
}

fn open(address: SocketAddr) -> io::Result<Listener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    if address.ip() == Ipv6Addr::UNSPECIFIED {
        socket.set_only_v6(false)?;
    }
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    listener(socket.into())
}

fn listener(socket: TcpListener) -> io::Result<Listener> {
    socket.set_nonblocking(true)?;
    let address = socket.local_addr()?;
    Ok(Listener { socket, address })
}

/// Whether the kernel has no IPv6, or has it switched off.
fn lacks_ipv6(error: &io::Error) -> bool {
    const EAFNOSUPPORT: i32 = 97;
    error.raw_os_error() == Some(EAFNOSUPPORT)
        || matches!(error.kind(), io::ErrorKind::AddrNotAvailable | io::ErrorKind::Unsupported)
}

fn hint(error: &io::Error) -> &'static str {
    if let Some(hint) = os_hint(error) {
        return hint;
    }
    match error.kind() {
        io::ErrorKind::AddrInUse => "end the process that listens there, or choose another port",
        io::ErrorKind::PermissionDenied => "choose a port above 1023, or grant CAP_NET_BIND_SERVICE",
        io::ErrorKind::AddrNotAvailable => "choose an address that this machine has",
        _ => "write host:port, [IPv6]:port or :port",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpStream;

    #[test]
    fn without_a_host_both_families_are_served() {
        let listener = bind_one(":0").unwrap();
        let port = listener.address().port();
        TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
        if listener.address().is_ipv6() {
            TcpStream::connect((Ipv6Addr::LOCALHOST, port)).unwrap();
        }
    }

    #[test]
    fn an_address_in_use_is_named_with_its_hint() {
        let first = bind_one("127.0.0.1:0").unwrap();
        let address = first.address().to_string();
        let message = bind(std::slice::from_ref(&address), Vec::new()).unwrap_err().to_string();
        assert!(message.starts_with(&format!("cannot listen on {address:?} (web.listen_addresses): ")), "{message}");
        assert!(message.ends_with("end the process that listens there, or choose another port"), "{message}");
    }

    #[test]
    fn what_is_no_address_is_told_how_to_write_one() {
        for address in [":http", "10018", "localhost", ":70000"] {
            let message = bind_one(address).unwrap_err().to_string();
            assert!(message.ends_with("write host:port, [IPv6]:port or :port"), "{message}");
        }
    }
}
