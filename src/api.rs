//! The client of the API.
//!
//! A [`Client`] lives as long as its configuration. Each poll opens a [`Session`] on it, which
//! reads the key and the certificates again, and opens its own connections. A request is sent once:
//! the poll decides what to request again.
//!
//! # Rules for requests
//!
//! - The key goes only to the origin of `api.base_url`.
//! - Redirects are not followed.
//! - Every request, including retries, waits for its permit in [`Pace`].

mod error;
mod pace;
mod retry_after;
mod session;
mod tls;
pub mod wire;

pub use error::{CURSOR_HINT, RequestFailure};
pub use pace::Pace;
pub use session::PollSession;
pub use tls::check_ca_file;

use crate::{
    config::{ApiConfig, read_key},
    domain::{Failure, LanguageList, Page, PollFailure, RepositoryId, Stop},
    metrics::instruments::Instruments,
    support::{clock::Timestamp, hint::SetupError},
};
use reqwest::Url;
use std::sync::Arc;
use tokio::{task::spawn_blocking, time::timeout};

/// The poller's view of [`Client`], which its tests replace.
pub trait Api: Send + Sync + 'static {
    type Session: Session;

    /// Opens a poll, at `now`.
    ///
    /// # Errors
    ///
    /// Fails if the key or the certificates cannot be read, so that no request can be sent.
    fn begin(&self, now: Timestamp) -> impl Future<Output = Result<Self::Session, Stop>> + Send;

    /// Returns the pace of all requests.
    fn pace(&self) -> &Pace;
}

/// The requests of one poll. Each method sends one request, once it has its permit.
pub trait Session: Send + Sync {
    /// Requests the first page of the listing, or the page after the repository `after`.
    fn list_repositories(
        &self,
        after: Option<RepositoryId>,
    ) -> impl Future<Output = Result<Page, RequestFailure>> + Send;

    /// Requests the target languages of a repository.
    fn list_languages(
        &self,
        id: RepositoryId,
    ) -> impl Future<Output = Result<LanguageList, RequestFailure>> + Send;
}

/// A client of the API. Its pace, with the hold, outlives polls.
#[derive(Debug, Clone)]
pub struct Client {
    repositories: Url,
    config: ApiConfig,
    pace: Arc<Pace>,
    instruments: Arc<Instruments>,
}

impl Client {
    /// Creates a client, and checks that its certificates can be used.
    ///
    /// # Errors
    ///
    /// Fails if the certificates cannot be used.
    pub fn new(config: &ApiConfig, instruments: Arc<Instruments>) -> Result<Self, SetupError> {
        let mut repositories = config.base_url.clone();
        repositories.set_path(&format!(
            "{}/v1/repositories",
            config.base_url.path().trim_end_matches('/')
        ));
        tls::http_client(config, &tls::read_roots(config)?)?;
        Ok(Self {
            repositories,
            config: config.clone(),
            pace: Arc::new(Pace::new(config.requests_per_second)),
            instruments,
        })
    }
}

impl Api for Client {
    type Session = PollSession;

    async fn begin(&self, now: Timestamp) -> Result<PollSession, Stop> {
        let config = self.config.clone();
        // The files may be on a disk that hangs.
        let read = spawn_blocking(move || {
            let key = read_key(&config.key).map_err(|error| (PollFailure::KeyFile, error))?;
            let roots = tls::read_roots(&config);
            Ok((
                key,
                roots.map_err(|error| (PollFailure::Unavailable, error))?,
            ))
        });
        let limit = self.config.timeout;
        let read = timeout(limit, read)
            .await
            .map(|read| read.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic())));
        let read = read.unwrap_or_else(|_| {
            let what =
                "the files of the key and of the certificates could not be read within api.timeout";
            let hint = "check why the disk does not respond";
            Err((PollFailure::KeyFile, SetupError::new(what, hint)))
        });
        read.and_then(|(key, roots)| {
            let session = PollSession::new(self.clone(), key, roots);
            session.map_err(|error| (PollFailure::Unavailable, error))
        })
        .map_err(|(reason, SetupError { what, hint })| Stop {
            reason,
            failure: Failure::new(what, hint, now),
        })
    }

    fn pace(&self) -> &Pace {
        &self.pace
    }
}
