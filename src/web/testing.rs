//! The fixture of the tests of the routes.

use crate::{
    diagnosis,
    domain::polling::PollStatus,
    metrics::{exposition::Exposition, instruments::Instruments},
    support::clock::{Clock, Timestamp},
};
use crate::{
    server::web_config::WebConfigFile,
    testing::{self, Snapshot},
    web::{
        router::router,
        state::{AppState, Current},
    },
};
use axum::{Router, body::Body, http::Request, response::Response};
use std::{path::PathBuf, sync::Arc, time::Duration};
use tempfile::TempDir;
use tokio::{sync::watch, time::Instant};
use tower::ServiceExt as _;

/// The time at which tests begin.
pub const NOW: Timestamp = Timestamp::from_millis(20_780 * 86_400_000);

/// The exporter's routes, with the senders of everything that they receive.
pub struct Fixture {
    router: Router,
    /// The web configuration file under which requests are served.
    file: Arc<WebConfigFile>,
    pub state: Arc<AppState>,
    current: watch::Sender<Arc<Current>>,
    pub alive: watch::Sender<Instant>,
    pub snapshot: Snapshot,
    status: PollStatus,
    folder: TempDir,
}

impl Fixture {
    /// Serves an empty snapshot on /metrics.
    pub fn new() -> Self {
        Self::at("/metrics")
    }

    /// Serves an empty snapshot on this path.
    pub fn at(telemetry_path: &str) -> Self {
        let status = testing::status();
        let snapshot = Snapshot {
            taken_at: NOW,
            ..testing::snapshot(Vec::new())
        };
        let instruments = Instruments::new(Some("/metrics"));
        let clock = Clock::following_tokio(NOW);
        let current = watch::Sender::new(judged(&snapshot, &status, &instruments, clock));
        // A heartbeat in the future outlasts any test.
        let alive = watch::Sender::new(Instant::now() + Duration::from_secs(86_400));
        let state = Arc::new(AppState {
            current: current.subscribe(),
            alive: alive.subscribe(),
            instruments: Arc::clone(&instruments),
            clock,
            telemetry_path: telemetry_path.to_owned(),
            api: "api.example.com".into(),
        });
        let folder = TempDir::new().unwrap();
        Self {
            router: router(&state),
            file: Arc::default(),
            state,
            current,
            alive,
            snapshot,
            status,
            folder,
        }
    }

    /// Changes the status and publishes it with the snapshot.
    pub fn publish(&mut self, change: impl FnOnce(&mut PollStatus)) {
        change(&mut self.status);
        let AppState {
            instruments, clock, ..
        } = &*self.state;
        let current = judged(&self.snapshot, &self.status, instruments, *clock);
        self.current.send_replace(current);
    }

    /// Publishes this snapshot.
    pub fn show(&mut self, snapshot: Snapshot) {
        self.snapshot = snapshot;
        self.publish(|_| {});
    }

    /// Returns a path in the folder of the web configuration file.
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes and activates a web configuration file.
    pub fn web_config(&mut self, text: &str) {
        let path = self.file("web.yml");
        std::fs::write(&path, text).unwrap();
        self.file = Arc::new(WebConfigFile::load(Some(&path)).unwrap());
    }

    /// Returns the response to a request such as `GET /metrics`.
    pub async fn ask(&self, line: &str) -> Response {
        self.ask_with(line, &[]).await
    }

    pub async fn ask_with(&self, line: &str, headers: &[(&str, &str)]) -> Response {
        self.ask_exactly(line, &[&[("host", "localhost")], headers].concat())
            .await
    }

    /// Asks with these headers only.
    pub async fn ask_exactly(&self, line: &str, headers: &[(&str, &str)]) -> Response {
        let (method, uri) = line.split_once(' ').unwrap();
        let request = Request::builder()
            .method(method)
            .uri(uri)
            .extension(Arc::clone(&self.file));
        let request = headers.iter().fold(request, |request, (name, value)| {
            request.header(*name, *value)
        });
        self.router
            .clone()
            .oneshot(request.body(Body::empty()).unwrap())
            .await
            .unwrap()
    }
}

/// Judges a publication, as the daemon does.
fn judged(
    snapshot: &Snapshot,
    status: &PollStatus,
    instruments: &Instruments,
    clock: Clock,
) -> Arc<Current> {
    let document = Arc::new(snapshot.judge(status.clone(), None));
    Arc::new(Current {
        findings: diagnosis::findings(&document, &instruments.facts(), clock.now()),
        exposition: Arc::new(Exposition::new(Arc::clone(&document))),
        document,
    })
}

pub fn status(response: &Response) -> u16 {
    response.status().as_u16()
}

pub async fn body(response: Response) -> String {
    let bytes = axum::body::to_bytes(response.into_body(), usize::MAX)
        .await
        .unwrap();
    String::from_utf8(bytes.to_vec()).unwrap()
}
