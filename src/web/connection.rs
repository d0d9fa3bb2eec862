//! Accepting connections, and what a connection may cost.
//!
//! Nobody is held up by anybody else: a connection beyond [`MAX_CONNECTIONS`] is closed at once instead of waiting, and
//! each has [`DEADLINE`] for its TLS handshake, for the head of its next request (idling included), and for taking a
//! response. A client that is slower than that is dropped.

use super::{Listener, joined::Joined, protection::State, service::Server};
use crate::sync::lock;
use axum::body::Body;
use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};
use hyper::{Request, body::Incoming, service::service_fn};
use hyper_util::{
    rt::{TokioExecutor, TokioIo},
    server::conn::auto,
};
use std::{
    convert::Infallible,
    future::Future,
    pin::{Pin, pin},
    sync::{Arc, Mutex, MutexGuard},
    task::{Context, Poll},
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::{Semaphore, watch},
    task::JoinSet,
    time::{Instant, sleep, sleep_until, timeout},
};
use tokio_rustls::{TlsAcceptor, rustls::ServerConfig, server::TlsStream};

/// For a TLS handshake, for the head of a request, and for a response.
const DEADLINE: Duration = Duration::from_secs(30);

/// How long a connection may take to say goodbye once it is to end and nothing is under way but bytes already written.
const GOODBYE: Duration = Duration::from_secs(3);

/// How long the requests under way may take once the exporter is to end: it has 5 seconds in all.
const SHUTDOWN: Duration = Duration::from_secs(4);

/// Connections over all listeners. Well below the 1024 open files that a process usually may have.
const MAX_CONNECTIONS: usize = 512;

/// The head of a request, in bytes.
const MAX_HEAD: u32 = 16 * 1024;

/// HTTP/2 streams of one connection.
const MAX_STREAMS: u32 = 32;

/// Serves until `shutdown` is done; then accepts nothing more, finishes the requests under way, and returns within 4
/// seconds.
pub(super) async fn serve(listeners: Vec<Listener>, server: Arc<Server>, shutdown: impl Future<Output = ()>) {
    let (stop, stopped) = watch::channel(false);
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let mut tasks = JoinSet::new();
    for listener in listeners {
        let address = listener.address;
        match TcpListener::from_std(listener.socket) {
            Ok(socket) => {
                tasks.spawn(accept(socket, Arc::clone(&server), Arc::clone(&places), stopped.clone()));
            }
            Err(error) => tracing::error!(%address, %error, "cannot serve on this address"),
        }
    }
    shutdown.await;
    stop.send_replace(true);
    let finished = async { while tasks.join_next().await.is_some() {} };
    if timeout(SHUTDOWN, finished).await.is_err() {
        tracing::warn!("dropping connections that did not finish in time for the shutdown");
    }
}

async fn accept(listener: TcpListener, server: Arc<Server>, places: Arc<Semaphore>, stopped: watch::Receiver<bool>) {
    let mut connections = JoinSet::new();
    let mut stop = pin!({
        let mut stopped = stopped.clone();
        async move { has_changed(&mut stopped).await }
    });
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            Some(ended) = connections.join_next(), if !connections.is_empty() => {
                report(&ended);
                continue;
            }
            () = &mut stop => break,
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection; trying again");
                sleep(Duration::from_millis(200)).await;
                continue;
            }
        };
        let Ok(place) = Arc::clone(&places).try_acquire_owned() else {
            tracing::debug!(%peer, "refused a connection: there are {MAX_CONNECTIONS} already");
            continue;
        };
        let connection = connect(stream, Arc::clone(&server), stopped.clone());
        connections.spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%peer, error = &*error, "a connection ended with an error");
            }
            drop(place);
        });
    }
    drop(listener);
    while let Some(ended) = connections.join_next().await {
        report(&ended);
    }
}

fn report(ended: &Result<(), tokio::task::JoinError>) {
    if let Err(error) = ended {
        tracing::error!(%error, "a connection's task broke; please report this");
    }
}

/// Ends when the value has changed, and never where nobody can change it any more.
async fn has_changed<T>(receiver: &mut watch::Receiver<T>) {
    if receiver.changed().await.is_err() {
        std::future::pending::<()>().await;
    }
}

type ConnectionError = Box<dyn std::error::Error + Send + Sync>;

async fn connect(
    stream: TcpStream,
    server: Arc<Server>,
    mut stopped: watch::Receiver<bool>,
) -> Result<(), ConnectionError> {
    // A response is written whole; waiting to fill packets only adds latency.
    stream.set_nodelay(true)?;
    let protection = server.app.protection.current();
    let Some(tls) = protection.file.tls.clone() else {
        return converse(stream, Protocol::Http1, server, protection, stopped).await;
    };
    let stream = tokio::select! {
        stream = timeout(DEADLINE, handshake(stream, tls)) => match stream.map_err(|_| "no TLS handshake in time")?? {
            Some(stream) => stream,
            None => return Ok(()),
        },
        () = has_changed(&mut stopped) => return Ok(()),
    };
    let http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
    converse(stream, if http2 { Protocol::Http2 } else { Protocol::Http1 }, server, protection, stopped).await
}

