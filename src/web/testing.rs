//! What the tests of this room share.

use super::{App, Protection, ReloadRequest, service::Server};
use crate::{
    clock::Clock,
    config::WebConfig,
    exposition::Published,
    instruments::Instruments,
    model::Timestamp,
    snapshot::{PollStatus, Snapshot},
};
use axum::{
    http::{Request, request::Parts},
    response::Response,
};
use std::{sync::Arc, time::Duration};
use tokio::sync::{mpsc, watch};

/// An [`App`] with all that moves it.
pub struct Fixture {
    pub published: watch::Sender<Option<Arc<Published>>>,
    pub settings: watch::Sender<Arc<WebConfig>>,
    pub reloads: Option<mpsc::Receiver<ReloadRequest>>,
    reload: mpsc::Sender<ReloadRequest>,
    status: PollStatus,
    pub protection: Option<Protection>,
}

impl Fixture {
    /// Serves an empty snapshot on /metrics.
    pub fn new() -> Self {
        let settings = WebConfig {
            listen_addresses: vec!["127.0.0.1:0".to_owned()],
            telemetry_path: "/metrics".to_owned(),
            config_file: None,
            enable_lifecycle: false,
            max_requests: 40,
        };
        let status = PollStatus {
            interval: Duration::from_secs(300),
            running_since: None,
            next_poll_at: None,
            last: None,
            last_success_at: None,
            held_until: None,
            has_data: true,
            state_is_kept: true,
        };
        let (reload, reloads) = mpsc::channel(1);
        let mut fixture = Self {
            published: watch::Sender::new(None),
            settings: watch::Sender::new(Arc::new(settings)),
            reloads: Some(reloads),
            reload,
            status,
            protection: None,
        };
        fixture.publish(|_| {});
        fixture
    }

    /// Publishes an empty snapshot with the status as `change` leaves it.
    pub fn publish(&mut self, change: impl FnOnce(&mut PollStatus)) {
        change(&mut self.status);
        let snapshot = Snapshot {
            taken_at: Timestamp::from_millis(0),
            repositories: Vec::new(),
            filtered: 0,
            completion_scale: 100.0,
        };
        self.publish_snapshot(snapshot);
    }

    pub fn publish_snapshot(&mut self, snapshot: Snapshot) {
        let published = Published::new(Arc::new(snapshot), self.status.clone());
        self.published.send_replace(Some(Arc::new(published)));
    }

    pub fn unpublish(&mut self) {
        self.published.send_replace(None);
    }

    pub fn app(&mut self) -> App {
        App {
            published: self.published.subscribe(),
            instruments: Arc::new(Instruments::new("/metrics")),
            settings: self.settings.subscribe(),
            reload: Some(self.reload.clone()),
            protection: self.protection.take().unwrap_or_default(),
            clock: Clock::system(),
        }
    }

    pub fn server(&mut self) -> Server {
        Server::new(self.app())
    }

    /// A request such as `GET /metrics`.
    pub fn request(line: &str) -> Parts {
        let (method, uri) = line.split_once(' ').unwrap();
        Request::builder().method(method).uri(uri).body(()).unwrap().into_parts().0
    }
}

pub fn status(response: &Response) -> u16 {
    response.status().as_u16()
}

pub async fn body(response: Response) -> String {
    let bytes = axum::body::to_bytes(response.into_body(), usize::MAX).await.unwrap();
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// An authority made for one test.
pub struct Certificates {
    issuer: rcgen::Issuer<'static, rcgen::KeyPair>,
    pub pem: String,
}

/// A certificate and its key, in PEM.
pub struct Issued {
    pub pem: String,
    pub key: String,
}

impl Certificates {
    pub fn new() -> Self {
        let key = rcgen::KeyPair::generate().unwrap();
        let mut parameters = rcgen::CertificateParams::new(Vec::new()).unwrap();
        parameters.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        let pem = parameters.self_signed(&key).unwrap().pem();
        Self { issuer: rcgen::Issuer::new(parameters, key), pem }
    }

    pub fn issue(&self, names: &[&str]) -> Issued {
        let key = rcgen::KeyPair::generate().unwrap();
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        let parameters = rcgen::CertificateParams::new(names).unwrap();
        let certificate = parameters.signed_by(&key, &self.issuer).unwrap();
        Issued { pem: certificate.pem(), key: key.serialize_pem() }
    }
}
