//! Accepts a bounded number of connections, until the server stops.

use crate::server::{Server, connection, follower::follow};
use std::{io, time::Duration};
use tokio::{
    net::TcpListener,
    time::{Instant, sleep, timeout},
};
use tokio_util::task::TaskTracker;

/// The time that requests under way have to finish while the server drains. The process ends in
/// less than 5 seconds, log included.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(3);

/// The pause after a failed accept. Its cause, such as too many open files, may last.
const RETRY_DELAY: Duration = Duration::from_millis(200);

/// The number of connections that are accepted in a row, before other tasks have their turn.
/// Evicted connections close in between, whose files the supervisor reserves.
const IN_A_ROW: u32 = 16;

/// The time without a failed accept after which the shortage counts as over.
const RECOVERY_TIME: Duration = Duration::from_secs(5);

/// Accepts connections until `server.stop` is cancelled, then drains for up to 3 seconds.
/// Connections that are still open after that end with the runtime.
pub async fn run(listeners: Vec<TcpListener>, server: Server) {
    let tasks = TaskTracker::new();
    if let Some(path) = server.file().path.clone() {
        let following = follow(path, server.clone());
        tasks.spawn(server.stop.clone().run_until_cancelled_owned(following));
    }
    for listener in listeners {
        let accepting = accept(listener, server.clone(), tasks.clone());
        tasks.spawn(server.stop.clone().run_until_cancelled_owned(accepting));
    }
    server.stop.cancelled().await;
    tasks.close();
    timeout(DRAIN_TIMEOUT, tasks.wait()).await.ok();
}

async fn accept(listener: TcpListener, server: Server, tasks: TaskTracker) {
    let mut last_failure: Option<Instant> = None;
    let mut in_a_row = 0;
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => {
                if last_failure.is_some_and(|last| last.elapsed() >= RECOVERY_TIME) {
                    last_failure = None;
                    tracing::info!("accepting connections again");
                }
                let connection = server.supervisor.open(peer);
                tasks.spawn(connection::handle(stream, server.clone(), connection));
                in_a_row = (in_a_row + 1) % IN_A_ROW;
                if in_a_row == 0 {
                    tokio::task::yield_now().await;
                }
            }
            // The client left before its connection was accepted.
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
            Err(error) => {
                if last_failure.replace(Instant::now()).is_none() {
                    tracing::warn!(%error, "cannot accept connections; retrying every 200 ms");
                }
                sleep(RETRY_DELAY).await;
            }
        }
    }
}