/// `None` where the client speaks plain HTTP, which it is told.
async fn handshake(
    mut stream: TcpStream,
    tls: Arc<ServerConfig>,
) -> Result<Option<TlsStream<TcpStream>>, ConnectionError> {
    let mut first = [0];
    stream.peek(&mut first).await?;
    // The first byte of a TLS record is its type, 22; that of a request a letter of its method.
    if first[0].is_ascii_uppercase() {
        let message = "this port speaks HTTPS\n";
        let length = message.len();
        let head = "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n";
        stream.write_all(format!("{head}Content-Length: {length}\r\n\r\n{message}").as_bytes()).await?;
        stream.shutdown().await?;
        // Closing with the request unread would reset the connection before the answer is read.
        timeout(GOODBYE, tokio::io::copy(&mut stream, &mut tokio::io::sink())).await.ok();
        return Ok(None);
    }
    Ok(Some(TlsAcceptor::from(tls).accept(stream).await?))
}

/// Which protocol a connection speaks: plain ones HTTP/1 only, those over TLS what was agreed on by ALPN.
#[derive(Debug, Clone, Copy)]
enum Protocol {
    Http1,
    Http2,
}

async fn converse<Stream>(
    stream: Stream,
    protocol: Protocol,
    server: Arc<Server>,
    protection: Arc<State>,
    mut stopped: watch::Receiver<bool>,
) -> Result<(), ConnectionError>
where
    Stream: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let mut changes = server.app.protection.subscribe();
    let activity = Arc::new(Activity::new());
    let service = service_fn(|request: Request<Incoming>| {
        let (server, running) = (Arc::clone(&server), Activity::begin(&activity));
        async move {
            let (head, _body) = request.into_parts();
            let response = server.respond(&head).await;
            Ok::<_, Infallible>(response.map(|body| Joined::new(Tracked { body, _running: running })))
        }
    });
    let builder = builder(protocol);
    let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service));
    let mut leaving: Option<Instant> = None;
    loop {
        // Nobody goes on under a certificate or a policy that is not in force any more.
        let outdated = !same_tls(&changes.borrow_and_update(), &protection);
        if leaving.is_none() && (outdated || *stopped.borrow_and_update()) {
            leaving = Some(Instant::now());
            connection.as_mut().graceful_shutdown();
        }
        tokio::select! {
            result = connection.as_mut() => return result,
            () = sleep_until(activity.deadline(leaving).at()) => match activity.deadline(leaving) {
                later if later.at() > Instant::now() => {}
                Deadline::Response(_) => return Err("the client took too long to take a response".into()),
                Deadline::Request(_) if leaving.is_some() => return Ok(()),
                Deadline::Request(_) => {
                    leaving = Some(Instant::now());
                    connection.as_mut().graceful_shutdown();
                }
            },
            () = has_changed(&mut stopped), if leaving.is_none() => {}
            () = has_changed(&mut changes), if leaving.is_none() => {}
        }
    }
}

fn same_tls(one: &State, other: &State) -> bool {
    match (&one.file.tls, &other.file.tls) {
        (None, None) => true,
        (Some(one), Some(other)) => Arc::ptr_eq(one, other),
        _ => false,
    }
}

fn builder(protocol: Protocol) -> auto::Builder<TokioExecutor> {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    // The connection's own deadlines cover the head, and idling too.
    builder.http1().header_read_timeout(None).max_buf_size(MAX_HEAD as usize);
    builder.http2().max_header_list_size(MAX_HEAD).max_concurrent_streams(MAX_STREAMS);
    match protocol {
        Protocol::Http1 => builder.http1_only(),
        Protocol::Http2 => builder.http2_only(),
    }
}

/// What a connection is waiting for, and until when it will.
#[derive(Debug, Clone, Copy)]
enum Deadline {
    /// For the head of a request.
    Request(Instant),
    /// For a response to be taken.
    Response(Instant),
}

impl Deadline {
    fn at(self) -> Instant {
        match self {
            Self::Request(at) | Self::Response(at) => at,
        }
    }
}

/// What a connection is doing.
#[derive(Debug)]
struct Activity(Mutex<Doing>);

#[derive(Debug)]
struct Doing {
    idle_since: Instant,
    /// The requests under way, oldest first, each with its number.
    running: Vec<(u64, Instant)>,
    begun: u64,
}

impl Activity {
    fn new() -> Self {
        Self(Mutex::new(Doing { idle_since: Instant::now(), running: Vec::new(), begun: 0 }))
    }

    fn state(&self) -> MutexGuard<'_, Doing> {
        lock(&self.0)
    }

    fn begin(activity: &Arc<Self>) -> Running {
        let mut state = activity.state();
        state.begun += 1;
        let number = state.begun;
        state.running.push((number, Instant::now()));
        Running { activity: Arc::clone(activity), number }
    }

    /// Who is leaving may finish what is under way, and has a moment to say goodbye otherwise.
    fn deadline(&self, leaving: Option<Instant>) -> Deadline {
        let state = self.state();
        match (state.running.first(), leaving) {
            (Some((_, since)), _) => Deadline::Response(*since + DEADLINE),
            (None, Some(since)) => Deadline::Request(since.max(state.idle_since) + GOODBYE),
            (None, None) => Deadline::Request(state.idle_since + DEADLINE),
        }
    }
}

/// A request under way, until its response has been taken or given up.
#[derive(Debug)]
struct Running {
    activity: Arc<Activity>,
    number: u64,
}

impl Drop for Running {
    fn drop(&mut self) {
        let mut state = self.activity.state();
        state.running.retain(|(number, _)| *number != self.number);
        state.idle_since = Instant::now();
    }
}

/// A response's body, which keeps its request under way.
struct Tracked {
    body: Body,
    _running: Running,
}

impl HttpBody for Tracked {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests;
