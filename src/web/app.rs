//! What the web side serves by, and how a reload changes it: in one step, between two requests.

use crate::config::WebConfig;
use crate::{
    server::web_config::WebConfigFile,
    web::{
        router::router,
        state::{Shared, Site},
    },
};
use axum::Router;
use std::sync::Arc;
use tokio::sync::{Semaphore, watch};
use tokio_util::sync::CancellationToken;

/// What requests and connections are served by since the last reload.
#[derive(Debug, Clone)]
pub struct Current {
    pub site: Arc<Site>,
    pub router: Router,
    /// Cancelled when connections can no longer be served as [`Site::file`] says: it has changed, or the exporter stops.
    pub generation: CancellationToken,
}

/// The web side, which [`super::serve`] serves and a reload changes. Clones share everything.
#[derive(Debug, Clone)]
pub struct App {
    current: watch::Sender<Current>,
    pub stop: CancellationToken,
}

impl App {
    /// Serves until `stop` is cancelled.
    pub fn new(
        shared: Shared,
        settings: WebConfig,
        file: WebConfigFile,
        stop: CancellationToken,
    ) -> Self {
        let current = Current::new(Arc::new(shared), settings, file, stop.child_token());
        Self {
            current: watch::Sender::new(current),
            stop,
        }
    }

    /// Serves by both from the next request on: the second half of a reload, which cannot fail.
    pub fn replace(&self, settings: WebConfig, file: WebConfigFile) {
        self.current.send_modify(|current| {
            let shared = Arc::clone(&current.site.shared);
            let generation = if current.site.file.files == file.files {
                current.generation.clone()
            } else {
                // No connection continues under a certificate or a policy that has been replaced.
                current.generation.cancel();
                self.stop.child_token()
            };
            *current = Current::new(shared, settings, file, generation);
        });
    }

    /// The keys by which `next` would protect less than the present file.
    pub fn weakened_by(&self, next: &WebConfigFile) -> Vec<&'static str> {
        self.current.borrow().site.file.weakened_by(next)
    }

    pub fn current(&self) -> Current {
        self.current.borrow().clone()
    }
}

impl Current {
    fn new(
        shared: Arc<Shared>,
        settings: WebConfig,
        file: WebConfigFile,
        generation: CancellationToken,
    ) -> Self {
        let expires = file.tls.as_ref().and_then(|tls| tls.expires);
        shared.instruments.certificate_expires(expires);
        let site = Arc::new(Site {
            shared,
            scrapes: Semaphore::new(settings.max_requests),
            settings,
            file,
        });
        Self {
            router: router(&site),
            site,
            generation,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Certificates, Fixture, status};
    use std::{future::Future, time::Duration};
    use tokio::time::timeout;

    /// Runs the test where one thread does all that blocks.
    fn with_one_blocking_thread(test: impl Future<Output = ()>) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .max_blocking_threads(1)
            .build();
        runtime.unwrap().block_on(test);
    }

    #[test]
    fn a_password_that_was_verified_is_not_verified_again_after_a_reload() {
        with_one_blocking_thread(async {
            let mut fixture = Fixture::new();
            let hash = bcrypt::hash("correct", 4).unwrap();
            fixture.web_config(&format!("basic_auth_users: {{alice: {hash}}}\n"));
            let credentials = [("authorization", "Basic YWxpY2U6Y29ycmVjdA==")];
            assert_eq!(
                status(&fixture.ask_with("GET /metrics", &credentials).await),
                200
            );
            fixture.reload();
            // No thread is free to verify it.
            let (release, held) = std::sync::mpsc::channel::<()>();
            let _busy = tokio::task::spawn_blocking(move || held.recv());
            let asked = timeout(
                Duration::from_secs(5),
                fixture.ask_with("GET /metrics", &credentials),
            )
            .await;
            drop(release);
            assert_eq!(asked.map(|response| status(&response)).ok(), Some(200));
        });
    }

    #[test]
    fn only_a_change_of_the_web_configuration_file_or_of_one_that_it_names_ends_connections() {
        let mut fixture = Fixture::new();
        let authority = Certificates::new();
        let write = |fixture: &Fixture| {
            let issued = authority.issue(&["localhost"]);
            std::fs::write(fixture.file("server.pem"), issued.pem).unwrap();
            std::fs::write(fixture.file("server.key"), issued.key).unwrap();
        };
        write(&fixture);
        let tls = "tls_server_config:\n  cert_file: server.pem\n  key_file: server.key\n";
        for text in [tls, &format!("{tls}  min_version: TLS13\n"), ""] {
            let before = fixture.app.current().generation;
            fixture.web_config(text);
            assert!(before.is_cancelled(), "{text}");
            assert!(!fixture.app.current().generation.is_cancelled());
        }
        fixture.web_config(tls);
        let before = fixture.app.current().generation;
        fixture.settings.max_requests = 1;
        fixture.reload();
        assert!(!before.is_cancelled());
        write(&fixture);
        fixture.reload();
        assert!(before.is_cancelled());
    }
}
