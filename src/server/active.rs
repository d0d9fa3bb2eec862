//! The active router and protection, which a reload replaces in one step, between two requests.

use crate::{
    server::{protection::Protection, supervisor::Supervisor},
    support::clock::Timestamp,
};
use axum::Router;
use std::sync::Arc;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// An event that the server reports, for example to be counted.
#[derive(Debug, Clone, Copy)]
pub enum Event {
    /// A handshake failed, for this reason as a label.
    HandshakeFailed(&'static str),
    /// A configuration is active. `expires` is the expiry of its certificate; `None` without one,
    /// or if it cannot be read.
    CertificateChanged { expires: Option<Timestamp> },
}

/// A server that [`super::run`] runs and a reload changes. Clones share everything.
#[derive(Clone)]
pub struct Server {
    active: watch::Sender<Active>,
    pub(super) report: Arc<dyn Fn(Event) + Send + Sync>,
    pub(super) supervisor: Arc<Supervisor>,
    /// Cancelled to stop the server.
    pub stop: CancellationToken,
}

/// The router and the protection that serve the next request.
#[derive(Debug, Clone)]
pub(super) struct Active {
    pub router: Router,
    pub protection: Arc<Protection>,
    /// Cancelled when the connections opened under this [`Protection::file`] have to drain: a
    /// reload has changed the file, or the server stops.
    pub drain: CancellationToken,
}

impl Server {
    /// Returns a server that runs until `stop` is cancelled, and hands its events to `report`.
    pub fn new(
        router: Router,
        protection: Arc<Protection>,
        report: impl Fn(Event) + Send + Sync + 'static,
        stop: CancellationToken,
    ) -> Self {
        let expires = protection.file.expires();
        report(Event::CertificateChanged { expires });
        let active = Active {
            router,
            protection,
            drain: stop.child_token(),
        };
        Self {
            active: watch::Sender::new(active),
            report: Arc::new(report),
            supervisor: Arc::new(Supervisor::within_limit_of_files()),
            stop,
        }
    }

    /// Replaces router and protection, from the next request on. This second half of a reload
    /// cannot fail.
    pub fn replace(&self, router: Router, protection: Arc<Protection>) {
        let expires = protection.file.expires();
        (self.report)(Event::CertificateChanged { expires });
        self.active.send_modify(|active| {
            let drain = if active.protection.file.files == protection.file.files {
                active.drain.clone()
            } else {
                // No connection continues under a certificate or a policy that has been replaced.
                active.drain.cancel();
                self.stop.child_token()
            };
            *active = Active {
                router,
                protection,
                drain,
            };
        });
    }

    /// Returns the active protection.
    pub fn protection(&self) -> Arc<Protection> {
        Arc::clone(&self.active.borrow().protection)
    }

    /// Returns the active router.
    pub fn router(&self) -> Router {
        self.active.borrow().router.clone()
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
