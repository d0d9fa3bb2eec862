//! How connections end.

use super::*;
use crate::web::testing::Fixture;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex},
    time::{Instant, sleep},
};

/// A client's end of a connection, and when the server gave it up.
struct Client {
    stream: DuplexStream,
    task: tokio::task::JoinHandle<Duration>,
    drain: CancellationToken,
}

fn connected(http2: bool) -> Client {
    // The smallest of buffers: what a client does not take, the server keeps.
    connected_through(duplex(16), Fixture::new().server, http2)
}

fn connected_through(
    (stream, other): (DuplexStream, DuplexStream),
    server: Server,
    http2: bool,
) -> Client {
    let drain = CancellationToken::new();
    let left = drain.clone();
    let task = tokio::spawn(async move {
        let begin = Instant::now();
        let activity = Activity::new(([127, 0, 0, 1], 1).into());
        tokio::select! {
            ended = serve_requests(other, http2, server, left, Arc::clone(&activity)) => drop(ended),
            () = activity.end.cancelled() => {}
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
    for http2 in [false, true] {
        let client = connected(http2);
        seconds(35..=45, client.task.await.unwrap());
    }
}

#[tokio::test(start_paused = true)]
async fn a_head_that_never_ends_is_read_for_35_seconds() {
    let Client {
        mut stream, task, ..
    } = connected(false);
    tokio::spawn(async move {
        stream.write_all(b"GET / HTTP/1.1\r\nx: ").await.unwrap();
        while stream.write_all(b"x").await.is_ok() {
            sleep(Duration::from_secs(1)).await;
        }
    });
    seconds(35..=45, task.await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_takes_nothing_of_a_short_answer_is_dropped_like_an_idle_one() {
    let Client {
        mut stream, task, ..
    } = connected(false);
    stream.write_all(REQUEST).await.unwrap();
    stream.read_u8().await.unwrap();
    // All of it is in the buffer of the connection.
    seconds(35..=45, task.await.unwrap());
    drop(stream);
}

#[tokio::test(start_paused = true)]
async fn a_client_may_ask_again_until_it_idles_too_long() {
    let Client {
        mut stream, task, ..
    } = connected(false);
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
    // 35 s after the last of them.
    seconds(905..=915, task.await.unwrap());
    client.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_has_to_end_ends_at_once_if_idle_and_otherwise_after_its_response() {
    let idle = connected(false);
    let Client {
        mut stream,
        task,
        drain,
    } = connected(false);
    stream.write_all(REQUEST).await.unwrap();
    let mut answer = vec![stream.read_u8().await.unwrap()];
    idle.drain.cancel();
    drain.cancel();
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
async fn a_response_under_way_on_a_connection_that_has_to_end_is_finished_however_slowly() {
    let Client {
        mut stream,
        task,
        drain,
    } = connected(false);
    stream.write_all(REQUEST).await.unwrap();
    drain.cancel();
    let mut answer = Vec::new();
    while let Ok(byte) = stream.read_u8().await {
        answer.push(byte);
        sleep(Duration::from_millis(1)).await;
    }
    seconds(11..=59, task.await.unwrap());
    let answer = String::from_utf8(answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let length = format!("\r\ncontent-length: {}\r\n", body.len());
    assert!(head.contains(&length), "{answer}");
}

#[tokio::test(start_paused = true)]
async fn an_http2_connection_that_has_to_end_is_dropped_after_45_seconds_without_an_answer_to_a_ping()
 {
    let Client {
        stream,
        task,
        drain,
    } = connected(true);
    let (mut reading, mut writing) = tokio::io::split(stream);
    tokio::spawn(async move { while reading.read_u8().await.is_ok() {} });
    writing
        .write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0")
        .await
        .unwrap();
    drain.cancel();
    seconds(45..=45, task.await.unwrap());
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

#[tokio::test(start_paused = true)]
async fn a_body_that_nobody_reads_is_taken_up_to_a_mebibyte() {
    for (size, is_taken) in [(1_000_000, true), (2_000_000, false)] {
        let pipe = duplex(64 * 1024);
        let mut stream = connected_through(pipe, Fixture::new().server, false).stream;
        let head = format!(
            "GET /-/healthy HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-length: {size}\r\n\r\n"
        );
        let request = [head.into_bytes(), vec![b'x'; size]].concat();
        assert_eq!(stream.write_all(&request).await.is_ok(), is_taken, "{size}");
    }
}

#[tokio::test]
async fn a_reload_takes_effect_on_an_open_connection() {
    let mut fixture = Fixture::new();
    let pipe = duplex(64 * 1024);
    let mut stream = connected_through(pipe, fixture.server.clone(), false).stream;
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

/// A client over HTTP/2 whose window is closed from the start, and its GETs of /metrics as streams 1, 3, 5 and so on.
fn http2_with_closed_window(streams: u32) -> Vec<u8> {
    let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    // SETTINGS_INITIAL_WINDOW_SIZE is 0.
    bytes.extend(frame(4, 0, 0, &[0, 4, 0, 0, 0, 0]));
    // END_STREAM and END_HEADERS; method, scheme, path and authority.
    let get = b"\x82\x87\x04\x08/metrics\x01\x01a";
    bytes.extend((0..streams).flat_map(|number| frame(1, 0x5, 2 * number + 1, get)));
    bytes
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let head = [&length[1..], &[kind, flags], &stream.to_be_bytes()].concat();
    [&head, payload].concat()
}

fn window_update(stream: u32, bytes: u32) -> Vec<u8> {
    frame(8, 0, stream, &bytes.to_be_bytes())
}

/// How long the connection lasts if its client writes `first`, reads everything, and writes `again` every 5 seconds.
async fn lasts(first: Vec<u8>, again: impl Fn(u32) -> Vec<u8> + Send + 'static) -> Duration {
    let fixture = Fixture::new();
    let Client { stream, task, .. } =
        connected_through(duplex(64 * 1024), fixture.server.clone(), true);
    let (mut reading, mut writing) = tokio::io::split(stream);
    tokio::spawn(async move { while reading.read_u8().await.is_ok() {} });
    writing.write_all(&first).await.unwrap();
    tokio::spawn(async move {
        let mut round = 0;
        while writing.write_all(&again(round)).await.is_ok() {
            sleep(Duration::from_secs(5)).await;
            round += 1;
        }
    });
    task.await.unwrap()
}

fn ping() -> Vec<u8> {
    frame(6, 0, 0, &[0; 8])
}

#[tokio::test(start_paused = true)]
async fn a_response_whose_window_stays_closed_ends_its_connection_after_30_seconds_whatever_else_moves()
 {
    seconds(
        30..=31,
        lasts(http2_with_closed_window(3), |_| ping()).await,
    );
    // A byte at a time is no progress of the piece that it is of.
    let trickle = |_| window_update(1, 1);
    seconds(30..=31, lasts(http2_with_closed_window(1), trickle).await);
    // Nor are other streams, which get all that they ask for.
    let mut next = http2_with_closed_window(1);
    next.extend(window_update(0, 1 << 30));
    let busy = |round| {
        let get = b"\x82\x87\x04\x0a/-/healthy\x01\x01a";
        let stream = 2 * round + 3;
        [frame(1, 0x5, stream, get), window_update(stream, 1000)].concat()
    };
    seconds(30..=31, lasts(next, busy).await);
}

#[tokio::test(start_paused = true)]
async fn a_connection_over_http2_without_requests_ends_after_35_seconds_despite_its_pings() {
    seconds(
        35..=45,
        lasts(http2_with_closed_window(0), |_| ping()).await,
    );
}
