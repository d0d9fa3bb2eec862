//! TLS handshakes, and why they fail.

use crate::model::HandshakeFailure;
use rustls::{AlertDescription, Error, ServerConfig};
use std::{io, sync::Arc, time::Duration};
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};
use tokio_rustls::{TlsAcceptor, server::TlsStream};

/// The first byte of a TLS record that holds a handshake (RFC 8446, 5.1).
const HANDSHAKE: u8 = 22;

/// How long a client may take to read that it should speak HTTPS.
const GOODBYE: Duration = Duration::from_secs(3);

/// What the client speaks, by its first byte, which stays to be read; `None` where it closes without one, as a probe does
/// that only connects.
pub async fn is_tls(stream: &TcpStream) -> io::Result<Option<bool>> {
    let mut first = [0];
    let length = stream.peek(&mut first).await?;
    Ok((length > 0).then_some(first[0] == HANDSHAKE))
}

/// Answers a client that speaks plain HTTP.
pub async fn answer_plain(mut stream: TcpStream) -> io::Result<()> {
    let message = "this port speaks HTTPS\n";
    let length = message.len();
    let head = "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n";
    stream.write_all(format!("{head}Content-Length: {length}\r\n\r\n{message}").as_bytes()).await?;
    stream.shutdown().await?;
    // Closing with the request unread would reset the connection before the answer is read.
    timeout(GOODBYE, tokio::io::copy(&mut stream, &mut tokio::io::sink())).await.ok();
    Ok(())
}

pub async fn accept<S: AsyncRead + AsyncWrite + Unpin>(
    stream: S,
    config: Arc<ServerConfig>,
) -> Result<TlsStream<S>, (HandshakeFailure, io::Error)> {
    TlsAcceptor::from(config).accept(stream).await.map_err(|error| (reason(&error), error))
}

fn reason(error: &io::Error) -> HandshakeFailure {
    match error.get_ref().and_then(|error| error.downcast_ref::<Error>()) {
        Some(Error::NoCertificatesPresented) => HandshakeFailure::NoCertificate,
        Some(Error::InvalidCertificate(_)) => HandshakeFailure::BadCertificate,
        Some(Error::AlertReceived(alert)) => match alert {
            AlertDescription::BadCertificate
            | AlertDescription::UnsupportedCertificate
            | AlertDescription::CertificateRevoked
            | AlertDescription::CertificateExpired
            | AlertDescription::CertificateUnknown
            | AlertDescription::UnknownCA
            | AlertDescription::AccessDenied => HandshakeFailure::BadCertificate,
            AlertDescription::CloseNotify | AlertDescription::UserCanceled => HandshakeFailure::Closed,
            _ => HandshakeFailure::Protocol,
        },
        Some(_) => HandshakeFailure::Protocol,
        // The socket's own errors: an end, or a reset.
        None => HandshakeFailure::Closed,
    }
}
