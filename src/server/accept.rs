//! Accepts a bounded number of connections, until the server stops.

use crate::server::{
    active::Server,
    activity::Activity,
    connection,
    quota::{Quota, Share},
};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::{io, sync::Arc, time::Duration};
use tokio::{
    net::{TcpListener, TcpStream},
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

/// Serves until the server is to stop; then accepts nothing more, lets the requests under way finish, and returns within 4
/// seconds. What is left then ends with the runtime.
pub async fn serve(listeners: Vec<TcpListener>, server: Server) {
    raise_limit_of_open_files();
    let files = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let most = files.saturating_sub(RESERVED_FILES);
    let connections = Arc::new(Quota::of(most.clamp(8, MAX_CONNECTIONS)));
    let tasks = TaskTracker::new();
    for listener in listeners {
        tasks.spawn(accept(
            listener,
            server.clone(),
            tasks.clone(),
            Arc::clone(&connections),
        ));
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
    connections: Arc<Quota>,
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
                let activity = Activity::new(peer);
                let share = connections.take(&activity, 1);
                tasks.spawn(serve_connection(stream, server.clone(), activity, share));
                // What had to make room closes first.
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

async fn serve_connection(
    stream: TcpStream,
    server: Server,
    activity: Arc<Activity>,
    _share: Arc<Share>,
) {
    tokio::select! {
        ended = connection::serve(stream, server, Arc::clone(&activity)) => {
            if let Err(error) = ended {
                tracing::debug!(peer = %activity.peer, error = &*error, "a connection ended with an error");
            }
        }
        () = activity.end.cancelled() => {}
    }
}
