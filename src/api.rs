//! The client of the API: one method for each question that is asked of it.
//!
//! A [`Client`] lives as long as the configuration does; each poll opens a [`Session`] on it, which reads the key anew
//! and decides when the poll has to end. What the API must never see is kept here: the key goes to the origin of
//! `api.base_url` alone, no redirect is followed, and every request, retries too, waits for its turn in `pacing`.

mod error;
mod pacing;
mod tls;
pub mod wire;

pub use error::{ApiError, CURSOR_HINT, RequestFailure};
pub use pacing::End;
pub use tls::BuildError;

use crate::{
    config::{ApiConfig, KeyError, KeySource, read_key},
    instruments::Instruments,
    model::{Interner, Operation, Reason, RepositoryId},
};
use error::Refusal;
use pacing::{Allowance, Pacer};
use reqwest::{StatusCode, Url, Version, header};
use secrecy::{ExposeSecret, SecretString};
use serde::de::IgnoredAny;
use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};
use tokio::time::{Instant, sleep, timeout};
use wire::{Flaw, LanguageList, Page};

/// How much of an error's body is read, so that its connection can be used again.
const DRAINED_BODY: usize = 64 * 1024;

/// Something that can be polled; the poller's view of [`Client`], which its tests replace.
pub trait Api: Send + Sync + 'static {
    type Session: Session;

    /// Opens a poll.
    ///
    /// # Errors
    /// The key cannot be read: nothing may be asked.
    fn begin(&self) -> impl Future<Output = Result<Self::Session, End>> + Send;

    /// How long the API wants to be left alone from now on.
    fn held_for(&self) -> Option<Duration>;
}

/// One poll's questions.
pub trait Session: Send + Sync {
    /// A page of the listing: the first, or that after the repository `after`.
    fn list_repositories(&self, after: Option<RepositoryId>) -> impl Future<Output = Result<Page, ApiError>> + Send;

    /// The target languages of a repository.
    fn list_languages(&self, id: RepositoryId) -> impl Future<Output = Result<LanguageList, ApiError>> + Send;

    /// Why the poll must end, once it must.
    fn ended(&self) -> Option<End>;
}

/// Asks the API.
#[derive(Debug, Clone)]
pub struct Client {
    http: reqwest::Client,
    repositories: Url,
    page_size: u16,
    key: KeySource,
    spacing: Duration,
    timeout: Duration,
    max_attempts: u32,
    max_response_size: u64,
    pacer: Arc<Pacer>,
    interner: Arc<Interner>,
    instruments: Arc<Instruments>,
}

impl Client {
    /// # Errors
    /// The certificates or the proxy cannot be used.
    pub fn new(config: &ApiConfig, instruments: Arc<Instruments>) -> Result<Self, BuildError> {
        Self::build(config, Arc::default(), Arc::default(), instruments)
    }

