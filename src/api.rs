//! The client of the API.
//!
//! A [`Client`] lives as long as its configuration. Each poll opens a [`PollSession`] on it, which
//! reads the key and the certificates again, and opens its own connections. A request is sent
//! once: the poll decides what to request again.
//!
//! # Rules for requests
//!
//! - The key goes only to the origin of `api.base_url`.
//! - Redirects are not followed.
//! - Each request, retries included, waits for a permit of [`Pace`].

mod connect;
mod error;
mod pace;
mod proxy;
mod retry_after;
mod session;
mod tls;
pub mod wire;

pub use connect::causes;
pub use error::{CURSOR_HINT, RequestFailure};
pub use pace::Pace;
pub use session::PollSession;
pub use tls::read_roots;

use crate::{
    config::{ApiConfig, read_key},
    domain::{LanguageList, Listing, PollFailure, RepositoryId, Stop},
    metrics::instruments::Instruments,
    support::{blocking::off_the_runtime, clock::Clock, hint::Failure},
};
use reqwest::Url;
use std::sync::Arc;
use tokio::{sync::Mutex, time::timeout};

/// The poller's view of [`Client`], which its tests replace.
pub(crate) trait Api {
    type Session: Session;

    /// Opens a poll.
    ///
    /// # Errors
    ///
    /// Fails if the key or the certificates cannot be read, so that no request can be sent.
    async fn begin(&self) -> Result<Self::Session, Stop>;

    /// Returns the pace of all requests.
    fn pace(&self) -> &Pace;
}

/// The requests of one poll. Each method sends one request, for which the caller has a permit of
/// [`Api::pace`].
pub(crate) trait Session {
    /// Requests the first page of the listing, or the page after the repository `after`.
    async fn list_repositories(
        &self,
        after: Option<RepositoryId>,
    ) -> Result<Listing, RequestFailure>;

    /// Requests the target languages of a repository.
    async fn list_languages(&self, id: RepositoryId) -> Result<LanguageList, RequestFailure>;
}

/// A client of the API. Its pace, with the hold, outlives polls.
#[derive(Debug, Clone)]
pub struct Client {
    repositories: Url,
    config: ApiConfig,
    proxy: Option<String>,
    pace: Arc<Pace>,
    clock: Clock,
    instruments: Arc<Instruments>,
    /// Locked while files are read, so that polls pile up no threads if their disk hangs.
    reading: Arc<Mutex<()>>,
}

impl Client {
    /// Creates a client.
    ///
    /// # Errors
    ///
    /// Fails if the environment names a proxy that cannot be used.
    pub fn new(
        config: &ApiConfig,
        instruments: Arc<Instruments>,
        clock: Clock,
    ) -> Result<Self, Failure> {
        let mut repositories = config.base_url().clone();
        repositories.set_path(&format!("{}v1/repositories", repositories.path()));
        let proxy = proxy::of_environment(config.base_url())?;
        if let Some(proxy) = &proxy {
            tracing::info!(proxy, "the API is reached through a proxy");
        }
        Ok(Self {
            repositories,
            config: config.clone(),
            proxy,
            pace: Arc::new(Pace::new(config.requests_per_second())),
            clock,
            instruments,
            reading: Arc::default(),
        })
    }
}

impl Api for Client {
    type Session = PollSession;

    async fn begin(&self) -> Result<PollSession, Stop> {
        let stop = |reason| {
            move |failure| Stop {
                reason,
                failure,
                request: None,
            }
        };
        let client = self.clone();
        let opened = async {
            let guard = Arc::clone(&self.reading).lock_owned().await;
            off_the_runtime(move || {
                let _guard = guard;
                let key = read_key(&client.config).map_err(stop(PollFailure::KeyFile))?;
                let tls = read_roots(&client.config).map_err(stop(PollFailure::CaFile))?;
                Ok(PollSession::new(client, key, tls))
            })
            .await
        };
        let opened = timeout(*self.config.timeout, opened).await;
        opened.unwrap_or_else(|_| {
            let what =
                "the key file, or the trusted certificates, could not be read within api.timeout";
            let failure = Failure::new(what, "check why the disk does not respond");
            Err(stop(PollFailure::KeyFile)(failure))
        })
    }

    fn pace(&self) -> &Pace {
        &self.pace
    }
}
