//! Deadlines and goodbyes of connections.

use super::super::testing::Fixture;
use super::*;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex},
    time::{Instant, sleep},
};

/// A client's end of a connection, and when the server gave it up.
struct Client {
    stream: DuplexStream,
    task: tokio::task::JoinHandle<Duration>,
    leave: CancellationToken,
}

fn connected(http2: bool) -> Client {
    let app = Fixture::new().app;
    // The smallest of buffers: what a client does not take, the server keeps.
    let (stream, other) = duplex(16);
    let leave = CancellationToken::new();
    let left = leave.clone();
    let task = tokio::spawn(async move {
        let (begin, moved) = (Instant::now(), Moved::now());
        let peer = ([127, 0, 0, 1], 1).into();
        serve_requests(moved.watch(other), http2, peer, app, left, &moved)
            .await
            .ok();
        begin.elapsed()
    });
    Client {
        stream,
        task,
        leave,
    }
}

const REQUEST: &[u8] = b"GET /metrics HTTP/1.1\r\nhost: a\r\n\r\n";

fn seconds(range: std::ops::RangeInclusive<u64>, took: Duration) {
    assert!(range.contains(&took.as_secs()), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn a_silent_client_is_dropped_after_30_seconds() {
    for http2 in [false, true] {
        let client = connected(http2);
        seconds(30..=40, client.task.await.unwrap());
    }
}

#[tokio::test(start_paused = true)]
async fn a_head_that_never_ends_is_read_for_30_seconds() {
    let Client {
        mut stream, task, ..
    } = connected(false);
    tokio::spawn(async move {
        stream.write_all(b"GET / HTTP/1.1\r\nx: ").await.unwrap();
        while stream.write_all(b"x").await.is_ok() {
            sleep(Duration::from_secs(1)).await;
        }
    });
    seconds(30..=31, task.await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_takes_nothing_is_dropped_within_40_seconds() {
    let Client {
        mut stream, task, ..
    } = connected(false);
    stream.write_all(REQUEST).await.unwrap();
    stream.read_u8().await.unwrap();
    seconds(30..=40, task.await.unwrap());
    drop(stream);
}

#[tokio::test(start_paused = true)]
async fn a_client_may_ask_again_until_it_idles_too_long_or_the_connection_is_too_old() {
    for (asked, pause, end) in [(3, 20, 70..=71), (100, 20, 600..=610)] {
        let Client {
            mut stream, task, ..
        } = connected(false);
        let client = tokio::spawn(async move {
            for _ in 0..asked {
                if stream
                    .write_all(b"GET /-/healthy HTTP/1.1\r\nhost: a\r\n\r\n")
                    .await
                    .is_err()
                {
                    break;
                }
                let mut answer = Vec::new();
                while !answer.ends_with(b"healthy\n") {
                    answer.push(stream.read_u8().await.unwrap());
                }
                sleep(Duration::from_secs(pause)).await;
            }
            stream
        });
        seconds(end, task.await.unwrap());
        client.await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_has_to_end_ends_at_once_if_idle_and_otherwise_after_its_response() {
    let idle = connected(false);
    let Client {
        mut stream,
        task,
        leave,
    } = connected(false);
    stream.write_all(REQUEST).await.unwrap();
    let mut answer = vec![stream.read_u8().await.unwrap()];
    idle.leave.cancel();
    leave.cancel();
    seconds(0..=0, idle.task.await.unwrap());
    stream.read_to_end(&mut answer).await.unwrap();
    let answer = String::from_utf8(answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    assert!(
        head.contains(&format!("\r\ncontent-length: {}\r\n", body.len())),
        "{answer}"
    );
    seconds(0..=0, task.await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_has_to_end_is_dropped_after_10_seconds_however_busy() {
    let Client {
        mut stream,
        task,
        leave,
    } = connected(false);
    stream.write_all(REQUEST).await.unwrap();
    leave.cancel();
    tokio::spawn(async move {
        while stream.read_u8().await.is_ok() {
            sleep(Duration::from_secs(1)).await;
        }
    });
    seconds(10..=10, task.await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn an_http2_connection_that_has_to_end_is_dropped_after_10_seconds_without_an_answer_to_a_ping()
 {
    let Client {
        stream,
        task,
        leave,
    } = connected(true);
    let (mut reading, mut writing) = tokio::io::split(stream);
    tokio::spawn(async move { while reading.read_u8().await.is_ok() {} });
    writing
        .write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0")
        .await
        .unwrap();
    leave.cancel();
    seconds(10..=10, task.await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_head_larger_than_32_kib_is_refused() {
    let Client { mut stream, .. } = connected(false);
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

#[tokio::test]
async fn a_reload_takes_effect_on_an_open_connection() {
    let mut fixture = Fixture::new();
    let (mut stream, other) = duplex(64 * 1024);
    let (app, moved) = (fixture.app.clone(), Moved::now());
    let leave = CancellationToken::new();
    tokio::spawn(async move {
        serve_requests(
            moved.watch(other),
            false,
            ([127, 0, 0, 1], 1).into(),
            app,
            leave,
            &moved,
        )
        .await
        .ok();
    });
    for (path, code) in [("/metrics", "200"), ("/elsewhere", "404")] {
        fixture.settings.telemetry_path = path.to_owned();
        fixture.reload();
        stream
            .write_all(b"HEAD /metrics HTTP/1.1\r\nhost: a\r\n\r\n")
            .await
            .unwrap();
        let mut answer = Vec::new();
        while !answer.ends_with(b"\r\n\r\n") {
            answer.push(stream.read_u8().await.unwrap());
        }
        assert!(
            answer.starts_with(format!("HTTP/1.1 {code}").as_bytes()),
            "{}",
            String::from_utf8_lossy(&answer)
        );
    }
}