    /// A client of the same API by another configuration; it keeps the rate and what the API asked for.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn reconfigured(&self, config: &ApiConfig) -> Result<Self, BuildError> {
        let (pacer, interner) = (Arc::clone(&self.pacer), Arc::clone(&self.interner));
        Self::build(config, pacer, interner, Arc::clone(&self.instruments))
    }

    fn build(
        config: &ApiConfig,
        pacer: Arc<Pacer>,
        interner: Arc<Interner>,
        instruments: Arc<Instruments>,
    ) -> Result<Self, BuildError> {
        let mut repositories = config.base_url.clone();
        repositories.set_path(&format!("{}/v1/repositories", config.base_url.path().trim_end_matches('/')));
        Ok(Self {
            http: tls::http_client(config)?,
            repositories,
            page_size: config.page_size,
            key: config.key.clone(),
            spacing: config.requests_per_second.map_or(Duration::ZERO, |rate| {
                Duration::try_from_secs_f64(rate.recip()).unwrap_or(Duration::from_secs(u64::from(u32::MAX)))
            }),
            timeout: config.timeout,
            max_attempts: config.max_attempts,
            max_response_size: config.max_response_size,
            pacer,
            interner,
            instruments,
        })
    }

    async fn read_key(&self) -> Result<SecretString, End> {
        let source = self.key.clone();
        let read = tokio::task::spawn_blocking(move || read_key(&source));
        match timeout(self.timeout, read).await {
            Ok(Ok(key)) => key.map_err(|KeyError { what, hint }| End { what, hint }),
            Ok(Err(panic)) => std::panic::resume_unwind(panic.into_panic()),
            Err(_) => Err(End {
                what: "the API key file could not be read within api.timeout".to_owned(),
                hint: "see why the disk that holds it does not answer",
            }),
        }
    }

    /// Sends one request and reads its body.
    async fn send(&self, operation: Operation, url: &Url, key: &SecretString) -> Result<Vec<u8>, Refusal> {
        let started = Instant::now();
        let request = self.http.get(url.clone()).bearer_auth(key.expose_secret());
        match request.send().await {
            Ok(response) => {
                let status = response.status();
                let body = self.receive(response).await;
                self.instruments.api_request(operation, Some(status.as_u16()), started.elapsed());
                body
            }
            Err(error) => {
                self.instruments.api_request(operation, None, started.elapsed());
                Err(Refusal::transport(&error))
            }
        }
    }

    async fn receive(&self, mut response: reqwest::Response) -> Result<Vec<u8>, Refusal> {
        let status = response.status();
        if status != StatusCode::OK {
            let wait = response.headers().get(header::RETRY_AFTER).and_then(|value| value.to_str().ok());
            let wait = wait.and_then(|value| pacing::retry_after(value, SystemTime::now()));
            drain(response).await;
            return Err(Refusal::status(status, wait));
        }
        let limit = usize::try_from(self.max_response_size).unwrap_or(usize::MAX);
        let too_large = || Refusal::new(Reason::TooLarge, format!("the body is larger than {limit} bytes"));
        if response.content_length().is_some_and(|length| length > self.max_response_size) {
            return Err(too_large());
        }
        // Nothing says where such a body ends but the end of its connection (RFC 9112, 6.3).
        let ends_anywhere = response.version() < Version::HTTP_2
            && response.content_length().is_none()
            && !response.headers().contains_key(header::TRANSFER_ENCODING);
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| Refusal::transport(&error))? {
            if body.len() + chunk.len() > limit {
                return Err(too_large());
            }
            body.extend_from_slice(&chunk);
        }
        if ends_anywhere && serde_json::from_slice::<IgnoredAny>(&body).is_err_and(|error| error.is_eof()) {
            return Err(Refusal::new(Reason::Truncated, "the body breaks off"));
        }
        Ok(body)
    }
}

/// Reads the rest of an answer that nobody wants, if it is short, so that the next request need not connect anew.
async fn drain(mut response: reqwest::Response) {
    let read = async {
        let mut size = 0;
        while let Ok(Some(chunk)) = response.chunk().await {
            size += chunk.len();
            if size > DRAINED_BODY {
                break;
            }
        }
    };
    // If it does not come at once, a new connection is cheaper than waiting.
    let _ = timeout(Duration::from_millis(200), read).await;
}

impl Api for Client {
    type Session = PollSession;

    async fn begin(&self) -> Result<PollSession, End> {
        self.interner.forget_unused();
        match self.read_key().await {
            Ok(secret) => Ok(PollSession {
                client: self.clone(),
                allowance: Allowance::new(),
                key: tokio::sync::Mutex::new(Key { secret, generation: 0 }),
            }),
            Err(end) => Err(end),
        }
    }

    fn held_for(&self) -> Option<Duration> {
        self.pacer.held_until().map(|until| until - Instant::now())
    }
}

/// A key, and how many came before it in this poll.
#[derive(Debug, Clone)]
struct Key {
    secret: SecretString,
    generation: u32,
}

/// One poll of the API.
#[derive(Debug)]
pub struct PollSession {
    client: Client,
    allowance: Allowance,
    key: tokio::sync::Mutex<Key>,
}

