//! Deadlines and goodbyes of connections.

use super::super::testing::Fixture;
use super::*;
use tokio::io::{AsyncReadExt, DuplexStream, duplex};

/// A client's end of a connection, and when the server gave it up.
struct Client {
    stream: DuplexStream,
    task: tokio::task::JoinHandle<Duration>,
    stop: watch::Sender<bool>,
}

fn connected(protocol: Protocol) -> Client {
    let server = Arc::new(Fixture::new().server());
    // The smallest of buffers: what a client does not take, the server keeps.
    let (stream, other) = duplex(16);
    let (stop, stopped) = watch::channel(false);
    let task = tokio::spawn(async move {
        let begin = Instant::now();
        converse(other, protocol, server, Arc::default(), stopped).await.ok();
        begin.elapsed()
    });
    Client { stream, task, stop }
}

const REQUEST: &[u8] = b"GET /metrics HTTP/1.1\r\nhost: a\r\n\r\n";

fn seconds(range: std::ops::RangeInclusive<u64>, took: Duration) {
    assert!(range.contains(&took.as_secs()), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn who_never_says_a_word_is_dropped_after_the_deadline() {
    for protocol in [Protocol::Http1, Protocol::Http2] {
        let client = connected(protocol);
        seconds(30..=33, client.task.await.unwrap());
    }
}

#[tokio::test(start_paused = true)]
async fn who_never_ends_the_head_is_dropped_after_the_deadline() {
    let Client { mut stream, task, stop: _stop } = connected(Protocol::Http1);
    tokio::spawn(async move {
        stream.write_all(b"GET / HTTP/1.1\r\nx: ").await.unwrap();
        while stream.write_all(b"x").await.is_ok() {
            sleep(Duration::from_secs(1)).await;
        }
    });
    seconds(30..=33, task.await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn who_takes_a_byte_a_second_is_dropped_after_the_deadlines_of_head_and_response() {
    let Client { mut stream, task, stop: _stop } = connected(Protocol::Http1);
    tokio::spawn(async move {
        stream.write_all(REQUEST).await.unwrap();
        while stream.read_u8().await.is_ok() {
            sleep(Duration::from_secs(1)).await;
        }
    });
    seconds(30..=63, task.await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn who_is_served_may_ask_again_until_it_idles_too_long() {
    let Client { mut stream, task, stop: _stop } = connected(Protocol::Http1);
    let client = tokio::spawn(async move {
        for _ in 0..3 {
            stream.write_all(b"GET /-/healthy HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
            let mut answer = Vec::new();
            while !answer.ends_with(b"healthy\n") {
                answer.push(stream.read_u8().await.unwrap());
            }
            sleep(Duration::from_secs(20)).await;
        }
        stream
    });
    seconds(70..=73, task.await.unwrap());
    client.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_ends_who_idles_at_once_and_lets_who_is_served_finish() {
    let idle = connected(Protocol::Http1);
    let Client { mut stream, task, stop } = connected(Protocol::Http1);
    stream.write_all(REQUEST).await.unwrap();
    let mut answer = vec![stream.read_u8().await.unwrap()];
    idle.stop.send_replace(true);
    stop.send_replace(true);
    seconds(0..=0, idle.task.await.unwrap());
    stream.read_to_end(&mut answer).await.unwrap();
    let answer = String::from_utf8(answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    assert!(head.contains(&format!("\r\ncontent-length: {}\r\n", body.len())), "{answer}");
    seconds(0..=0, task.await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_head_larger_than_16_kib_is_refused() {
    let Client { mut stream, stop: _stop, .. } = connected(Protocol::Http1);
    let head = format!("GET /{} HTTP/1.1\r\nhost: a\r\n\r\n", "a".repeat(MAX_HEAD as usize + 1));
    let (mut reading, mut writing) = tokio::io::split(&mut stream);
    let (_, answer) = tokio::join!(writing.write_all(head.as_bytes()), async {
        let mut answer = [0; 12];
        reading.read_exact(&mut answer).await.unwrap();
        answer
    });
    assert_eq!(&answer, b"HTTP/1.1 431");
}
