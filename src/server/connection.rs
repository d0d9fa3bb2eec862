//! One connection: its TLS, its requests, and its end.
//!
//! It ends when no request has been under way for 35 s, and when a response is not taken by its client ([`Activity`]). A
//! client certificate is verified when it begins, and not again. What a client can make it keep is bounded: [`MAX_STREAMS`]
//! requests and responses, and of each a head and what hyper holds to send next.

use crate::server::{
    active::{Active, Server},
    activity::{Activity, Expiry, RESPONSE_TIMEOUT, UnderWay},
    handshake,
};
use axum::{
    BoxError,
    body::{Body, HttpBody as _},
    extract::{ConnectInfo, Request},
    response::Response,
};
use futures_util::StreamExt as _;
use hyper::{body::Incoming, service::service_fn};
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::conn::auto,
};
use std::{convert::Infallible, pin::pin, sync::Arc, time::Duration};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;

/// How long an idle connection may take to close, and the body of a request to arrive that is thrown away.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(10);

/// What is read and written at once over HTTP/1, in bytes. A head may be as large, and no larger than twice that.
const BUFFER: usize = 16 * 1024;

/// HTTP/2 streams of one connection: enough for a scraper or a browser, and each can hold a response back.
const MAX_STREAMS: u32 = 8;

/// How much of the bodies of requests, which nobody reads, a client may send over HTTP/2, in bytes.
const WINDOW: u32 = 16 * 1024;

/// The bytes of a request's body that are read and thrown away. A longer one ends its connection.
const MAX_DISCARDED: usize = 1 << 20;

/// The memory that a response of unknown size holds while it is sent, in bytes: a scrape without gzip
/// holds a part of the text and the inflater of the next.
const UNKNOWN_SIZE: u64 = 160 * 1024;

/// Serves the connection to its end.
pub async fn serve(
    stream: TcpStream,
    server: Server,
    activity: Arc<Activity>,
) -> Result<(), BoxError> {
    // A response is written at once; waiting to fill packets only adds latency.
    stream.set_nodelay(true)?;
    let Active {
        protection,
        generation,
        ..
    } = server.active();
    let Some(tls) = &protection.file.tls else {
        return serve_requests(stream, false, server, generation, activity).await;
    };
    let stream = tokio::select! {
        shaken = handshake::shake_hands(stream, &tls.acceptor, &*server.events) => shaken?,
        () = generation.cancelled() => return Ok(()),
    };
    drop(protection);
    let http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
    serve_requests(stream, http2, server, generation, activity).await
}

/// Serves requests over HTTP/1, or HTTP/2 where ALPN negotiated that, until the connection ends or must close: then what
/// is under way may finish within its own limits. An HTTP/2 client that answers no PING may even begin more until then.
async fn serve_requests(
    stream: impl AsyncRead + AsyncWrite + Unpin + 'static,
    http2: bool,
    server: Server,
    drain: CancellationToken,
    activity: Arc<Activity>,
) -> Result<(), BoxError> {
    let service = {
        let activity = Arc::clone(&activity);
        service_fn(move |request| respond(server.clone(), Arc::clone(&activity), request))
    };
    let builder = auto::Builder::new(TokioExecutor::new());
    let mut builder = if http2 {
        builder.http2_only()
    } else {
        builder.http1_only()
    };
    // No timer, since hyper's timeout of a head would end idle connections too. A head that never ends counts as idle.
    builder.http1().half_close(true).max_buf_size(BUFFER);
    builder
        .http2()
        .timer(TokioTimer::new())
        .initial_stream_window_size(WINDOW)
        .max_concurrent_streams(MAX_STREAMS);
    let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service));
    tokio::select! {
        ended = connection.as_mut() => return ended,
        expiry = activity.expired() => if expiry == Expiry::Late { return Ok(()) },
        () = drain.cancelled() => {}
    }
    connection.as_mut().graceful_shutdown();
    let over = async {
        if activity.expired().await == Expiry::Idle {
            // A client may send a request before it learns that its idle connection ends.
            sleep(DRAIN_TIMEOUT).await;
        }
    };
    tokio::select! {
        ended = timeout(RESPONSE_TIMEOUT, connection) => ended.unwrap_or(Ok(())),
        () = over => Ok(()),
    }
}

async fn respond(
    server: Server,
    activity: Arc<Activity>,
    request: hyper::Request<Incoming>,
) -> Result<Response, Infallible> {
    let under_way = UnderWay::new(&activity, &request);
    // A client that pipelines gets behind all others with each of its requests.
    tokio::task::yield_now().await;
    let (mut head, body) = request.into_parts();
    tokio::spawn(timeout(DRAIN_TIMEOUT, discard(body)));
    head.extensions.insert(ConnectInfo(activity.peer));
    let request = Request::from_parts(head, Body::empty());
    // Looked up for each request, so that a reload takes effect on open connections too.
    let response = server.router().oneshot(request).await?;
    let size = response.body().size_hint().exact().unwrap_or(UNKNOWN_SIZE);
    let share = server.responses.take(&activity, size);
    Ok(under_way.answer(response, share))
}

/// Reads a body that no handler wants, a piece at a time: a connection closed while more arrives is reset, and then its client
/// may lose the answer.
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
