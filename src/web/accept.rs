//! Accepts a bounded number of connections, until the exporter stops.

use super::{app::App, connection, moved::Moved};
use crate::sync::lock;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::{
    future::Future,
    io,
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::{
    net::{TcpListener, TcpStream},
    task::AbortHandle,
    time::{Instant, sleep, timeout},
};
use tokio_util::task::TaskTracker;

/// How long the requests under way may take once the exporter stops: it has 5 seconds in all.
const SHUTDOWN: Duration = Duration::from_secs(4);

/// Connections over all listeners. Well below the usual limit of 1024 open files.
const MAX_CONNECTIONS: usize = 512;

/// How long to wait after a failure to accept, whose cause may last.
const PAUSE: Duration = Duration::from_millis(200);

/// How long accepting must not fail to count as recovered.
const CALM: Duration = Duration::from_secs(5);

/// Serves until `shutdown` is done; then accepts nothing more, finishes the requests under way, and returns within 4
/// seconds.
pub(super) async fn serve(
    listeners: Vec<TcpListener>,
    app: App,
    shutdown: impl Future<Output = ()>,
) {
    raise_limit_of_open_files();
    let server = Arc::new(Server {
        app,
        tasks: TaskTracker::new(),
        places: Mutex::default(),
    });
    for listener in listeners {
        server.tasks.spawn(Arc::clone(&server).accept(listener));
    }
    shutdown.await;
    server.app.stop.cancel();
    server.tasks.close();
    if timeout(SHUTDOWN, server.tasks.wait()).await.is_err() {
        tracing::warn!("dropping connections that did not finish in time for the shutdown");
        lock(&server.places)
            .iter()
            .for_each(|place| place.task.abort());
    }
}

/// A connection needs a file descriptor; many systems set a low soft limit for the sake of old programs.
fn raise_limit_of_open_files() {
    let limit = getrlimit(Resource::Nofile);
    if let Err(error) = setrlimit(
        Resource::Nofile,
        Rlimit {
            current: limit.maximum,
            ..limit
        },
    ) {
        tracing::debug!(%error, "cannot raise the limit of open files");
    }
}

struct Server {
    app: App,
    tasks: TaskTracker,
    places: Mutex<Vec<Place>>,
}

/// An open connection.
struct Place {
    moved: Arc<Moved>,
    task: AbortHandle,
}

impl Server {
    async fn accept(self: Arc<Self>, listener: TcpListener) {
        let address = listener
            .local_addr()
            .ok()
            .map(|address| address.to_string());
        let (mut failed, mut last_failed) = (0_u64, Instant::now());
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                () = self.app.stop.cancelled() => return,
            };
            match accepted {
                Ok((stream, peer)) => {
                    if failed > 0 && last_failed.elapsed() >= CALM {
                        tracing::info!(address, failed, "connections are accepted again");
                        failed = 0;
                    }
                    self.admit(stream, peer);
                }
                // The client is already gone.
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(error) => {
                    if failed == 0 {
                        tracing::warn!(address, %error, "cannot accept connections; trying again until it works");
                    } else {
                        tracing::debug!(address, %error, "accepting failed again");
                    }
                    (failed, last_failed) = (failed + 1, Instant::now());
                    sleep(PAUSE).await;
                }
            }
        }
    }

    /// Serves the connection. If all places are taken, the connection that has been idle for longest is closed, so that
    /// idle connections cannot lock out others.
    fn admit(&self, stream: TcpStream, peer: SocketAddr) {
        let mut places = lock(&self.places);
        places.retain(|place| !place.task.is_finished());
        if places.len() >= MAX_CONNECTIONS
            && let Some((index, _)) = places
                .iter()
                .enumerate()
                .min_by_key(|(_, place)| place.moved.last())
        {
            tracing::debug!(
                "all {MAX_CONNECTIONS} connections are taken; closing the one idle for longest"
            );
            places.swap_remove(index).task.abort();
        }
        let moved = Moved::now();
        let served = connection::serve(stream, peer, self.app.clone(), Arc::clone(&moved));
        let task = self.tasks.spawn(async move {
            if let Err(error) = served.await {
                tracing::debug!(%peer, error = &*error, "a connection ended with an error");
            }
        });
        places.push(Place {
            moved,
            task: task.abort_handle(),
        });
    }
}
