//! What is in force, and how a reload changes it: in one step, between two requests.

use super::{
    router::router,
    state::{Shared, Site, Sources},
    web_config::WebConfigFile,
};
use crate::config::WebConfig;
use axum::Router;
use std::sync::Arc;
use tokio::sync::{Semaphore, watch};
use tokio_util::sync::CancellationToken;

/// What is in force at one instant.
#[derive(Debug, Clone)]
pub(super) struct InForce {
    pub site: Arc<Site>,
    pub router: Router,
    /// Cancelled when connections can no longer be served as [`Site::file`] says: TLS has changed, or the exporter stops.
    pub generation: CancellationToken,
}

/// The web side, which [`super::serve`] serves and a reload changes. Clones share everything.
#[derive(Debug, Clone)]
pub struct App {
    in_force: watch::Sender<InForce>,
    /// Cancelled when the exporter stops.
    pub(super) stop: CancellationToken,
}

impl App {
    #[must_use]
    pub fn new(sources: Sources, settings: WebConfig, file: WebConfigFile) -> Self {
        let stop = CancellationToken::new();
        let in_force = in_force(Shared::new(sources), settings, file, stop.child_token());
        Self {
            in_force: watch::Sender::new(in_force),
            stop,
        }
    }

    /// Puts both into force, from the next request on: the second half of a reload, which cannot fail.
    pub fn replace(&self, settings: WebConfig, file: WebConfigFile) {
        self.in_force
            .send_modify(|current| self.change(current, settings, file));
    }

    /// The keys by which `next` would protect less than what is in force.
    #[must_use]
    pub fn weakened_by(&self, next: &WebConfigFile) -> Vec<&'static str> {
        self.in_force.borrow().site.file.weakened_by(next)
    }

    fn change(&self, current: &mut InForce, settings: WebConfig, file: WebConfigFile) {
        let before = &current.site;
        let identity = |file: &WebConfigFile| file.tls.as_ref().map(|tls| tls.identity.clone());
        let same_tls = identity(&before.file) == identity(&file);
        let generation = if same_tls {
            current.generation.clone()
        } else {
            self.stop.child_token()
        };
        let next = in_force(Arc::clone(&before.shared), settings, file, generation);
        let before = std::mem::replace(current, next);
        if !same_tls {
            // No connection continues under a certificate or a policy that is no longer in force.
            before.generation.cancel();
        }
    }

    pub(super) fn in_force(&self) -> InForce {
        self.in_force.borrow().clone()
    }
}

fn in_force(
    shared: Arc<Shared>,
    settings: WebConfig,
    file: WebConfigFile,
    generation: CancellationToken,
) -> InForce {
    shared
        .sources
        .instruments
        .certificate_expires(file.tls.as_ref().and_then(|tls| tls.expires));
    let site = Arc::new(Site {
        shared,
        scrapes: Semaphore::new(settings.max_requests),
        settings,
        file,
    });
    InForce {
        router: router(&site),
        site,
        generation,
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
    fn only_a_change_of_tls_ends_connections() {
        let mut fixture = Fixture::new();
        let authority = Certificates::new();
        let write = |fixture: &Fixture| {
            let issued = authority.issue(&["localhost"]);
            std::fs::write(fixture.file("server.pem"), issued.pem).unwrap();
            std::fs::write(fixture.file("server.key"), issued.key).unwrap();
        };
        std::fs::write(fixture.file("ca.pem"), &authority.pem).unwrap();
        write(&fixture);
        let tls = "tls_server_config:\n  cert_file: server.pem\n  key_file: server.key\n";
        let clients = format!(
            "{tls}  client_ca_file: ca.pem\n  client_auth_type: RequireAndVerifyClientCert\n"
        );
        let changes = [
            ("# Nothing.\n", false),
            (tls, true),
            (
                &format!("rate_limit: {{interval: 1s, burst: 9}}\n{tls}  min_version: TLS12\n"),
                false,
            ),
            (&format!("{tls}  min_version: TLS13\n"), true),
            (
                &format!("{tls}http_server_config: {{http2: false}}\n"),
                true,
            ),
            (&clients, true),
            (&format!("{clients}  client_allowed_sans: [a]\n"), true),
            (&format!("{clients}  client_allowed_sans: [a, b]\n"), true),
            ("", true),
        ];
        for (text, ends) in changes {
            let before = fixture.app.in_force().generation;
            fixture.web_config(text);
            assert_eq!(before.is_cancelled(), ends, "{text}");
            assert!(!fixture.app.in_force().generation.is_cancelled());
        }
        fixture.web_config(tls);
        let before = fixture.app.in_force().generation;
        fixture.reload();
        assert!(!before.is_cancelled());
        write(&fixture);
        fixture.reload();
        assert!(before.is_cancelled());
    }
}
