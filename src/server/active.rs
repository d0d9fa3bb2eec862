//! The active router and web configuration file, which a reload replaces in one step, between two
//! requests.

use crate::server::{
    supervisor::{Supervisor, max_connections},
    web_config::WebConfigFile,
};
use axum::Router;
use std::sync::Arc;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// A server that [`super::run`] runs and a reload changes. Clones share everything.
#[derive(Clone)]
pub struct Server {
    active: watch::Sender<Active>,
    /// Called for each failed handshake, with the reason as a label.
    pub(super) handshake_failed: Arc<dyn Fn(&'static str) + Send + Sync>,
    pub(super) supervisor: Arc<Supervisor>,
    /// Cancelled to stop the server.
    pub stop: CancellationToken,
}

/// The router and the web configuration file that serve the next request.
#[derive(Clone)]
pub(super) struct Active {
    pub router: Router,
    pub file: Arc<WebConfigFile>,
    /// Cancelled when the connections opened under this file have to drain: another one is active,
    /// or the server stops.
    pub drain: CancellationToken,
}

impl Server {
    /// Returns a server that runs until `stop` is cancelled.
    pub fn new(
        file: WebConfigFile,
        router: impl FnOnce(&Arc<WebConfigFile>) -> Router,
        handshake_failed: impl Fn(&'static str) + Send + Sync + 'static,
        stop: CancellationToken,
    ) -> Self {
        let file = Arc::new(file);
        let active = Active {
            router: router(&file),
            file,
            drain: stop.child_token(),
        };
        Self {
            active: watch::Sender::new(active),
            handshake_failed: Arc::new(handshake_failed),
            supervisor: Arc::new(Supervisor::new(max_connections())),
            stop,
        }
    }

    /// Replaces file and router, from the next request on. An unchanged file keeps its verified
    /// passwords and the rest of its burst. This second half of a reload cannot fail.
    pub fn replace(&self, file: WebConfigFile, router: impl FnOnce(&Arc<WebConfigFile>) -> Router) {
        self.active.send_modify(|active| {
            if active.file.digest != file.digest {
                // No connection continues under a certificate or a policy that has been replaced.
                active.drain.cancel();
                active.drain = self.stop.child_token();
                active.file = Arc::new(file);
            }
            active.router = router(&active.file);
        });
    }

    /// Returns the active web configuration file.
    pub fn file(&self) -> Arc<WebConfigFile> {
        self.active().file
    }

    /// Returns the active router.
    pub fn router(&self) -> Router {
        self.active().router
    }

    pub(super) fn active(&self) -> Active {
        self.active.borrow().clone()
    }
}

#[cfg(test)]
mod tests {
    use crate::server::testing::{Certificates, Fixture};
    use std::{future::Future, time::Duration};
    use tokio::time::timeout;

    /// Runs the test on a runtime with a single thread for blocking work.
    fn with_one_blocking_thread(test: impl Future<Output = ()>) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .max_blocking_threads(1)
            .build();
        runtime.unwrap().block_on(test);
    }

    #[test]
    fn a_reload_keeps_verified_passwords() {
        with_one_blocking_thread(async {
            let mut fixture = Fixture::new();
            let hash = bcrypt::hash("correct", 4).unwrap();
            fixture.web_config(&format!("basic_auth_users: {{alice: {hash}}}\n"));
            let credentials = "Basic YWxpY2U6Y29ycmVjdA==";
            assert_eq!(fixture.status(credentials).await, 200);
            fixture.reload();
            // Occupies the only thread that could verify the password.
            let (release, held) = std::sync::mpsc::channel::<()>();
            let _busy = tokio::task::spawn_blocking(move || held.recv());
            let asked = timeout(Duration::from_secs(5), fixture.status(credentials)).await;
            drop(release);
            assert_eq!(asked.unwrap(), 200);
        });
    }

    #[test]
    fn only_a_change_of_web_configuration_files_ends_connections() {
        let mut fixture = Fixture::new();
        let authority = Certificates::new();
        let write = |fixture: &Fixture| {
            let issued = authority.issue(&["localhost"]);
            std::fs::write(fixture.file("server.pem"), issued.pem).unwrap();
            std::fs::write(fixture.file("server.key"), issued.key).unwrap();
        };
        write(&fixture);
        let tls = "tls_server_config:\n  cert_file: server.pem\n  key_file: server.key\n";
        for text in [tls, &format!("{tls}  min_version: TLS13\n"), "{}"] {
            let before = fixture.server.active().drain;
            fixture.web_config(text);
            assert!(before.is_cancelled(), "{text}");
            assert!(!fixture.server.active().drain.is_cancelled());
        }
        fixture.web_config(tls);
        let before = fixture.server.active().drain;
        fixture.reload();
        assert!(!before.is_cancelled());
        write(&fixture);
        fixture.reload();
        assert!(before.is_cancelled());
    }
}