impl PollSession {
    /// Asks for `url` until there is an answer, or none can be had in this poll. `repository` is the one asked about,
    /// `None` for the listing.
    async fn get(
        &self,
        operation: Operation,
        repository: Option<RepositoryId>,
        url: &Url,
    ) -> Result<Vec<u8>, ApiError> {
        let client = &self.client;
        let mut attempt = 1;
        let mut has_new_key = false;
        let mut failure = None;
        loop {
            let ready = async {
                client.pacer.turn(client.spacing).await;
                // Waits while another request that was refused asks for a newer key.
                self.key.lock().await.clone()
            };
            let Some(key) = self.allowance.unless_ended(ready).await else {
                return Err(failure.map_or(ApiError::NotAsked, ApiError::Failed));
            };
            if failure.is_some() {
                client.instruments.api_retry(operation);
            } else {
                self.allowance.requested();
            }
            let refusal = match client.send(operation, url, &key.secret).await {
                Ok(body) => {
                    self.allowance.answered();
                    return Ok(body);
                }
                Err(refusal) => refusal.of(operation),
            };
            client.instruments.api_failure(operation, refusal.reason);
            self.allowance.refused(repository, &refusal, &client.pacer);
            let refused = refusal.failure(url);
            if refusal.reason == Reason::Unauthorized {
                if !has_new_key && self.has_newer_key(&key).await {
                    has_new_key = true;
                    failure = Some(refused);
                    continue;
                }
                self.allowance.end("the API refuses the key (status 401)", refusal.hint);
                return Err(ApiError::Failed(refused));
            }
            if !refusal.retry || attempt >= client.max_attempts || !self.allowance.take_retry() {
                return Err(ApiError::Failed(refused));
            }
            tracing::debug!(url = %url, attempt, reason = refusal.reason.label(), "a request failed; trying again");
            if self.allowance.unless_ended(sleep(pacing::backoff(attempt))).await.is_none() {
                return Err(ApiError::Failed(refused));
            }
            attempt += 1;
            failure = Some(refused);
        }
    }

    /// Whether there is another key than `refused`; reads the key file again if need be.
    async fn has_newer_key(&self, refused: &Key) -> bool {
        let mut key = self.key.lock().await;
        if key.generation > refused.generation {
            return true;
        }
        match self.client.read_key().await {
            Ok(secret) if secret.expose_secret() != refused.secret.expose_secret() => {
                tracing::info!("the API refused the key, and there is a new one: trying that");
                *key = Key { secret, generation: refused.generation + 1 };
                true
            }
            Ok(_) => false,
            Err(End { what, hint }) => {
                self.allowance.end(format!("the API refuses the key (status 401), and {what}"), hint);
                false
            }
        }
    }

    /// Decodes an answer, counts what is bad in it, and tells a body that is not what it should be. Right here, however
    /// large it is: polls have a thread of their own, so that no scrape waits.
    fn decode<T>(
        &self,
        operation: Operation,
        url: &Url,
        body: &[u8],
        decode: impl FnOnce(&[u8]) -> Result<T, serde_json::Error>,
        flaws: impl FnOnce(&T) -> &[Flaw],
    ) -> Result<T, ApiError> {
        let instruments = &self.client.instruments;
        match decode(body) {
            Ok(answer) => {
                for flaw in flaws(&answer) {
                    instruments.invalid_entry(operation, flaw.defect);
                }
                Ok(answer)
            }
            Err(error) => {
                instruments.api_failure(operation, Reason::Decode);
                // The error's own text may quote the body: only its place is told.
                let how = match (error.line(), error.column()) {
                    (0, _) => "the body is not UTF-8".to_owned(),
                    (line, column) => format!("the body is no JSON array (line {line}, column {column})"),
                };
                Err(ApiError::Failed(Refusal::new(Reason::Decode, how).failure(url)))
            }
        }
    }
}

impl Session for PollSession {
    async fn list_repositories(&self, after: Option<RepositoryId>) -> Result<Page, ApiError> {
        let mut url = self.client.repositories.clone();
        url.query_pairs_mut().append_pair("limit", &self.client.page_size.to_string());
        if let Some(after) = after {
            url.query_pairs_mut().append_pair("after", &after.to_string());
        }
        let body = self.get(Operation::ListRepositories, None, &url).await?;
        let page =
            self.decode(Operation::ListRepositories, &url, &body, wire::decode_page, |page| page.flaws.as_slice())?;
        if !page.follows(after) {
            self.client.instruments.api_failure(Operation::ListRepositories, Reason::Cursor);
        }
        Ok(page)
    }

    async fn list_languages(&self, id: RepositoryId) -> Result<LanguageList, ApiError> {
        let mut url = self.client.repositories.clone();
        url.set_path(&format!("{}/{id}/languages", url.path()));
        let body = self.get(Operation::ListLanguages, Some(id), &url).await?;
        let decode = |body: &[u8]| wire::decode_languages(body, &self.client.interner);
        self.decode(Operation::ListLanguages, &url, &body, decode, |list| list.flaws.as_slice())
    }

    fn ended(&self) -> Option<End> {
        self.allowance.ended()
    }
}
