//! The client of the API: one method for each operation.
//!
//! A [`Client`] lives as long as the configuration does; each poll opens a [`Session`] on it, which reads the key again
//! and decides when the poll must end. The rules for requests are enforced here: the key goes only to the origin of
//! `api.base_url`, no redirect is followed, and every request, including retries, waits for its permit in `pacing`.

mod budget;
mod error;
mod key_reader;
mod pacing;
mod retry;
mod session;
mod tls;
pub mod wire;

pub use error::{ApiError, CURSOR_HINT, PollEnd, RequestFailure};
pub use session::PollSession;
pub use tls::BuildError;

use crate::{
    config::{ApiConfig, KeyError},
    domain::{Failure, Interner, LanguageList, Operation, Page, Reason, RepositoryId},
    metrics::instruments::Instruments,
};
use error::RequestError;
use key_reader::KeyReader;
use pacing::Pacer;
use reqwest::{StatusCode, Url, header::ACCEPT};
use secrecy::{ExposeSecret, SecretString};
use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};
use tokio::{
    sync::Mutex,
    time::{Instant, timeout, timeout_at},
};
use wire::DecodeError;

/// Bodies that are larger, in bytes, are read and decoded one at a time, so that many of them do not fill the memory.
const LARGE_BODY: usize = 1 << 20;

/// How much of an error's body is read, in the pieces in which it arrives, of some 16 KiB each.
const DRAINED_CHUNKS: u32 = 16;

/// Something that can be polled; the poller's view of [`Client`], which its tests replace.
pub trait Api: Send + Sync + 'static {
    type Session: Session;

    /// Opens a poll.
    ///
    /// # Errors
    /// The key cannot be read, so nothing can be requested.
    fn begin(&self) -> impl Future<Output = Result<Self::Session, Failure>> + Send;

    /// Until when Retry-After holds all requests; `None` if there is no hold.
    fn held_until(&self) -> Option<Instant>;
}

/// How often something is requested in one poll.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attempts {
    One,
    /// `api.max_attempts`, as far as the retries of the poll suffice.
    Several,
}

/// One poll's requests.
pub trait Session: Send + Sync {
    /// A page of the listing: the first, or that after the repository `after`.
    fn list_repositories(
        &self,
        after: Option<RepositoryId>,
    ) -> impl Future<Output = Result<Page, ApiError>> + Send;

    /// The target languages of a repository.
    fn list_languages(
        &self,
        id: RepositoryId,
        attempts: Attempts,
    ) -> impl Future<Output = Result<LanguageList, ApiError>> + Send;
}

/// Sends requests to the API.
#[derive(Debug, Clone)]
pub struct Client {
    http: reqwest::Client,
    repositories: Url,
    config: ApiConfig,
    key: Arc<KeyReader>,
    /// Locked while a large body is held.
    large_bodies: Arc<Mutex<()>>,
    pacer: Arc<Pacer>,
    interner: Arc<Interner>,
    instruments: Arc<Instruments>,
}

impl Client {
    /// # Errors
    /// The certificates or the proxy cannot be used.
    pub fn new(config: &ApiConfig, instruments: Arc<Instruments>) -> Result<Self, BuildError> {
        let mut repositories = config.base_url.clone();
        repositories.set_path(&format!(
            "{}/v1/repositories",
            config.base_url.path().trim_end_matches('/')
        ));
        Ok(Self {
            http: tls::http_client(config)?,
            repositories,
            config: config.clone(),
            key: Arc::new(KeyReader::new(config.key.clone())),
            large_bodies: Arc::default(),
            pacer: Arc::new(Pacer::new(spacing(config))),
            interner: Arc::default(),
            instruments,
        })
    }

    /// A client of the same API with another configuration. A hold continues, and so does the rate until
    /// [`Self::put_rate_in_force`].
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn reconfigured(&self, config: &ApiConfig) -> Result<Self, BuildError> {
        let mut client = Self::new(config, Arc::clone(&self.instruments))?;
        client.pacer = Arc::clone(&self.pacer);
        client.interner = Arc::clone(&self.interner);
        // A key file that hangs occupies a thread of its reader: a new reader at each reload would occupy one more.
        if config.key == self.config.key {
            client.key = Arc::clone(&self.key);
        }
        Ok(client)
    }

    /// At once, also for the poll under way.
    pub fn put_rate_in_force(&self) {
        self.pacer.set_spacing(spacing(&self.config));
    }

