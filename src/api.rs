//! The client of the API: one method for each operation.
//!
//! A [`Client`] lives as long as the configuration does. Each poll opens a [`Session`] on it, which
//! reads the key and the certificates again, uses connections of its own, and decides when the poll
//! must end. The rules for requests are enforced here: the key goes only to the origin of
//! `api.base_url`, no redirect is followed, and every request, including retries, waits for its permit in `pacing`.

mod body;
mod budget;
mod error;
mod key_reader;
mod pacing;
mod proxy;
mod retry;
mod session;
#[cfg(test)]
pub mod testing;
mod tls;
pub mod wire;

pub use error::{ApiError, CURSOR_HINT, PollEnd, RequestFailure};
pub use session::PollSession;
pub use tls::BuildError;

use crate::{
    config::{ApiConfig, KeyError},
    domain::{
        Failure, Interner, LanguageList, Operation, Page, PollFailure, Reason, RepositoryId,
        snapshot::Pace,
    },
    metrics::instruments::Instruments,
    support::clock::Timestamp,
};
use body::Body;
use error::RequestError;
use key_reader::{FileReader, KeyReader};
use pacing::Pacer;
use reqwest::{
    StatusCode, Url,
    header::{ACCEPT, ACCEPT_ENCODING},
};
use secrecy::ExposeSecret;
use session::{Connections, Permit};
use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};
use tls::Connector;
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
    /// The key or the certificates cannot be read, so nothing can be requested.
    fn begin(&self) -> impl Future<Output = Result<Self::Session, PollEnd>> + Send;

    /// Until when Retry-After holds all requests; `None` if there is no hold.
    fn held_until(&self) -> Option<Instant>;

    /// The pace of requests, while the API allows less than the configured rate.
    fn pace(&self) -> Option<Pace>;

    /// Forgets the pace: the API was unavailable, so its refusals say nothing of a rate.
    fn forget_pace(&self);
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
    repositories: Url,
    config: ApiConfig,
    key: Arc<KeyReader>,
    connector: Arc<FileReader<Result<Connector, BuildError>>>,
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
        Connector::load(config)?.client()?;
        Ok(Self {
            repositories,
            config: config.clone(),
            key: Arc::new(KeyReader::new(config.key.clone())),
            connector: Arc::default(),
            large_bodies: Arc::default(),
            pacer: Arc::new(Pacer::new(config.requests_per_second)),
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
        self.pacer.configure(self.config.requests_per_second);
    }

    /// Sends one request, and reads and decodes its answer.
    async fn send<T>(
        &self,
        operation: Operation,
        url: &Url,
        permit: &Permit,
        attempt: u32,
        decode: impl Fn(&[u8], Option<Timestamp>) -> Result<T, DecodeError>,
    ) -> Result<T, RequestError> {
        let started = Instant::now();
        let request = permit
            .http
            .get(url.clone())
            .header(ACCEPT, "application/json")
            .header(ACCEPT_ENCODING, "gzip")
            .bearer_auth(permit.key.expose_secret());
        let mut deadline = started + self.config.timeout;
        let (status, answer) = match before(deadline, request.send()).await {
            Ok(response) => (
                Some(response.status().as_u16()),
                self.receive(response, &mut deadline, decode).await,
            ),
            Err(error) => (None, Err(error)),
        };
        // The deadline was moved by the time that this process kept the API waiting.
        let own_wait = (deadline - started).saturating_sub(self.config.timeout);
        let took = started.elapsed().saturating_sub(own_wait);
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
    /// waits. Moves the deadline by the time for which the body waits for other large ones.
    async fn receive<T>(
        &self,
        mut response: reqwest::Response,
        deadline: &mut Instant,
        decode: impl Fn(&[u8], Option<Timestamp>) -> Result<T, DecodeError>,
    ) -> Result<T, RequestError> {
        let status = response.status();
        if status != StatusCode::OK {
            let wait = retry::retry_after(response.headers(), SystemTime::now());
            drain(response).await;
            return Err(RequestError::status(status, wait));
        }
        let sent_at = retry::date(response.headers());
        let limit = self.config.max_response_size;
        if response
            .content_length()
            .is_some_and(|length| length > limit)
        {
            return Err(body::too_large(limit));
        }
        let mut body = Body::new(response.headers(), limit)?;
        // Held until the body is decoded.
        let mut large = None;
        while let Some(chunk) = before(*deadline, response.chunk()).await? {
            body.push(&chunk)?;
            if body.len() > LARGE_BODY && large.is_none() {
                let waiting = Instant::now();
                large = Some(self.large_bodies.lock().await);
                // That wait is not the API's.
                *deadline += waiting.elapsed();
            }
        }
        decode(&body.finish()?, sent_at).map_err(|error| RequestError::decode(&error))
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

impl Api for Client {
    type Session = PollSession;

    async fn begin(&self) -> Result<PollSession, PollEnd> {
        self.interner.forget_unused();
        let key = self.key.read(self.config.timeout).await;
        let key = key.map_err(|KeyError { what, hint }| PollEnd {
            reason: PollFailure::KeyFile,
            failure: Failure::new(what, hint),
        })?;
        let config = self.config.clone();
        let load = move || Connector::load(&config);
        let connector = self.connector.read(load, self.config.timeout).await;
        let connections = match connector {
            Some(connector) => connector.and_then(Connections::new).map_err(|error| {
                let hint = "correct it: the next poll reads it again";
                Failure::new(error.to_string(), hint)
            }),
            None => Err(Failure::new(
                "the trusted certificates could not be read within api.timeout",
                "check why the disk that holds them does not respond",
            )),
        };
        let connections = connections.map_err(|failure| PollEnd {
            reason: PollFailure::Unavailable,
            failure,
        })?;
        Ok(PollSession::new(self.clone(), key, connections))
    }

    fn held_until(&self) -> Option<Instant> {
        self.pacer.held_until()
    }

    fn pace(&self) -> Option<Pace> {
        self.pacer.pace()
    }

    fn forget_pace(&self) {
        self.pacer.forget();
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
