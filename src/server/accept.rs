//! Accepts a bounded number of connections, until the server stops.

use crate::server::{active::Server, connection, supervisor::Supervisor};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::{io, sync::Arc, time::Duration};
use tokio::{
    net::TcpListener,
    time::{Instant, sleep, timeout},
};
use tokio_util::task::TaskTracker;

/// How long the requests under way may take once the server stops.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(4);

/// Connections over all listeners, where the limit of open files allows it.
const MAX_CONNECTIONS: u64 = 512;

/// Open files that are left to other parts of the process, the listeners and connections that are
/// being closed.
const RESERVED_FILES: u64 = 40;

/// How long to wait after a failure to accept, whose cause may last.
const RETRY_DELAY: Duration = Duration::from_millis(200);

/// How long accepting must not fail for a shortage to count as over.
const RECOVERY_TIME: Duration = Duration::from_secs(5);

/// The memory that responses may hold while they are sent, in bytes: of hundreds that nobody takes,
/// some are ended. It is a quarter of the 128 MiB of the shipped manifests.
const MAX_MEMORY: u64 = 32 * 1024 * 1024;

/// Serves until the server is to stop; then accepts nothing more, lets the requests under way finish,
/// and returns within 4 seconds. What is left then ends with the runtime.
pub async fn serve(listeners: Vec<TcpListener>, server: Server) {
    raise_limit_of_open_files();
    let files = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let most = files.saturating_sub(RESERVED_FILES);
    let most = most.clamp(8, MAX_CONNECTIONS);
    let supervisor = Arc::new(Supervisor::new(most, MAX_MEMORY));
    let tasks = TaskTracker::new();
    for listener in listeners {
        let accepting = accept(
            listener,
            server.clone(),
            tasks.clone(),
            Arc::clone(&supervisor),
        );
        tasks.spawn(accepting);
    }
    server.stop.cancelled().await;
    tasks.close();
    if timeout(DRAIN_TIMEOUT, tasks.wait()).await.is_err() {
        tracing::warn!("dropping connections that did not finish in time for the shutdown");
    }
}

/// A connection needs a file descriptor; many systems set a low soft limit for the sake of old programs.
fn raise_limit_of_open_files() {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        ..limit
    };
    // Otherwise it stays as it is.
    setrlimit(Resource::Nofile, raised).ok();
}

async fn accept(
    listener: TcpListener,
    server: Server,
    tasks: TaskTracker,
    supervisor: Arc<Supervisor>,
) {
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
                tasks.spawn(connection::serve(
                    stream,
                    server.clone(),
                    Arc::clone(&supervisor),
                    supervisor.open(peer),
                ));
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
