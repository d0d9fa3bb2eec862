//! One connection: its TLS, its requests over HTTP/1.1, and its end.
//!
//! [`supervisor`](super::supervisor) decides when it has to end. A client certificate is verified
//! when it begins, and not again.

use crate::server::{
    active::Server,
    departed::Watched,
    handshake,
    supervisor::{Connection, Memory, UnderWay},
};
use axum::{
    BoxError,
    body::{Body, Bytes, HttpBody as _},
    extract::{ConnectInfo, Request},
    http::Method,
    response::Response,
};
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use std::{convert::Infallible, iter, net::SocketAddr, pin::pin, sync::Arc, time::Duration};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    time::{Instant, timeout},
};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;

/// The bytes that are read and written at once. A head may be as large, and no larger than twice
/// that.
const BUFFER: usize = 16 * 1024;

/// The bytes of a body that hyper takes at once at most: so much has to be sent for a response to
/// make progress, except the last piece, after which the connection counts as idle.
const PIECE: usize = 128 * 1024;

/// The bytes of a request's body that are read and thrown away. A longer one ends its connection.
const MAX_DISCARDED: usize = 1 << 20;

/// How long the body of a request may take to arrive that is thrown away.
const DISCARD_TIMEOUT: Duration = Duration::from_secs(10);

/// Serves the connection to its end.
pub async fn serve(stream: TcpStream, server: Server, connection: Arc<Connection>) {
    let serving = shake_hands_and_serve(stream, server, Arc::clone(&connection));
    tokio::select! {
        ended = serving => {
            if let Err(error) = ended {
                tracing::debug!(peer = %connection.peer, error = &*error, "a connection ended with an error");
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
    // A response is written at once; waiting to fill packets only adds latency.
    stream.set_nodelay(true)?;
    let active = server.active();
    let drain = active.generation;
    let Some(tls) = &active.protection.file.tls else {
        return serve_requests(stream, server, connection, drain).await;
    };
    let stream = tokio::select! {
        shaken = handshake::shake_hands(stream, &tls.acceptor, &*server.events) => shaken?,
        () = drain.cancelled() => return Ok(()),
    };
    drop(active.protection);
    serve_requests(stream, server, connection, drain).await
}

/// Serves requests until the connection ends, expires or is to drain; then the request under way may
/// finish within its own limits.
async fn serve_requests(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    server: Server,
    connection: Arc<Connection>,
    drain: CancellationToken,
) -> Result<(), BoxError> {
    let stream = TokioIo::new(Watched::new(stream, connection.departed.clone()));
    let service = {
        let connection = Arc::clone(&connection);
        service_fn(move |request| respond(server.clone(), Arc::clone(&connection), request))
    };
    // hyper gets no timer, since its timeout of a head would end idle connections too.
    let mut builder = http1::Builder::new();
    let serving = builder
        .max_buf_size(BUFFER)
        .serve_connection(stream, service);
    let mut serving = pin!(serving);
    tokio::select! {
        ended = serving.as_mut() => return Ok(ended?),
        () = connection.expired() => return Ok(()),
        () = drain.cancelled() => {}
        // Nothing follows the beginning of a first request.
        () = connection.departed.wait() => if !connection.has_begun() { return Ok(()) }
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
    // A client that pipelines gets behind all others with each of its requests.
    tokio::task::yield_now().await;
    let (mut head, body) = request.into_parts();
    tokio::spawn(timeout(DISCARD_TIMEOUT, discard(body)));
    head.extensions.insert(ConnectInfo(connection.peer));
    head.extensions.insert(connection.departed.clone());
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
    // The router is looked up for each request, so that a reload takes effect on open connections.
    let mut response = server.router().oneshot(request).await?;
    let memory = response.extensions_mut().remove();
    let memory = memory.unwrap_or_else(|| Memory {
        own: response.body().size_hint().exact().unwrap_or_default(),
        shared: None,
    });
    server.supervisor.hold(&connection, memory);
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

/// A request, which is logged once its response has been sent or dropped.
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

/// Reads a body that no handler wants, a piece at a time: a connection closed while more arrives is
/// reset, and then its client may lose the response.
async fn discard(body: Incoming) {
    let mut pieces = Body::new(body).into_data_stream();
    let mut read = 0;
    while let Some(Ok(piece)) = pieces.next().await {
        read += piece.len();
        if read > MAX_DISCARDED {
            return;
        }
    }
}

#[cfg(test)]
mod tests;
