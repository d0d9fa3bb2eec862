//! The session of one poll: its key, its connections and its requests.

use super::{
    Client, Session,
    error::{RequestFailure, refused},
    proxy, retry_after, tls, wire,
};
use crate::{
    domain::{LanguageList, Listing, Operation, Reason, RepositoryId},
    metrics::instruments::{OfOperation, OfReason, OfStatus},
    support::lock::lock,
};
use flate2::read::MultiGzDecoder;
use reqwest::{
    Response, StatusCode, Url,
    header::{ACCEPT, ACCEPT_ENCODING, CONTENT_ENCODING, HeaderValue},
};
use rustls::ClientConfig;
use secrecy::{ExposeSecret, SecretString};
use std::{
    io::{ErrorKind, Read as _},
    sync::Mutex,
    time::Duration,
};
use tokio::time::{Instant, timeout};
use tracing::{Instrument as _, debug_span};

/// The maximum size in bytes of a page of the listing.
const LARGEST_PAGE: usize = 16 << 20;

/// The maximum size in bytes of the languages of a repository: thousands of languages. The requests
/// for them run concurrently, so that the memory is bounded by `api.concurrency` times this.
const LARGEST_LANGUAGES: usize = 1 << 20;

/// The maximum size in bytes of the body of a refusal, and the time to wait for it.
const LARGEST_REFUSAL: usize = 64 << 10;
const LONGEST_REFUSAL: Duration = Duration::from_millis(200);

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
    pub fn new(client: Client, key: SecretString, tls: ClientConfig) -> Self {
        let http = Mutex::new(tls::http_client(&client.config, &tls));
        Self {
            client,
            key,
            tls,
            http,
        }
    }

    /// Sends one request, which has its permit, and decodes the response. Requests for a page of
    /// the listing are for no `repository`.
    async fn get<T>(
        &self,
        repository: Option<RepositoryId>,
        url: Url,
        decode: fn(&[u8], bool) -> Result<T, RequestFailure>,
    ) -> Result<T, RequestFailure> {
        let (client, started) = (&self.client, Instant::now());
        let (operation, limit) = match repository {
            None => (Operation::ListRepositories, LARGEST_PAGE),
            Some(_) => (Operation::ListLanguages, LARGEST_LANGUAGES),
        };
        let span = debug_span!("request", operation = operation.label(), path = url.path());
        let request = self.send(operation, &url, limit, decode);
        let result = request.instrument(span.clone()).await;
        let failure = result.as_ref().err();
        client.pace.answered(repository, failure);
        let duration = started.elapsed().as_secs_f64();
        client
            .instruments
            .api_request_duration
            .get_or_create(&OfOperation { operation })
            .observe(duration);
        let failure = failure.map(|failure| &*failure.what);
        span.in_scope(|| tracing::debug!(duration, failure, "request"));
        result.map_err(|mut failure| {
            let reason = failure.reason.label();
            let failures = &client.instruments.api_request_failures;
            failures
                .get_or_create(&OfReason { operation, reason })
                .inc();
            if failure.reason == Reason::Timeout {
                // Other idle connections may be as dead as the one that timed out.
                *lock(&self.http) = tls::http_client(&client.config, &self.tls);
            }
            if let Some(proxy) = &client.proxy {
                proxy::blame(proxy, &mut failure);
            }
            failure.what = format!("GET {url}: {}", failure.what);
            failure
        })
    }

    /// Sends a request, reads the response and decodes it.
    ///
    /// Decoding blocks this thread, even for a large body. Polls have a thread of their own, so
    /// that no scrape waits.
    async fn send<T>(
        &self,
        operation: Operation,
        url: &Url,
        limit: usize,
        decode: fn(&[u8], bool) -> Result<T, RequestFailure>,
    ) -> Result<T, RequestFailure> {
        let config = &self.client.config;
        let instruments = &self.client.instruments;
        let http = lock(&self.http).clone();
        let response = http
            .get(url.clone())
            .header(ACCEPT, "application/json")
            .header(ACCEPT_ENCODING, "gzip")
            .bearer_auth(self.key.expose_secret())
            .timeout(*config.timeout)
            .send()
            .await;
        let code = response.as_ref().map_or_else(
            |_| "error".to_owned(),
            |response| response.status().as_str().to_owned(),
        );
        let requests = &instruments.api_requests;
        requests.get_or_create(&OfStatus { operation, code }).inc();
        let mut response = response?;
        let now = self.client.clock.now();
        if let Some(compared) = retry_after::compare_clocks(response.headers(), now) {
            instruments.facts().clock_wrong = compared.err();
        }
        let status = response.status();
        if !status.is_success() {
            let body = timeout(LONGEST_REFUSAL, body_of(&mut response, LARGEST_REFUSAL)).await;
            let body = body.ok().and_then(Result::ok).unwrap_or_default();
            let (headers, key) = (response.headers(), self.key.expose_secret());
            return Err(refused(url, status, headers, &body, key));
        }
        let body = body_of(&mut response, limit).await?;
        let encoding = response.headers().get(CONTENT_ENCODING);
        let json = match status {
            StatusCode::NO_CONTENT => b"[]".to_vec(),
            _ => inflated(encoding, body, limit)?,
        };
        decode(&json, *config.omits_zeros)
    }
}