    /// Sends one request, and reads and decodes its answer.
    async fn send<T>(
        &self,
        operation: Operation,
        url: &Url,
        key: &SecretString,
        attempt: u32,
        decode: impl Fn(&[u8]) -> Result<T, DecodeError>,
    ) -> Result<T, RequestError> {
        let started = Instant::now();
        let request = self
            .http
            .get(url.clone())
            .header(ACCEPT, "application/json")
            .bearer_auth(key.expose_secret());
        let deadline = started + self.config.timeout;
        let (status, answer) = match before(deadline, request.send()).await {
            Ok(response) => (
                Some(response.status().as_u16()),
                self.receive(response, deadline, decode).await,
            ),
            Err(error) => (None, Err(error)),
        };
        let took = started.elapsed();
        self.instruments.api_request(operation, status, took);
        let failure = answer.as_ref().err().map(|error| error.reason.label());
        let seconds = took.as_secs_f64();
        tracing::debug!(
            operation = operation.label(),
            status,
            duration = format_args!("{seconds:.3}s"),
            attempt,
            failure,
            "request"
        );
        answer
    }

    /// Reads and decodes an answer. Decodes on this thread, however large the answer is: polls have their own, so no scrape
    /// waits.
    async fn receive<T>(
        &self,
        mut response: reqwest::Response,
        mut deadline: Instant,
        decode: impl Fn(&[u8]) -> Result<T, DecodeError>,
    ) -> Result<T, RequestError> {
        let status = response.status();
        if status != StatusCode::OK {
            let wait = retry::retry_after(response.headers(), SystemTime::now());
            drain(response).await;
            return Err(RequestError::status(status, wait));
        }
        let limit = self.config.max_response_size;
        let too_large = || {
            RequestError::new(
                Reason::TooLarge,
                format!("the body is larger than {limit} bytes"),
            )
        };
        if response
            .content_length()
            .is_some_and(|length| length > limit)
        {
            return Err(too_large());
        }
        let mut body = Vec::new();
        // Held until the body is decoded.
        let mut large = None;
        while let Some(chunk) = before(deadline, response.chunk()).await? {
            if (body.len() + chunk.len()) as u64 > limit {
                return Err(too_large());
            }
            body.extend_from_slice(&chunk);
            if body.len() > LARGE_BODY && large.is_none() {
                let waiting = Instant::now();
                large = Some(self.large_bodies.lock().await);
                // That wait is not the API's.
                deadline += waiting.elapsed();
            }
        }
        decode(&body).map_err(|error| RequestError::decode(&error))
    }
}

/// Waits for a part of an answer.
async fn before<T>(
    deadline: Instant,
    part: impl Future<Output = reqwest::Result<T>>,
) -> Result<T, RequestError> {
    match timeout_at(deadline, part).await {
        Ok(part) => part.map_err(|error| RequestError::transport(&error)),
        Err(_) => Err(RequestError::new(
            Reason::Timeout,
            "no complete answer in time",
        )),
    }
}

/// Reads the rest of an unused answer, if it is short, so that the next request can reuse the connection.
async fn drain(mut response: reqwest::Response) {
    let rest = async {
        for _ in 0..DRAINED_CHUNKS {
            if !matches!(response.chunk().await, Ok(Some(_))) {
                break;
            }
        }
    };
    // If it does not arrive at once, a new connection is cheaper than waiting.
    let _ = timeout(Duration::from_millis(200), rest).await;
}

/// The time from one request to the next.
fn spacing(config: &ApiConfig) -> Duration {
    config.requests_per_second.map_or(Duration::ZERO, |rate| {
        Duration::try_from_secs_f64(rate.recip())
            .unwrap_or(Duration::from_secs(u64::from(u32::MAX)))
    })
}

impl Api for Client {
    type Session = PollSession;

    async fn begin(&self) -> Result<PollSession, Failure> {
        self.interner.forget_unused();
        let key = self.key.read(self.config.timeout).await;
        let key = key.map_err(|KeyError { what, hint }| Failure::new(what, hint))?;
        Ok(PollSession::new(self.clone(), key))
    }

    fn held_until(&self) -> Option<Instant> {
        self.pacer.held_until()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Options, load};

    fn config(key: &str) -> ApiConfig {
        let variables = [
            ("API__BASE_URL", "http://127.0.0.1:1"),
            ("API__KEY", key),
            ("API__PAGE_SIZE", "7"),
            ("API__REQUESTS_PER_SECOND", "1"),
        ];
        let variables = variables
            .map(|(name, value)| (format!("TRANSLATION_EXPORTER_{name}").into(), value.into()));
        load(&Options::default(), &variables).unwrap().api
    }

    /// A client that may send a request each second.
    pub(super) fn client() -> Client {
        Client::new(&config("k3y"), Arc::new(Instruments::of_one_poll())).unwrap()
    }

    /// A key file that hangs occupies a thread of its reader.
    #[test]
    fn a_reload_keeps_the_reader_of_a_key_that_did_not_change() {
        let client = client();
        let same = client.reconfigured(&config("k3y")).unwrap();
        assert!(Arc::ptr_eq(&client.key, &same.key));
        let other = client.reconfigured(&config("0ther")).unwrap();
        assert!(!Arc::ptr_eq(&client.key, &other.key));
    }
}
