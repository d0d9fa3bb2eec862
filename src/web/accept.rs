//! Accepts a bounded number of connections, until the exporter stops.

use super::{activity::Activity, app::App, connection, fair_share::FairShare};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::{future::Future, io, net::SocketAddr, sync::Arc, time::Duration};
use tokio::{
    net::{TcpListener, TcpStream},
    time::{Instant, sleep, timeout},
};
use tokio_util::task::TaskTracker;

/// How long the requests under way may take once the exporter stops: it has 5 seconds in all.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(4);

/// Connections over all listeners. Well below the usual limit of 1024 open files.
const MAX_CONNECTIONS: usize = 512;

/// How long to wait after a failure to accept, whose cause may last.
const RETRY_DELAY: Duration = Duration::from_millis(200);

/// How long accepting must not fail for a shortage to count as over.
const RECOVERY_TIME: Duration = Duration::from_secs(5);

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
        connections: FairShare::of(MAX_CONNECTIONS),
    });
    for listener in listeners {
        server.tasks.spawn(Arc::clone(&server).accept(listener));
    }
    shutdown.await;
    server.app.stop.cancel();
    server.tasks.close();
    if timeout(DRAIN_TIMEOUT, server.tasks.wait()).await.is_err() {
        tracing::warn!("dropping connections that did not finish in time for the shutdown");
        server.connections.end_all();
    }
}

/// A connection needs a file descriptor; many systems set a low soft limit for the sake of old programs.
fn raise_limit_of_open_files() {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        ..limit
    };
    if let Err(error) = setrlimit(Resource::Nofile, raised) {
        tracing::debug!(%error, "cannot raise the limit of open files");
    }
}

struct Server {
    app: App,
    tasks: TaskTracker,
    connections: Arc<FairShare>,
}

impl Server {
    async fn accept(self: Arc<Self>, listener: TcpListener) {
        let mut last_failure: Option<Instant> = None;
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                () = self.app.stop.cancelled() => return,
            };
            match accepted {
                Ok((stream, peer)) => {
                    if last_failure.is_some_and(|last| last.elapsed() >= RECOVERY_TIME) {
                        tracing::info!("connections are accepted again");
                        last_failure = None;
                    }
                    self.admit(stream, peer);
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

    fn admit(&self, stream: TcpStream, peer: SocketAddr) {
        let activity = Activity::new(peer);
        let share = self.connections.take(&activity, 1);
        let app = self.app.clone();
        self.tasks.spawn(async move {
            let _share = share;
            tokio::select! {
                served = connection::serve(stream, app, Arc::clone(&activity)) => {
                    if let Err(error) = served {
                        tracing::debug!(%peer, error = &*error, "a connection ended with an error");
                    }
                }
                () = activity.end.cancelled() => {}
            }
        });
    }
}