/// Reads a body of at most `limit` bytes.
async fn body_of(response: &mut Response, limit: usize) -> Result<Vec<u8>, RequestFailure> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        body.extend_from_slice(&chunk);
        if body.len() > limit {
            return Err(too_large(limit));
        }
    }
    Ok(body)
}

fn too_large(limit: usize) -> RequestFailure {
    let what = format!("the body is larger than {limit} bytes");
    RequestFailure::new(Reason::TooLarge, what)
}

/// Inflates a body, which may consist of several gzip members, to at most `limit` bytes.
fn inflated(
    encoding: Option<&HeaderValue>,
    body: Vec<u8>,
    limit: usize,
) -> Result<Vec<u8>, RequestFailure> {
    let encoding = encoding.map_or(&b"identity"[..], HeaderValue::as_bytes);
    match &*encoding.to_ascii_lowercase() {
        b"identity" | b"" => return Ok(body),
        b"gzip" | b"x-gzip" => {}
        _ => {
            let what = "the body has a Content-Encoding other than gzip";
            return Err(RequestFailure::new(Reason::Decode, what)
                .hint("let the API, or the proxy in front of it, obey Accept-Encoding: gzip"));
        }
    }
    let mut inflated = Vec::new();
    let gzip = MultiGzDecoder::new(&*body);
    match gzip.take(limit as u64 + 1).read_to_end(&mut inflated) {
        Ok(size) if size > limit => Err(too_large(limit)),
        Ok(_) => Ok(inflated),
        Err(error) => {
            let reason = match error.kind() {
                ErrorKind::UnexpectedEof => Reason::Truncated,
                _ => Reason::NotJson,
            };
            let what = "the body breaks off, or is not the gzip that its Content-Encoding says";
            Err(RequestFailure::new(reason, what))
        }
    }
}

impl Session for PollSession {
    async fn list_repositories(
        &self,
        after: Option<RepositoryId>,
    ) -> Result<Listing, RequestFailure> {
        let mut url = self.client.repositories.clone();
        url.query_pairs_mut()
            .append_pair("limit", &self.client.config.page_size.to_string())
            .extend_pairs(after.map(|after| ("after", after.to_string())));
        self.get(None, url, wire::decode_page).await
    }

    async fn list_languages(&self, id: RepositoryId) -> Result<LanguageList, RequestFailure> {
        let mut url = self.client.repositories.clone();
        url.set_path(&format!("{}/{id}/languages", url.path()));
        self.get(Some(id), url, wire::decode_languages).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{Compression, write::GzEncoder};
    use std::io::Write as _;

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn inflate(encoding: &'static str, body: &[u8]) -> Result<Vec<u8>, Reason> {
        let encoding = HeaderValue::from_static(encoding);
        inflated(Some(&encoding), body.to_vec(), 8).map_err(|failure| failure.reason)
    }

    #[test]
    fn gzip_comes_in_members_and_under_any_of_its_names() {
        let members = [gzip(b"[1,"), gzip(b"2]")].concat();
        for name in ["gzip", "GZIP", "x-gzip"] {
            assert_eq!(inflate(name, &members), Ok(b"[1,2]".to_vec()), "{name}");
        }
        for name in ["IDENTITY", ""] {
            assert_eq!(inflate(name, b"[]"), Ok(b"[]".to_vec()), "{name}");
        }
        assert_eq!(inflate("br", b"[]"), Err(Reason::Decode));
        let cut = &members[..members.len() - 3];
        assert_eq!(inflate("gzip", cut), Err(Reason::Truncated));
        assert_eq!(inflate("gzip", b"no gzip at all"), Err(Reason::NotJson));
        assert_eq!(inflate("gzip", &gzip(&[0; 1000])), Err(Reason::TooLarge));
    }
}
