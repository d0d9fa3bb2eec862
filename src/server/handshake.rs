//! TLS handshakes.

use super::Event;
use std::{
    io::{self, ErrorKind},
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};
use tokio_rustls::{TlsAcceptor, server::TlsStream};

/// The time that a client has for the handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(30);

/// The first byte of a TLS record that holds a handshake (RFC 8446, 5.1).
const HANDSHAKE: u8 = 22;

/// Shakes hands with the client and returns the TLS stream.
///
/// Each failure is an event, unless the client closed before its first byte, as TCP probes do.
pub async fn shake_hands(
    stream: TcpStream,
    tls: &TlsAcceptor,
    observe: &(dyn Fn(Event) + Send + Sync),
) -> io::Result<TlsStream<TcpStream>> {
    let handshake = async {
        let mut first = [0];
        if stream.peek(&mut first).await? == 0 {
            return Err(ErrorKind::NotConnected.into());
        }
        if first[0] == HANDSHAKE {
            return tls.accept(stream).await;
        }
        // The connection ends either way, even if the client cannot be answered.
        answer_plain(stream).await.ok();
        Err(io::Error::other("the client speaks no TLS"))
    };
    let shaken = timeout(HANDSHAKE_TIMEOUT, handshake)
        .await
        .unwrap_or_else(|late| Err(late.into()));
    if shaken
        .as_ref()
        .is_err_and(|error| error.kind() != ErrorKind::NotConnected)
    {
        observe(Event::HandshakeFailed);
    }
    shaken
}

async fn answer_plain(mut stream: TcpStream) -> io::Result<()> {
    // Closing with the request unread would reset the connection before the client reads the hint.
    stream.read_buf(&mut Vec::with_capacity(16 * 1024)).await?;
    let response = "HTTP/1.1 400 Bad Request\r\n\
                    Content-Type: text/plain; charset=utf-8\r\n\
                    Connection: close\r\n\r\n\
                    this port speaks HTTPS\n";
    stream.write_all(response.as_bytes()).await
}
