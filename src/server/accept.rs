//! Accepts a bounded number of connections, until the server stops.

use crate::server::{active::Server, connection};
use std::{io, time::Duration};
use tokio::{
    net::TcpListener,
    time::{Instant, sleep, timeout},
};
use tokio_util::task::TaskTracker;

/// How long the requests under way may take once the server stops.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(4);

/// How long to wait after a failure to accept, whose cause may last.
const RETRY_DELAY: Duration = Duration::from_millis(200);

/// How long accepting must not fail for a shortage to count as over.
const RECOVERY_TIME: Duration = Duration::from_secs(5);

/// Serves until the server is to stop; then accepts nothing more, lets the requests under way finish,
/// and returns within 4 seconds. What is left then ends with the runtime.
pub async fn serve(listeners: Vec<TcpListener>, server: Server) {
    let tasks = TaskTracker::new();
    for listener in listeners {
        tasks.spawn(accept(listener, server.clone(), tasks.clone()));
    }
    server.stop.cancelled().await;
    tasks.close();
    if timeout(DRAIN_TIMEOUT, tasks.wait()).await.is_err() {
        tracing::warn!("dropping connections that did not finish in time for the shutdown");
    }
}

async fn accept(listener: TcpListener, server: Server, tasks: TaskTracker) {
    let mut last_failure: Option<Instant> = None;
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = server.stop.cancelled() => return,
        };
        match accepted {
            Ok((stream, peer)) => {
                if last_failure.is_some_and(|last| last.elapsed() >= RECOVERY_TIME) {
                    tracing::info!("connections are accepted again");
                    last_failure = None;
                }
                let connection = server.supervisor.open(peer);
                tasks.spawn(connection::serve(stream, server.clone(), connection));
                // An evicted connection closes first.
                tokio::task::yield_now().await;
            }
            // The client is already gone.
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
            Err(error) => {
                if last_failure.is_none() {
                    tracing::warn!(%error, "cannot accept connections; trying again until it works");
                }
                last_failure = Some(Instant::now());
                sleep(RETRY_DELAY).await;
            }
        }
    }
}
