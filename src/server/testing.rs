//! The fixture of the server's tests: two routes behind a web configuration file.

use super::{Event, Server, protect, web_config::WebConfigFile};
use axum::{Router, routing::get};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use std::sync::{Arc, Mutex};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

pub type Authority = CertifiedIssuer<'static, KeyPair>;

/// A body that fits into hyper's buffer.
const BODY: [u8; 12_000] = [b'x'; 12_000];

/// A server of `/metrics`, and of `/-/healthy` without protection.
pub struct Fixture {
    pub server: Server,
    /// The outcomes of changed web configuration files: the burst of one that is active, or
    /// why it was refused.
    pub changes: Arc<Mutex<Vec<Result<u32, String>>>>,
    folder: TempDir,
}

impl Fixture {
    /// Serves without a web configuration file.
    pub fn new() -> Self {
        Self::serving(WebConfigFile::default(), TempDir::new().unwrap())
    }

    /// Serves under a web configuration file of this text.
    pub fn with(text: &str) -> Self {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("web.yml");
        std::fs::write(&path, text).unwrap();
        Self::serving(WebConfigFile::load(Some(&path)).unwrap(), folder)
    }

    fn serving(file: WebConfigFile, folder: TempDir) -> Self {
        let covered = Router::new().route("/metrics", get(|| async { &BODY[..] }));
        let open = Router::new().route("/-/healthy", get(|| async { "healthy\n" }));
        let changes = Arc::<Mutex<Vec<_>>>::default();
        let seen = Arc::clone(&changes);
        let observe = move |event| {
            if let Event::FileChanged(outcome) = event {
                let outcome = outcome.map(|file| burst(&file));
                let outcome = outcome.map_err(|error| format!("{error:#}"));
                seen.lock().unwrap().push(outcome);
            }
        };
        let router = protect(covered, open);
        Self {
            server: Server::new(router, file, observe, CancellationToken::new()),
            changes,
            folder,
        }
    }

    /// Writes a file into the folder of the web configuration file.
    pub fn write(&self, name: &str, text: &str) {
        std::fs::write(self.folder.path().join(name), text).unwrap();
    }
}

/// Returns the burst of the file's rate limit; 0 for none.
pub fn burst(file: &WebConfigFile) -> u32 {
    file.rate_limit.as_ref().map_or(0, |limit| limit.burst)
}

/// Creates a certificate authority for one test.
pub fn authority() -> Authority {
    let mut parameters = CertificateParams::default();
    parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    Authority::self_signed(parameters, KeyPair::generate().unwrap()).unwrap()
}

/// Issues a certificate for `name`. Returns it and its key, in PEM.
pub fn issue(authority: &Authority, name: &str) -> (String, String) {
    let key = KeyPair::generate().unwrap();
    let parameters = CertificateParams::new([name.to_owned()]).unwrap();
    let certificate = parameters.signed_by(&key, authority).unwrap();
    (certificate.pem(), key.serialize_pem())
}
