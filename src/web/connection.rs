//! One connection: its TLS, its requests, and its end.
//!
//! No client can hold a place for long: the head of a request may take [`PATIENCE`], and a connection is closed if no byte
//! moves for as long, or when it is older than [`MAX_AGE`].

use super::{
    app::{App, InForce},
    handshake,
    moved::Moved,
};
use axum::extract::ConnectInfo;
use hyper::{Request, body::Incoming, service::service_fn};
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::conn::auto,
};
use std::{net::SocketAddr, pin::pin, sync::Arc, time::Duration};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    time::{sleep_until, timeout},
};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;

/// For the head of a request, and between bytes.
const PATIENCE: Duration = Duration::from_secs(30);

const MAX_AGE: Duration = Duration::from_secs(600);

/// How long the requests under way may take once a connection must close.
const GOODBYE: Duration = Duration::from_secs(10);

/// What is read and written at once over HTTP/1, in bytes. A head may be as large, and no larger than twice that.
const BUFFER: usize = 16 * 1024;

/// HTTP/2 streams of one connection.
const MAX_STREAMS: u32 = 32;

type ConnectionError = Box<dyn std::error::Error + Send + Sync>;

/// Serves the connection to its end.
pub(super) async fn serve(
    stream: TcpStream,
    peer: SocketAddr,
    app: App,
    moved: Arc<Moved>,
) -> Result<(), ConnectionError> {
    // A response is written at once; waiting to fill packets only adds latency.
    stream.set_nodelay(true)?;
    let InForce {
        site, generation, ..
    } = app.in_force();
    let Some(tls) = site.file.tls.as_ref().map(|tls| Arc::clone(&tls.config)) else {
        return serve_requests(moved.watch(stream), false, peer, app, generation, &moved).await;
    };
    let shaken = tokio::select! {
        shaken = handshake::shake_hands(stream, &moved, tls) => shaken,
        () = generation.cancelled() => return Ok(()),
    };
    let stream = shaken.map_err(|(reason, error)| {
        if let Some(reason) = reason {
            site.shared.sources.instruments.tls_handshake_failed(reason);
        }
        error
    })?;
    drop(site);
    let http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
    serve_requests(stream, http2, peer, app, generation, &moved).await
}

/// Serves requests over HTTP/1, or HTTP/2 where ALPN negotiated that, until the connection ends or must close: then it may
/// finish what is under way, but for no longer than [`GOODBYE`], whatever the client does.
async fn serve_requests(
    stream: impl AsyncRead + AsyncWrite + Unpin + 'static,
    http2: bool,
    peer: SocketAddr,
    app: App,
    leave: CancellationToken,
    moved: &Moved,
) -> Result<(), ConnectionError> {
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(ConnectInfo(peer));
        // Looked up for each request, so that a reload takes effect on open connections too.
        app.in_force().router.oneshot(request)
    });
    let builder = auto::Builder::new(TokioExecutor::new());
    let mut builder = if http2 {
        builder.http2_only()
    } else {
        builder.http1_only()
    };
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(PATIENCE)
        .max_buf_size(BUFFER);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(MAX_STREAMS);
    let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service));
    tokio::select! {
        ended = connection.as_mut() => return ended,
        () = leave.cancelled() => {}
        () = sleep_until(moved.opened_at + MAX_AGE) => {}
        () = moved.rested(PATIENCE) => {}
    }
    connection.as_mut().graceful_shutdown();
    timeout(GOODBYE, connection).await.unwrap_or(Ok(()))
}

#[cfg(test)]
mod tests;
