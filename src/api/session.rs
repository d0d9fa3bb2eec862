//! The session of one poll: its key, its connections and its requests.

use super::{
    Client, Session,
    error::RequestFailure,
    retry_after,
    tls::Connector,
    wire::{self, Absent, DecodeError},
};
use crate::{
    domain::{LanguageList, Operation, Page, Reason, RepositoryId},
    metrics::instruments::definition,
    support::{clock::Timestamp, hint::SetupError, lock::lock},
};
use reqwest::{
    Response, StatusCode, Url,
    header::{ACCEPT, CONTENT_ENCODING},
};
use secrecy::{ExposeSecret, SecretString};
use std::{
    sync::Mutex,
    time::{Duration, SystemTime},
};
use tokio::time::{Instant, timeout, timeout_at};

/// The maximum size in bytes of the languages of a repository: thousands of languages. The requests
/// for them run concurrently, so that the memory is bounded by `api.concurrency` times this.
const LARGEST_LANGUAGES: u64 = 1 << 20;

/// The maximum number of chunks, of some 16 KiB each, to read from the body of an error response.
const DRAINED_CHUNKS: u32 = 16;

/// A session of a [`Client`]: the requests of one poll.
#[derive(Debug)]
pub struct PollSession {
    client: Client,
    key: SecretString,
    connector: Connector,
    /// Guards the current connections; never locked across an await.
    http: Mutex<reqwest::Client>,
}

impl PollSession {
    pub fn new(
        client: Client,
        key: SecretString,
        connector: Connector,
    ) -> Result<Self, SetupError> {
        let http = Mutex::new(connector.client()?);
        Ok(Self {
            client,
            key,
            connector,
            http,
        })
    }

    /// Sends one request, once it has its permit, and decodes the response.
    async fn get<T>(
        &self,
        operation: Operation,
        repository: Option<RepositoryId>,
        url: Url,
        decode: impl Fn(&[u8], Option<Timestamp>) -> Result<T, DecodeError>,
    ) -> Result<T, RequestFailure> {
        let request = async {
            let result = self.send(operation, url.clone(), decode).await;
            result.map_err(|failure| failure.of(operation, &url))
        };
        let result = self.client.pace.run(repository, request).await;
        if let Err(failure) = &result {
            let instruments = &self.client.instruments;
            instruments.count(
                &definition::API_REQUEST_FAILURES,
                &[operation.label(), failure.reason.label()],
            );
            // Other idle connections may be as dead as the one that timed out. If no new client can
            // be built, the next request uses the old one.
            if failure.reason == Reason::Timeout
                && let Ok(http) = self.connector.client()
            {
                *lock(&self.http) = http;
            }
        }
        result
    }

    async fn send<T>(
        &self,
        operation: Operation,
        url: Url,
        decode: impl Fn(&[u8], Option<Timestamp>) -> Result<T, DecodeError>,
    ) -> Result<T, RequestFailure> {
        let started = Instant::now();
        let http = lock(&self.http).clone();
        let request = http
            .get(url)
            .header(ACCEPT, "application/json")
            .bearer_auth(self.key.expose_secret());
        let limit = match operation {
            Operation::ListRepositories => self.client.config.max_response_size,
            Operation::ListLanguages => LARGEST_LANGUAGES,
        };
        let deadline = started + self.client.config.timeout;
        let (status, result) = match before(deadline, request.send()).await {
            Ok(response) => (
                Some(response.status().as_u16()),
                self.receive(response, deadline, limit, decode).await,
            ),
            Err(failure) => (None, Err(failure)),
        };
        let took = started.elapsed();
        self.client.instruments.api_request(operation, status, took);
        let failure = result.as_ref().err().map(|failure| failure.reason.label());
        let seconds = took.as_secs_f64();
        tracing::debug!(
            operation = operation.label(),
            status,
            duration = format_args!("{seconds:.3}s"),
            failure,
            "request"
        );
        result
    }

    /// Reads and decodes a response.
    ///
    /// Decoding blocks this thread, even for a large body. Polls have a thread of their own, so
    /// that no scrape waits.
    async fn receive<T>(
        &self,
        mut response: Response,
        deadline: Instant,
        limit: u64,
        decode: impl Fn(&[u8], Option<Timestamp>) -> Result<T, DecodeError>,
    ) -> Result<T, RequestFailure> {
        let config = &self.client.config;
        let status = response.status();
        if status != StatusCode::OK {
            // A date is measured against the response's own Date. This clock stands in for a
            // missing one: the poller's own offset comes from that header, too.
            let wait = retry_after::wait(response.headers(), SystemTime::now());
            drain(response).await;
            let wait = wait.map(|wait| wait.min(config.max_retry_after));
            return Err(RequestFailure::status(status, wait));
        }
        let sent_at = retry_after::date(response.headers());
        // reqwest removes the header of what it decompresses.
        let encoding = response.headers().get(CONTENT_ENCODING);
        if encoding.is_some_and(|name| !name.as_bytes().eq_ignore_ascii_case(b"identity")) {
            return Err(RequestFailure::encoding());
        }
        let mut body = Vec::new();
        while let Some(chunk) = before(deadline, response.chunk()).await? {
            if (body.len() + chunk.len()) as u64 > limit {
                return Err(RequestFailure::too_large(limit));
            }
            body.extend_from_slice(&chunk);
        }
        decode(&body, sent_at).map_err(|error| RequestFailure::decode(&error))
    }

    /// Returns the meaning of an absent field.
    fn absent(&self) -> Absent {
        if self.client.config.omits_zeros {
            Absent::Zero
        } else {
            Absent::Unknown
        }
    }
}

impl Session for PollSession {
    async fn list_repositories(&self, after: Option<RepositoryId>) -> Result<Page, RequestFailure> {
        let mut url = self.client.repositories.clone();
        url.query_pairs_mut()
            .append_pair("limit", &self.client.config.page_size.to_string());
        if let Some(after) = after {
            url.query_pairs_mut()
                .append_pair("after", &after.to_string());
        }
        let decode = |body: &[u8], sent_at| {
            let page = wire::decode_page(body, self.absent())?;
            Ok(Page { sent_at, ..page })
        };
        self.get(Operation::ListRepositories, None, url, decode)
            .await
    }

    async fn list_languages(&self, id: RepositoryId) -> Result<LanguageList, RequestFailure> {
        let mut url = self.client.repositories.clone();
        url.set_path(&format!("{}/{id}/languages", url.path()));
        let decode = |body: &[u8], _| wire::decode_languages(body, self.absent());
        self.get(Operation::ListLanguages, Some(id), url, decode)
            .await
    }
}

/// Waits for a part of a response until `deadline`.
async fn before<T>(
    deadline: Instant,
    part: impl Future<Output = reqwest::Result<T>>,
) -> Result<T, RequestFailure> {
    match timeout_at(deadline, part).await {
        Ok(part) => part.map_err(|error| RequestFailure::transport(&error)),
        Err(_) => Err(RequestFailure::new(
            Reason::Timeout,
            "no complete answer in time",
        )),
    }
}

/// Reads the rest of an unused response if it is short, so that the next request can reuse the
/// connection.
async fn drain(mut response: Response) {
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
