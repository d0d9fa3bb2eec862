//! One connection: its TLS, its requests over HTTP/1.1, and its end.
//!
//! The [`supervisor`](super::supervisor) decides when a connection has to end. A client certificate
//! is verified once, in the handshake.

use crate::server::{
    active::Server,
    handshake,
    supervisor::{Connection, UnderWay},
};
use axum::{
    BoxError,
    body::{Body, Bytes},
    extract::{ConnectInfo, Request},
    http::Method,
    response::Response,
};
use futures_util::{TryStreamExt as _, stream};
use hyper::{
    body::Incoming,
    server::conn::http1,
    service::{Service as _, service_fn},
};
use hyper_util::{rt::TokioIo, service::TowerToHyperService};
use std::{convert::Infallible, iter, net::SocketAddr, pin::pin, sync::Arc};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    time::Instant,
};
use tokio_util::sync::CancellationToken;

/// The size of hyper's read and write buffers. hyper accepts any head that fits and refuses one of
/// twice the size.
const BUFFER: usize = 16 * 1024;

/// The largest piece of a body that hyper gets at once. A response makes progress when hyper takes
/// the next piece, so a client has to read this much within the supervisor's deadline. After the
/// last piece the connection counts as idle.
const PIECE: usize = 128 * 1024;

/// Serves a connection until it ends or is evicted.
pub async fn handle(stream: TcpStream, server: Server, connection: Arc<Connection>) {
    let serving = shake_hands_and_serve(stream, server, Arc::clone(&connection));
    tokio::select! {
        ended = serving => {
            if let Err(error) = ended {
                let peer = connection.peer;
                tracing::debug!(%peer, error = &*error, "connection ended with an error");
            }
        }
        () = connection.evicted.cancelled() => {}
    }
}

async fn shake_hands_and_serve(
    stream: TcpStream,
    server: Server,
    connection: Arc<Connection>,
) -> Result<(), BoxError> {
    // A response is written at once, so Nagle's algorithm would only add latency.
    stream.set_nodelay(true)?;
    let active = server.active();
    let drain = active.drain;
    let Some(tls) = &active.file.tls else {
        return serve_requests(stream, server, connection, drain).await;
    };
    let stream = tokio::select! {
        shaken = handshake::shake_hands(stream, &tls.acceptor, &*server.handshake_failed) => shaken?,
        () = drain.cancelled() => return Ok(()),
    };
    drop(active.file);
    serve_requests(stream, server, connection, drain).await
}

/// Serves requests until the connection ends, expires or has to drain. A draining connection
/// finishes the request under way, within that request's deadlines.
async fn serve_requests(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    server: Server,
    connection: Arc<Connection>,
    drain: CancellationToken,
) -> Result<(), BoxError> {
    let stream = TokioIo::new(stream);
    let service = {
        let connection = Arc::clone(&connection);
        service_fn(move |request| respond(server.clone(), Arc::clone(&connection), request))
    };
    // Without a timer, hyper sets no timeout for heads, which would end idle connections too.
    let mut builder = http1::Builder::new();
    let serving = builder
        .max_buf_size(BUFFER)
        .serve_connection(stream, service);
    let mut serving = pin!(serving);
    tokio::select! {
        ended = serving.as_mut() => return Ok(ended?),
        () = connection.expired() => return Ok(()),
        () = drain.cancelled() => {}
    }
    serving.as_mut().graceful_shutdown();
    tokio::select! {
        ended = serving => Ok(ended?),
        () = connection.expired() => Ok(()),
    }
}

async fn respond(
    server: Server,
    connection: Arc<Connection>,
    request: hyper::Request<Incoming>,
) -> Result<Response, Infallible> {
    let under_way = connection.begin();
    // Lets the tasks of other clients run between the requests of a client that pipelines.
    tokio::task::yield_now().await;
    // No handler takes a body. hyper closes a connection whose body was not read.
    let (mut head, _) = request.into_parts();
    head.extensions.insert(ConnectInfo(connection.peer));
    let mut sending = Sending {
        method: head.method.clone(),
        path: head.uri.path().to_owned(),
        status: None,
        bytes: 0,
        began: Instant::now(),
        peer: connection.peer,
        under_way,
    };
    let request = Request::from_parts(head, Body::empty());
    // Each request takes the active router: a reload takes effect on open connections.
    let router = TowerToHyperService::new(server.router());
    let response = router.call(request).await?;
    sending.status = Some(response.status().as_u16());
    sending.under_way.progressed();
    Ok(response.map(|body| {
        let pieces = body.into_data_stream().map_ok(in_pieces).try_flatten();
        Body::from_stream(pieces.inspect_ok(move |piece| {
            sending.bytes += piece.len();
            sending.under_way.progressed();
        }))
    }))
}

fn in_pieces(mut data: Bytes) -> impl stream::Stream<Item = Result<Bytes, axum::Error>> {
    stream::iter(iter::from_fn(move || {
        let size = data.len().min(PIECE);
        (size > 0).then(|| Ok(data.split_to(size)))
    }))
}

/// The log record of a request, written once the response has been sent or dropped.
#[derive(Debug)]
struct Sending {
    method: Method,
    path: String,
    /// `None` until there is a response.
    status: Option<u16>,
    bytes: usize,
    began: Instant,
    peer: SocketAddr,
    under_way: UnderWay,
}

impl Drop for Sending {
    fn drop(&mut self) {
        tracing::debug!(
            method = %self.method,
            path = self.path,
            status = self.status,
            bytes = self.bytes,
            duration = ?self.began.elapsed(),
            peer = %self.peer,
            "request"
        );
    }
}

#[cfg(test)]
mod tests;
