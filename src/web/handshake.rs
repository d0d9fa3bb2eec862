//! TLS handshakes, and why they fail.

use crate::model::HandshakeFailure;
use rustls::{AlertDescription as Alert, Error, ServerConfig};
use std::{io, sync::Arc, time::Duration};
use tokio::{io::AsyncWriteExt, net::TcpStream, time::timeout};
use tokio_rustls::{TlsAcceptor, server::TlsStream};

/// How long a handshake may take.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(30);

/// How long a client may take to read the hint that it should speak HTTPS.
const HINT_TIMEOUT: Duration = Duration::from_secs(3);

/// The first byte of a TLS record that holds a handshake (RFC 8446, 5.1).
const HANDSHAKE: u8 = 22;

/// The stream within TLS, or why there is none: without a reason if the client closes before it has sent a byte, like a
/// probe that only connects.
pub async fn shake_hands(
    stream: TcpStream,
    tls: Arc<ServerConfig>,
) -> Result<TlsStream<TcpStream>, (Option<HandshakeFailure>, io::Error)> {
    let handshake = async {
        let mut first = [0];
        match stream.peek(&mut first).await {
            Err(error) => Err((Some(HandshakeFailure::Closed), error)),
            Ok(0) => Err((None, io::ErrorKind::UnexpectedEof.into())),
            Ok(_) if first[0] != HANDSHAKE => {
                // Whether it reads the response no longer matters.
                answer_plain(stream).await.ok();
                Err((
                    Some(HandshakeFailure::NotTls),
                    io::Error::other("the client does not speak TLS"),
                ))
            }
            Ok(_) => {
                let shaken = TlsAcceptor::from(tls).accept(stream).await;
                shaken.map_err(|error| (Some(reason(&error)), error))
            }
        }
    };
    let in_time = timeout(HANDSHAKE_TIMEOUT, handshake).await;
    in_time.unwrap_or_else(|late| Err((Some(HandshakeFailure::Timeout), late.into())))
}

async fn answer_plain(mut stream: TcpStream) -> io::Result<()> {
    let message = "this port speaks HTTPS\n";
    let length = message.len();
    let head = "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n";
    stream
        .write_all(format!("{head}Content-Length: {length}\r\n\r\n{message}").as_bytes())
        .await?;
    stream.shutdown().await?;
    // Closing with the request unread would reset the connection before the response is read.
    timeout(
        HINT_TIMEOUT,
        tokio::io::copy(&mut stream, &mut tokio::io::sink()),
    )
    .await??;
    Ok(())
}

fn reason(error: &io::Error) -> HandshakeFailure {
    match error
        .get_ref()
        .and_then(|error| error.downcast_ref::<Error>())
    {
        Some(Error::NoCertificatesPresented) => HandshakeFailure::NoCertificate,
        Some(
            Error::InvalidCertificate(_)
            | Error::AlertReceived(
                Alert::BadCertificate
                | Alert::UnsupportedCertificate
                | Alert::CertificateRevoked
                | Alert::CertificateExpired
                | Alert::CertificateUnknown
                | Alert::UnknownCA
                | Alert::AccessDenied,
            ),
        ) => HandshakeFailure::BadCertificate,
        // Errors without one of TLS are those of the socket: closed, or reset.
        None | Some(Error::AlertReceived(Alert::CloseNotify | Alert::UserCanceled)) => {
            HandshakeFailure::Closed
        }
        Some(_) => HandshakeFailure::Protocol,
    }
}
