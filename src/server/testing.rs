//! The fixture of the server's tests: two routes behind a web configuration file.

use super::{Server, protect, web_config::WebConfigFile};
use axum::{
    Router,
    body::Body,
    extract::ConnectInfo,
    http::{Request, StatusCode},
    routing::get,
};
use std::{net::SocketAddr, path::PathBuf, sync::Arc};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;

/// A body that fits into hyper's buffer, and takes a client that reads a byte a millisecond 12 s.
const BODY: [u8; 12_000] = [b'x'; 12_000];

/// A server of `/metrics`, and of `/-/healthy` without protection.
pub struct Fixture {
    pub server: Server,
    /// The path of the protected route from the next [`Self::reload`] on.
    pub path: &'static str,
    web_config: Option<PathBuf>,
    folder: TempDir,
}

impl Fixture {
    pub fn new() -> Self {
        let (path, stop) = ("/metrics", CancellationToken::new());
        let server = Server::new(
            WebConfigFile::default(),
            |file| routes(path, file),
            |_| {},
            stop,
        );
        Self {
            server,
            path,
            web_config: None,
            folder: TempDir::new().unwrap(),
        }
    }

    /// Returns a path in the folder of the web configuration file.
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes and activates a web configuration file.
    pub fn web_config(&mut self, text: &str) {
        let path = self.file("web.yml");
        std::fs::write(&path, text).unwrap();
        self.web_config = Some(path);
        self.reload();
    }

    /// Activates the current path and the current web configuration file.
    pub fn reload(&mut self) {
        let file = WebConfigFile::load(self.web_config.as_deref()).unwrap();
        self.server.replace(file, |file| routes(self.path, file));
    }

    /// Returns the status of the protected route with a header `Authorization`.
    pub async fn status(&self, authorization: &str) -> StatusCode {
        let request = Request::get(self.path)
            .header("authorization", authorization)
            .extension(ConnectInfo(SocketAddr::from(([127, 0, 0, 1], 1))));
        let request = request.body(Body::empty()).unwrap();
        self.server
            .router()
            .oneshot(request)
            .await
            .unwrap()
            .status()
    }
}

fn routes(path: &str, file: &Arc<WebConfigFile>) -> Router {
    let covered = Router::new().route(path, get(|| async { &BODY[..] }));
    let open = Router::new().route("/-/healthy", get(|| async { "healthy\n" }));
    protect(file, covered, open)
}

/// A certificate authority for one test.
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
        Self {
            issuer: rcgen::Issuer::new(parameters, key),
            pem,
        }
    }

    pub fn issue(&self, names: &[&str]) -> Issued {
        let key = rcgen::KeyPair::generate().unwrap();
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        let parameters = rcgen::CertificateParams::new(names).unwrap();
        let certificate = parameters.signed_by(&key, &self.issuer).unwrap();
        Issued {
            pem: certificate.pem(),
            key: key.serialize_pem(),
        }
    }
}
