//! Tests of how connections end.

use super::*;
use crate::server::testing::Fixture;
use axum::{Router, routing::get};
use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex},
    time::{self, sleep},
};
use tokio_util::sync::CancellationToken;

/// The client's end of a connection, with the task that serves the other end.
struct Client {
    stream: DuplexStream,
    /// Returns how long the server kept the connection.
    task: tokio::task::JoinHandle<Duration>,
    drain: CancellationToken,
}

fn connected() -> Client {
    // With a tiny buffer, the server keeps the bytes that the client does not read.
    connected_through(duplex(16), Fixture::new().server)
}

fn connected_through((stream, other): (DuplexStream, DuplexStream), server: Server) -> Client {
    let drain = CancellationToken::new();
    let left = drain.clone();
    let task = tokio::spawn(async move {
        let begin = time::Instant::now();
        let connection = server.supervisor.open(([127, 0, 0, 1], 1).into());
        let file = server.file();
        tokio::select! {
            _ = serve_requests(other, &server, &connection, &file, left.cancelled()) => {}
            () = connection.end() => {}
        }
        begin.elapsed()
    });
    Client {
        stream,
        task,
        drain,
    }
}

const REQUEST: &[u8] = b"GET /metrics HTTP/1.1\r\nhost: a\r\n\r\n";

fn seconds(range: std::ops::RangeInclusive<u64>, took: Duration) {
    assert!(range.contains(&took.as_secs()), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn a_silent_client_is_dropped_after_35_seconds() {
    seconds(35..=35, connected().task.await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_head_that_never_ends_is_read_for_35_seconds() {
    let Client {
        mut stream, task, ..
    } = connected();
    tokio::spawn(async move {
        stream.write_all(b"GET / HTTP/1.1\r\nx: ").await.unwrap();
        while stream.write_all(b"x").await.is_ok() {
            sleep(Duration::from_secs(1)).await;
        }
    });
    seconds(35..=35, task.await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_connection_is_kept_alive_until_it_idles_for_35_seconds() {
    let Client {
        mut stream, task, ..
    } = connected();
    let client = tokio::spawn(async move {
        for _ in 0..30 {
            stream
                .write_all(b"GET /-/healthy HTTP/1.1\r\nhost: a\r\n\r\n")
                .await
                .unwrap();
            let mut answer = Vec::new();
            while !answer.ends_with(b"healthy\n") {
                answer.push(stream.read_u8().await.unwrap());
            }
            sleep(Duration::from_secs(30)).await;
        }
        stream
    });
    // The last response comes after about 870 s, and 35 idle seconds follow.
    seconds(905..=915, task.await.unwrap());
    client.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_drain_ends_idle_connections_at_once_and_others_after_a_response() {
    let idle = connected();
    let Client {
        mut stream,
        task,
        drain,
    } = connected();
    stream.write_all(REQUEST).await.unwrap();
    let mut answer = vec![stream.read_u8().await.unwrap()];
    idle.drain.cancel();
    drain.cancel();
    seconds(0..=0, idle.task.await.unwrap());
    stream.read_to_end(&mut answer).await.unwrap();
    assert!(answer.starts_with(b"HTTP/1.1 200 OK\r\n") && answer.ends_with(&[b'x'; 12_000]));
    seconds(0..=0, task.await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_head_larger_than_32_kib_is_refused() {
    let Client { mut stream, .. } = connected();
    let head = format!(
        "GET /{} HTTP/1.1\r\nhost: a\r\n\r\n",
        "a".repeat(2 * BUFFER)
    );
    let (mut reading, mut writing) = tokio::io::split(&mut stream);
    let (_, answer) = tokio::join!(writing.write_all(head.as_bytes()), async {
        let mut answer = [0; 12];
        reading.read_exact(&mut answer).await.unwrap();
        answer
    });
    assert_eq!(&answer, b"HTTP/1.1 431");
}

#[tokio::test(start_paused = true)]
async fn a_request_with_an_unread_body_ends_its_connection() {
    let pipe = duplex(64 * 1024);
    let mut stream = connected_through(pipe, Fixture::new().server).stream;
    let head = "GET /-/healthy HTTP/1.1\r\nhost: a\r\ncontent-length: 2000000\r\n\r\n";
    let request = [head.as_bytes(), &vec![b'x'; 2_000_000]].concat();
    assert!(stream.write_all(&request).await.is_err());
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
}

#[tokio::test]
async fn a_response_that_is_made_while_it_is_sent_gives_way_to_other_tasks() {
    const PIECES: usize = 50;
    let piece = |number: usize| {
        std::thread::sleep(Duration::from_millis(1));
        Ok::<_, Infallible>(format!("{number:04096}"))
    };
    let body = move || async move { Body::from_stream(stream::iter((0..PIECES).map(piece))) };
    let router = Router::new().route("/metrics", get(body));
    let file = WebConfigFile::default();
    let server = Server::new(router, file, |_| {}, CancellationToken::new());
    let mut stream = connected_through(duplex(1024 * 1024), server).stream;
    let request = b"GET /metrics HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";
    stream.write_all(request).await.unwrap();
    let turns = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&turns);
    let other = tokio::spawn(async move {
        loop {
            counted.fetch_add(1, Ordering::Relaxed);
            tokio::task::yield_now().await;
        }
    });
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    other.abort();
    assert!(answer.starts_with(b"HTTP/1.1 200 OK\r\n"));
    let turns = turns.load(Ordering::Relaxed);
    assert!(turns >= PIECES / 2, "{turns}");
}
