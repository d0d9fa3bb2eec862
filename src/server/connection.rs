//! One connection: its TLS, its requests over HTTP/1.1, and its end.
//!
//! The [`supervisor`](super::supervisor) decides when a connection has to end. A client
//! certificate is verified once, in the handshake.

use crate::server::{Server, handshake, supervisor::Connection, web_config::WebConfigFile};
use axum::{
    BoxError,
    body::{Body, Bytes},
    extract::{ConnectInfo, Request},
    response::Response,
};
use futures_util::{TryStreamExt as _, stream};
use hyper::{
    body::Incoming,
    server::conn::http1,
    service::{Service as _, service_fn},
};
use hyper_util::{rt::TokioIo, service::TowerToHyperService};
use std::{convert::Infallible, iter, pin::pin, sync::Arc};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    task::yield_now,
};
use tracing::{Instrument as _, error_span};

/// The size of hyper's read and write buffers. hyper accepts any head that fits and refuses one of
/// twice the size.
const BUFFER: usize = 16 * 1024;

/// The largest piece of a body that hyper gets at once. A response makes progress when hyper takes
/// the next piece, so a client has to read this much within the supervisor's deadline. After the
/// last piece the connection counts as idle.
const PIECE: usize = 128 * 1024;

/// Serves a connection until it ends, expires or is evicted.
pub async fn handle(stream: TcpStream, server: Server, connection: Arc<Connection>) {
    let _ended = connection.ended.clone().drop_guard();
    let serving = async {
        if let Err(error) = shake_hands_and_serve(stream, server, Arc::clone(&connection)).await {
            tracing::debug!(error = &*error, "connection ended with an error");
        }
    };
    tokio::select! {
        () = serving.instrument(error_span!("connection", peer = %connection.peer)) => {}
        () = connection.end() => {}
    }
}

async fn shake_hands_and_serve(
    stream: TcpStream,
    server: Server,
    connection: Arc<Connection>,
) -> Result<(), BoxError> {
    // A response is written at once, so Nagle's algorithm would only add latency.
    stream.set_nodelay(true)?;
    let (file, drain) = server.admit();
    let mut drain = pin!(drain);
    let Some(tls) = &file.tls else {
        return serve_requests(stream, &server, &connection, &file, drain).await;
    };
    let stream = tokio::select! {
        shaken = handshake::shake_hands(stream, tls, &*server.observe) => shaken?,
        () = drain.as_mut() => return Ok(()),
    };
    serve_requests(stream, &server, &connection, &file, drain).await
}

/// Serves requests under a web configuration file, until the connection ends or has to drain. A
/// draining connection finishes the request under way.
async fn serve_requests(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    server: &Server,
    connection: &Arc<Connection>,
    file: &Arc<WebConfigFile>,
    drain: impl Future<Output = ()>,
) -> Result<(), BoxError> {
    let service = service_fn(|request| respond(server, connection, file, request));
    // Without a timer, hyper sets no timeout for heads, which would end idle connections too.
    let serving = http1::Builder::new()
        .max_buf_size(BUFFER)
        .serve_connection(TokioIo::new(stream), service);
    let mut serving = pin!(serving);
    tokio::select! {
        ended = serving.as_mut() => return Ok(ended?),
        () = drain => {}
    }
    serving.as_mut().graceful_shutdown();
    Ok(serving.await?)
}

async fn respond(
    server: &Server,
    connection: &Arc<Connection>,
    file: &Arc<WebConfigFile>,
    request: hyper::Request<Incoming>,
) -> Result<Response, Infallible> {
    let under_way = server.supervisor.begin(connection);
    // No handler takes a body. hyper closes a connection whose body was not read.
    let (mut head, _) = request.into_parts();
    let peer = connection.peer;
    head.extensions.insert(ConnectInfo(peer));
    head.extensions.insert(Arc::clone(file));
    let (method, uri) = (head.method.clone(), head.uri.clone());
    let router = TowerToHyperService::new(server.router.clone());
    let request = Request::from_parts(head, Body::empty());
    let response = router.call(request).await?;
    let status = response.status().as_u16();
    tracing::debug!(%method, path = uri.path(), status, "request");
    under_way.progressed();
    Ok(response.map(|body| {
        let pieces = body.into_data_stream().map_ok(in_pieces).try_flatten();
        // Other connections get a turn after each piece.
        let pieces = pieces.and_then(async |piece| {
            yield_now().await;
            Ok(piece)
        });
        Body::from_stream(pieces.inspect_ok(move |_| under_way.progressed()))
    }))
}

fn in_pieces(mut data: Bytes) -> impl stream::Stream<Item = Result<Bytes, axum::Error>> {
    stream::iter(iter::from_fn(move || {
        let size = data.len().min(PIECE);
        (size > 0).then(|| Ok(data.split_to(size)))
    }))
}

#[cfg(test)]
mod tests;
