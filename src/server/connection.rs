//! One connection: its TLS, its requests over HTTP/1.1, and its end.
//!
//! The [`supervisor`](super::supervisor) decides when a connection has to end. A client
//! certificate is verified once, in the handshake.

use crate::server::{Event, Server, supervisor::Connection, web_config::WebConfigFile};
use axum::{BoxError, body::Body, response::Response};
use futures_util::{TryStreamExt as _, stream};
use hyper::{
    Request,
    body::Incoming,
    server::conn::http1,
    service::{Service as _, service_fn},
};
use hyper_util::{rt::TokioIo, service::TowerToHyperService};
use std::{
    convert::Infallible,
    io::{self, ErrorKind},
    pin::pin,
    sync::Arc,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    task::yield_now,
};
use tokio_util::either::Either;
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
        if let Err(error) = shake_hands_and_serve(stream, &server, &connection).await {
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
    server: &Server,
    connection: &Arc<Connection>,
) -> Result<(), BoxError> {
    // A response is written at once, so Nagle's algorithm would only add latency.
    stream.set_nodelay(true)?;
    let mut changes = server.active.subscribe();
    let file = Arc::clone(&changes.borrow_and_update());
    // No connection continues under a certificate or a policy that has been replaced.
    let mut drain = pin!(server.stop.run_until_cancelled(changes.changed()));
    let shaking = async {
        // hyper and rustls allocate buffers at once: a client that sends nothing has none.
        stream.readable().await?;
        io::Result::Ok(match &file.tls {
            None => Either::Left(stream),
            Some(tls) => {
                let shaken = tls.accept(stream).await;
                Either::Right(shaken.inspect_err(|error| {
                    // A client that leaves, as TCP probes do, is no failure of TLS.
                    if error.kind() == ErrorKind::InvalidData {
                        (server.observe)(Event::HandshakeFailed);
                    }
                })?)
            }
        })
    };
    let stream = tokio::select! {
        shaken = shaking => shaken?,
        _ = drain.as_mut() => return Ok(()),
    };
    serve_requests(stream, server, connection, &file, drain).await
}

/// Serves requests under a web configuration file, until the connection ends or has to drain. A
/// draining connection finishes the request under way.
async fn serve_requests(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    server: &Server,
    connection: &Arc<Connection>,
    file: &Arc<WebConfigFile>,
    drain: impl Future,
) -> Result<(), BoxError> {
    let service = service_fn(|request| respond(server, Arc::clone(connection), file, request));
    // Without a timer, hyper sets no timeout for heads, which would end idle connections too.
    let serving = http1::Builder::new()
        .max_buf_size(BUFFER)
        .serve_connection(TokioIo::new(stream), service);
    let mut serving = pin!(serving);
    tokio::select! {
        ended = serving.as_mut() => return Ok(ended?),
        _ = drain => {}
    }
    serving.as_mut().graceful_shutdown();
    Ok(serving.await?)
}

async fn respond(
    server: &Server,
    connection: Arc<Connection>,
    file: &Arc<WebConfigFile>,
    mut request: Request<Incoming>,
) -> Result<Response, Infallible> {
    let request_ends = server.supervisor.begin(&connection);
    request.extensions_mut().insert(Arc::clone(file));
    let (method, uri) = (request.method().clone(), request.uri().clone());
    // No handler takes a body. hyper closes a connection whose body was not read.
    let response = TowerToHyperService::new(server.router.clone())
        .call(request)
        .await?;
    let status = response.status().as_u16();
    tracing::debug!(%method, path = uri.path(), status, "request");
    connection.progressed(request_ends);
    Ok(response.map(|body| {
        let chunks = body.into_data_stream().map_ok(|chunk| {
            let pieces = chunk.chunks(PIECE).map(|piece| Ok(chunk.slice_ref(piece)));
            stream::iter(pieces.collect::<Vec<Result<_, axum::Error>>>())
        });
        Body::from_stream(chunks.try_flatten().and_then(move |piece| {
            connection.progressed(request_ends);
            async {
                // Other connections get a turn.
                yield_now().await;
                Ok(piece)
            }
        }))
    }))
}

#[cfg(test)]
mod tests;
