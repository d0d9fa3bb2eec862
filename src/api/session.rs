//! The session of one poll: its key, its connections and its requests.

use super::{Client, Session, error::RequestFailure, retry_after, tls, wire};
use crate::{
    domain::{LanguageList, Operation, Page, Reason, RepositoryId},
    support::{hint::SetupError, lock::lock},
};
use reqwest::{
    Response, StatusCode, Url,
    header::{ACCEPT, CONTENT_ENCODING, HeaderMap},
};
use rustls::ClientConfig;
use secrecy::{ExposeSecret, SecretString};
use std::{sync::Mutex, time::Duration};
use tokio::time::{Instant, timeout};

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
    tls: ClientConfig,
    /// Guards the current connections; never locked across an await.
    http: Mutex<reqwest::Client>,
}

impl PollSession {
    pub fn new(client: Client, key: SecretString, tls: ClientConfig) -> Result<Self, SetupError> {
        let http = Mutex::new(tls::http_client(&client.config, &tls)?);
        Ok(Self {
            client,
            key,
            tls,
            http,
        })
    }

    /// Sends one request, once it has its permit, and decodes the response.
    async fn get<T>(
        &self,
        operation: Operation,
        repository: Option<RepositoryId>,
        url: Url,
        decode: impl Fn(&[u8], &HeaderMap) -> Result<T, RequestFailure>,
    ) -> Result<T, RequestFailure> {
        let client = &self.client;
        let request = async {
            let (started, mut status) = (Instant::now(), None);
            let result = self.send(operation, &url, &mut status, decode).await;
            let took = started.elapsed();
            client.instruments.api_request(operation, status, took);
            let failure = result.as_ref().err().map(|failure| failure.reason.label());
            let seconds = took.as_secs_f64();
            tracing::debug!(
                operation = operation.label(),
                status,
                duration = format_args!("{seconds:.3}s"),
                failure,
                "request"
            );
            result.map_err(|failure| failure.of(operation, &url))
        };
        let result = client.pace.run(repository, request).await;
        if let Err(failure) = &result {
            let failures = (client.instruments).api_request_failures(operation, failure.reason);
            failures.inc();
            // Other idle connections may be as dead as the one that timed out. If no new client can
            // be built, the next request uses the old one.
            if failure.reason == Reason::Timeout
                && let Ok(http) = tls::http_client(&client.config, &self.tls)
            {
                *lock(&self.http) = http;
            }
        }
        result
    }

    /// Sends a request, reads the response and decodes it. Sets its `status` as soon as it is
    /// known.
    ///
    /// Decoding blocks this thread, even for a large body. Polls have a thread of their own, so
    /// that no scrape waits.
    async fn send<T>(
        &self,
        operation: Operation,
        url: &Url,
        status: &mut Option<u16>,
        decode: impl Fn(&[u8], &HeaderMap) -> Result<T, RequestFailure>,
    ) -> Result<T, RequestFailure> {
        let config = &self.client.config;
        let http = lock(&self.http).clone();
        let request = http
            .get(url.clone())
            .header(ACCEPT, "application/json")
            .bearer_auth(self.key.expose_secret())
            .timeout(config.timeout);
        let mut response = request.send().await?;
        *status = Some(response.status().as_u16());
        if response.status() != StatusCode::OK {
            let wait = retry_after::wait(response.headers());
            let wait = wait.map(|wait| wait.min(config.max_retry_after));
            let status = response.status();
            drain(response).await;
            return Err(RequestFailure::status(status, wait));
        }
        // reqwest removes the header of what it decompresses.
        let encoding = response.headers().get(CONTENT_ENCODING);
        if encoding.is_some_and(|name| !name.as_bytes().eq_ignore_ascii_case(b"identity")) {
            let what = "the body has a Content-Encoding that was not asked for";
            return Err(RequestFailure {
                hint: "let the API, or the proxy in front of it, obey Accept-Encoding: gzip",
                ..RequestFailure::new(Reason::Decode, what)
            });
        }
        let limit = match operation {
            Operation::ListRepositories => config.max_response_size,
            Operation::ListLanguages => LARGEST_LANGUAGES,
        };
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await? {
            if (body.len() + chunk.len()) as u64 > limit {
                let what = format!("the body is larger than {limit} bytes");
                return Err(RequestFailure::new(Reason::TooLarge, what));
            }
            body.extend_from_slice(&chunk);
        }
        decode(&body, response.headers())
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
        let decode = |body: &[u8], headers: &HeaderMap| {
            let page = wire::decode_page(body, self.client.config.omits_zeros)?;
            let sent_at = retry_after::date(headers);
            Ok(Page { sent_at, ..page })
        };
        self.get(Operation::ListRepositories, None, url, decode)
            .await
    }

    async fn list_languages(&self, id: RepositoryId) -> Result<LanguageList, RequestFailure> {
        let mut url = self.client.repositories.clone();
        url.set_path(&format!("{}/{id}/languages", url.path()));
        let omits_zeros = self.client.config.omits_zeros;
        let decode = |body: &[u8], _: &HeaderMap| wire::decode_languages(body, omits_zeros);
        self.get(Operation::ListLanguages, Some(id), url, decode)
            .await
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
