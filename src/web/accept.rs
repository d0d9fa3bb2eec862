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
    connections: Arc<FairShare>,
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
