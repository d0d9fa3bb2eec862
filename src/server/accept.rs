//! Accepts a bounded number of connections, until the server stops.

use crate::server::{Server, connection, follower::follow};
use std::time::Duration;
use tokio::{
    net::TcpListener,
    task::{JoinSet, yield_now},
    time::{Instant, sleep, timeout},
};
use tokio_util::task::TaskTracker;

/// The time that requests under way have to finish while the server drains. The process ends in
/// less than 5 seconds, log included.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(3);

/// The pause after a failed accept. Its cause, such as too many open files, may last.
const RETRY_DELAY: Duration = Duration::from_secs(1);

/// The shortest time between two log lines about failed accepts.
const LOG_EVERY: Duration = Duration::from_secs(60);

/// Accepts connections until `server.stop` is cancelled, then drains for up to 3 seconds.
/// Connections that are still open after that end with the runtime.
pub async fn run(listeners: Vec<TcpListener>, server: Server) {
    let (connections, mut until_stop) = (TaskTracker::new(), JoinSet::new());
    for listener in listeners {
        until_stop.spawn(accept(listener, server.clone(), connections.clone()));
    }
    until_stop.spawn(follow(server.clone()));
    server.stop.cancelled().await;
    drop(until_stop);
    connections.close();
    timeout(DRAIN_TIMEOUT, connections.wait()).await.ok();
}

async fn accept(listener: TcpListener, server: Server, connections: TaskTracker) {
    let mut logged: Option<Instant> = None;
    loop {
        // A crowd is let in at once: others would wait behind it. Evicted connections close before
        // the next crowd.
        for _ in 0..server.supervisor.max_connections {
            match listener.accept().await {
                Ok((stream, peer)) => {
                    let connection = server.supervisor.open(peer);
                    connections.spawn(connection::handle(stream, server.clone(), connection));
                }
                Err(error) => {
                    if logged.is_none_or(|at| at.elapsed() >= LOG_EVERY) {
                        logged = Some(Instant::now());
                        tracing::warn!(%error, "cannot accept connections; trying again each second");
                    }
                    sleep(RETRY_DELAY).await;
                }
            }
        }
        yield_now().await;
    }
}
