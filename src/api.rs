//! The client of the API.
//!
//! A [`Client`] lives as long as its configuration. Each poll opens a [`Session`] on it, which
//! reads the key and the certificates again, opens its own connections, and decides when the poll
//! must end.
//!
//! # Rules for requests
//!
//! - The key goes only to the origin of `api.base_url`.
//! - Redirects are not followed.
//! - Every request, including retries, waits for its permit in `pacing`.

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
    sync::{Mutex, MutexGuard},
    time::{Instant, timeout, timeout_at},
};
use wire::DecodeError;

/// The size in bytes above which bodies are read and decoded one at a time, to bound the memory of
/// concurrent requests.
const LARGE_BODY: usize = 1 << 20;

/// The size in bytes of the pieces in which a chunk is decompressed. A piece of gzip grows at most
/// about a thousandfold, to some [`LARGE_BODY`] bytes.
const PIECE: usize = 1 << 10;

/// The number of chunks, of some 16 KiB each, that are read of the body of an error.
const DRAINED_CHUNKS: u32 = 16;

/// The poller's view of [`Client`], which its tests replace.
pub trait Api: Send + Sync + 'static {
    type Session: Session;

    /// Opens a poll.
    ///
    /// # Errors
    ///
    /// The key or the certificates cannot be read, so that no request can be sent.
    fn begin(&self) -> impl Future<Output = Result<Self::Session, PollEnd>> + Send;

    /// Returns the end of the hold that Retry-After demanded; `None` without a hold.
    fn held_until(&self) -> Option<Instant>;

    /// Returns the pace of requests while the API allows less than the configured rate.
    fn pace(&self) -> Option<Pace>;

    /// Returns to the configured rate, after an outage whose refusals were not about the rate.
    fn forget_pace(&self);
}

/// The number of attempts for one request in one poll.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attempts {
    One,
    /// Up to `api.max_attempts`, within the retry budget of the poll.
    Several,
}

/// The requests of one poll.
pub trait Session: Send + Sync {
    /// Requests the first page of the listing, or the page after the repository `after`.
    fn list_repositories(
        &self,
        after: Option<RepositoryId>,
    ) -> impl Future<Output = Result<Page, ApiError>> + Send;

    /// Requests the target languages of a repository.
    fn list_languages(
        &self,
        id: RepositoryId,
        attempts: Attempts,
    ) -> impl Future<Output = Result<LanguageList, ApiError>> + Send;
}

/// A client of the API, with the pace and the hold that outlive polls.
#[derive(Debug, Clone)]
pub struct Client {
    repositories: Url,
    config: ApiConfig,
    key: Arc<KeyReader>,
    connector: Arc<FileReader<Result<Connector, BuildError>>>,
    /// Guards the memory: the holder of the lock may hold a body above [`LARGE_BODY`].
    large_bodies: Arc<Mutex<()>>,
    pacer: Arc<Pacer>,
    interner: Arc<Interner>,
    instruments: Arc<Instruments>,
}

impl Client {
    /// Creates a client, and checks that its certificates and its proxy can be used.
    ///
    /// # Errors
    ///
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

    /// Creates a client of the same API with another configuration. The hold and the rate stay, the
    /// rate until [`Self::activate_rate`].
    ///
    /// # Errors
    ///
    /// The certificates or the proxy cannot be used.
    pub fn reconfigured(&self, config: &ApiConfig) -> Result<Self, BuildError> {
        let mut client = Self::new(config, Arc::clone(&self.instruments))?;
        client.pacer = Arc::clone(&self.pacer);
        client.interner = Arc::clone(&self.interner);
        // A key file that hangs blocks a thread of its reader, and each new reader could block one
        // more.
        if config.key == self.config.key {
            client.key = Arc::clone(&self.key);
        }
        Ok(client)
    }

    /// Activates the configured rate, even for the poll under way.
    pub fn activate_rate(&self) {
        self.pacer.configure(self.config.requests_per_second);
    }

    /// Sends one request, and decodes its response.
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
        // `receive` moved the deadline by the time that the API waited for this process.
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

    /// Reads and decodes a response. Moves the deadline by the time for which the body waits for
    /// other large bodies.
    ///
    /// Decoding blocks this thread, even for a large body. Polls have a thread of their own, so
    /// that no scrape waits.
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
        // The lock is held until the body is decoded.
        let mut large = None;
        while let Some(chunk) = before(*deadline, response.chunk()).await? {
            self.append(&chunk, &mut body, &mut large, deadline).await?;
        }
        decode(&body.finish()?, sent_at).map_err(|error| RequestError::decode(&error))
    }

    /// Appends a chunk to `body`, and takes the lock of large bodies once `body` is large. Moves
    /// the deadline by the time that the lock takes.
    async fn append<'a>(
        &'a self,
        chunk: &[u8],
        body: &mut Body,
        large: &mut Option<MutexGuard<'a, ()>>,
        deadline: &mut Instant,
    ) -> Result<(), RequestError> {
        for piece in chunk.chunks(PIECE) {
            body.push(piece)?;
            if body.len() > LARGE_BODY && large.is_none() {
                let waiting = Instant::now();
                *large = Some(self.large_bodies.lock().await);
                // The API is not to blame for this wait.
                *deadline += waiting.elapsed();
            }
        }
        Ok(())
    }
}

/// Waits for a part of a response until `deadline`.
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

/// Reads the rest of an unused response if it is short, so that the next request can reuse the
/// connection.
async fn drain(mut response: reqwest::Response) {
    let rest = async {
        for _ in 0..DRAINED_CHUNKS {
            if !matches!(response.chunk().await, Ok(Some(_))) {
                break;
            }
        }
    };
    // A new connection is cheaper than a longer wait.
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
                let hint = "correct it; the next poll reads it again";
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
    use flate2::{Compression, write::GzEncoder};
    use reqwest::header::{CONTENT_ENCODING, HeaderMap, HeaderValue};
    use std::io::Write;

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

    /// Returns a client that may send one request a second.
    pub(super) fn client() -> Client {
        Client::new(&config("k3y"), Arc::new(Instruments::of_one_poll())).unwrap()
    }

    #[test]
    fn a_reload_keeps_the_reader_of_an_unchanged_key() {
        // A key file that hangs blocks a thread of its reader.
        let client = client();
        let same = client.reconfigured(&config("k3y")).unwrap();
        assert!(Arc::ptr_eq(&client.key, &same.key));
        let other = client.reconfigured(&config("0ther")).unwrap();
        assert!(!Arc::ptr_eq(&client.key, &other.key));
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_waits_for_other_large_bodies_is_small() {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
        gzip.write_all(&vec![b' '; 16 * LARGE_BODY]).unwrap();
        let chunk = gzip.finish().unwrap();
        let gzip = HeaderValue::from_static("gzip");
        let headers = HeaderMap::from_iter([(CONTENT_ENCODING, gzip)]);
        let mut body = Body::new(&headers, u64::MAX).unwrap();
        let client = client();
        let other_body = client.large_bodies.lock().await;
        let (mut large, mut deadline) = (None, Instant::now());
        let append = client.append(&chunk, &mut body, &mut large, &mut deadline);
        let waited = timeout(Duration::from_secs(1), append).await;
        assert!(waited.is_err(), "the other body still has the lock");
        assert!(body.len() < 3 * LARGE_BODY, "{} bytes", body.len());
        drop(other_body);
    }
}
