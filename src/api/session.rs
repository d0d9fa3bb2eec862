//! The session of one poll: it repeats each request until the API answers, or the poll has to give
//! up.

use crate::api::{
    ApiError, Attempts, Client, Session,
    budget::Budget,
    error::RequestError,
    pacing::Refusal,
    retry,
    tls::{BuildError, Connector},
    wire::{self, Absent, DecodeError},
};
use crate::{
    config::KeyError,
    domain::{LanguageList, Operation, Page, PollFailure, Reason, RepositoryId},
    support::{clock::Timestamp, lock::lock},
};
use reqwest::{StatusCode, Url};
use secrecy::{ExposeSecret, SecretString};
use std::{
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::{
    sync::RwLock,
    time::{Instant, sleep},
};

/// The longest hold that a poll waits for. A longer hold ends the poll.
const LONGEST_HOLD_WITHIN_POLL: Duration = Duration::from_secs(5 * 60);

const REFUSED: &str = "the API refuses the key (status 401 Unauthorized)";

/// The number of failures in a row after which a 503 counts as an outage, not as a refusal for the
/// pace.
const MOST_FAILURES_IN_ROW: u32 = 10;

/// The number of 503s of one request that count as refusals for the pace.
const MOST_UNAVAILABLE: u32 = 2;

/// One poll of the API.
#[derive(Debug)]
pub struct PollSession {
    client: Client,
    connections: Connections,
    budget: Budget,
    /// The number of failures since the last success; `None` before the first success. Never locked
    /// across an await.
    since_success: Mutex<Option<u32>>,
    /// The number of answered requests.
    answers: AtomicU64,
    /// The key. A request that reads a newer one holds the lock for writing, and all others wait.
    /// With a mutex, requests would exclude each other, and `permit` would mistake one that copies
    /// the key for one that reads a newer key.
    key: RwLock<SecretString>,
}

/// The connections of a poll. A timeout replaces them all, because other idle connections may be as
/// dead as the one that timed out.
#[derive(Debug)]
pub struct Connections {
    connector: Connector,
    /// Never locked across an await.
    current: Mutex<HttpClient>,
}

/// An HTTP client, with the number of clients before it in this poll.
#[derive(Debug, Clone)]
struct HttpClient {
    http: reqwest::Client,
    number: u32,
}

impl Connections {
    pub fn new(connector: Connector) -> Result<Self, BuildError> {
        let http = connector.client()?;
        let current = Mutex::new(HttpClient { http, number: 0 });
        Ok(Self { connector, current })
    }

    fn current(&self) -> HttpClient {
        lock(&self.current).clone()
    }

    /// Replaces the client, unless another request has already replaced client number `used`.
    fn renew(&self, used: u32) {
        let mut current = lock(&self.current);
        // If no new client can be built, the next request uses the old one.
        if current.number == used
            && let Ok(http) = self.connector.client()
        {
            current.http = http;
            current.number += 1;
        }
    }
}

/// The permit to send one request now.
#[derive(Debug, Clone)]
pub struct Permit {
    pub key: SecretString,
    pub http: reqwest::Client,
    /// The number of the HTTP client.
    client: u32,
    at: Instant,
}

/// The requests so far for one page or one repository.
#[derive(Debug, Default)]
struct Tries {
    requests: u32,
    /// The number of requests that `api.max_attempts` does not count.
    free: u32,
    /// The number of requests that failed as in an outage.
    unreachable: u32,
    has_new_key: bool,
    has_new_connection: bool,
    /// The number of 503s that counted as refusals for the pace.
    unavailable: u32,
    /// The number of answers to all requests when this one was first refused at the lowest pace.
    answers_before: Option<u64>,
}

impl Tries {
    fn attempt(&self) -> u32 {
        self.requests - self.free
    }

    /// Returns whether a refusal that is not about the pace is the repository's own failure.
    fn is_own(&self, operation: Operation, status: Option<StatusCode>) -> bool {
        let is_refusal = match status {
            Some(StatusCode::TOO_MANY_REQUESTS) => true,
            Some(StatusCode::SERVICE_UNAVAILABLE) => self.unavailable > 0,
            _ => false,
        };
        operation == Operation::ListLanguages && is_refusal
    }
}

impl PollSession {
    pub fn new(client: Client, key: SecretString, connections: Connections) -> Self {
        Self {
            client,
            connections,
            budget: Budget::default(),
            since_success: Mutex::default(),
            answers: AtomicU64::default(),
            key: RwLock::new(key),
        }
    }

    /// Waits for the permit of a request.
    async fn permit(&self) -> Permit {
        loop {
            // Requests wait for the key before their permit. After it, they would all be sent at
            // once.
            drop(self.key.read().await);
            let at = self.client.pacer.permit().await;
            if let Ok(key) = self.key.try_read() {
                let HttpClient { http, number } = self.connections.current();
                return Permit {
                    key: key.clone(),
                    http,
                    client: number,
                    at,
                };
            }
        }
    }

    /// Requests `url` until `decode` accepts a response, or the poll has to give up.
    async fn get<T>(
        &self,
        operation: Operation,
        attempts: Attempts,
        url: &Url,
        decode: impl Fn(&[u8], Option<Timestamp>) -> Result<T, DecodeError>,
    ) -> Result<T, ApiError> {
        let (client, decode) = (&self.client, &decode);
        let send = |permit, attempt| async move {
            client.send(operation, url, &permit, attempt, decode).await
        };
        self.pursue(operation, attempts, url, send).await
    }

    #[cfg(test)]
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Repeats a request until it succeeds, or the poll has to give up.
    pub async fn pursue<T, F: Future<Output = Result<T, RequestError>>>(
        &self,
        operation: Operation,
        attempts: Attempts,
        url: &Url,
        send: impl Fn(Permit, u32) -> F,
    ) -> Result<T, ApiError> {
        let max_attempts = match attempts {
            Attempts::One => 1,
            Attempts::Several => self.client.config.max_attempts,
        };
        let mut tries = Tries::default();
        loop {
            let permit = self.budget.unless_ended(self.permit()).await?;
            self.count_request(operation, &mut tries);
            let attempt = tries.attempt();
            let error = match send(permit.clone(), tries.requests).await {
                Ok(answer) => {
                    self.succeeded();
                    return Ok(answer);
                }
                Err(error) => error.of(operation),
            };
            self.judge(operation, &error)?;
            tries.unreachable += u32::from(error.suggests_outage());
            if error.reason == Reason::Unauthorized {
                if tries.has_new_key || !self.has_newer_key(&permit.key).await? {
                    let reason = PollFailure::Unauthorized;
                    return Err(self.budget.end_poll(reason, REFUSED, error.hint));
                }
                tries.has_new_key = true;
                tries.free += 1;
                continue;
            }
            if error.reason == Reason::Timeout {
                self.connections.renew(permit.client);
            }
            if self.is_about_pace((operation, attempts), &error, &permit, &mut tries)?
                || self.is_about_connection(&error, &permit, &mut tries)
            {
                tries.free += 1;
                continue;
            }
            if tries.is_own(operation, error.status)
                || !error.retry
                || attempt >= max_attempts
                || !self.budget.take_retry()
            {
                return Err(error.into_api_error(url, tries.unreachable));
            }
            let wait = sleep(retry::backoff(attempt));
            self.budget.unless_ended(wait).await?;
        }
    }

    fn count_request(&self, operation: Operation, tries: &mut Tries) {
        if tries.requests == 0 {
            self.budget.count_request();
        } else {
            self.client.instruments.api_retry(operation);
        }
        tries.requests += 1;
    }

    fn succeeded(&self) {
        self.client.pacer.answered();
        *lock(&self.since_success) = Some(0);
        self.answers.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns whether the API refused a request for its pace: with a 429, or with a 503 while
    /// other requests succeed. Slows all requests down if so; the request may then be sent again.
    ///
    /// A request that is refused whatever its pace would slow down all others for hours. A 429 is
    /// therefore the failure of the repository if its last read failed too, or if other requests
    /// were answered at the lowest pace.
    fn is_about_pace(
        &self,
        (operation, attempts): (Operation, Attempts),
        error: &RequestError,
        permit: &Permit,
        tries: &mut Tries,
    ) -> Result<bool, ApiError> {
        let others_succeed = match *lock(&self.since_success) {
            Some(failures) => failures <= MOST_FAILURES_IN_ROW,
            None => false,
        };
        let Some(status) = error.status else {
            return Ok(false);
        };
        let is_429 = status == StatusCode::TOO_MANY_REQUESTS;
        let may_be_own = is_429 && operation == Operation::ListLanguages;
        if may_be_own && attempts == Attempts::One && others_succeed {
            return Ok(false);
        }
        match status {
            _ if is_429 => {}
            StatusCode::SERVICE_UNAVAILABLE
                if others_succeed && tries.unavailable < MOST_UNAVAILABLE =>
            {
                tries.unavailable += 1;
            }
            _ => return Ok(false),
        }
        match self.client.pacer.refused(permit.at, status.as_u16()) {
            Refusal::Lowest if may_be_own => {
                let answers = self.answers.load(Ordering::Relaxed);
                Ok(*tries.answers_before.get_or_insert(answers) == answers)
            }
            Refusal::Slowed | Refusal::Lowest => Ok(true),
            Refusal::Hopeless => {
                let what = format!("the API refuses even one request in 10 s ({})", error.how);
                Err(self.budget.end_poll(PollFailure::Held, what, error.hint))
            }
        }
    }

    /// Returns whether a request failed because the server had closed its idle connection. The
    /// request may then be sent again on a new connection.
    fn is_about_connection(
        &self,
        error: &RequestError,
        permit: &Permit,
        tries: &mut Tries,
    ) -> bool {
        // Until the first success, a closed connection is a failure of the API.
        let may_have_been_idle = lock(&self.since_success).is_some();
        if !error.is_closed_early || tries.has_new_connection || !may_have_been_idle {
            return false;
        }
        tries.has_new_connection = true;
        self.connections.renew(permit.client);
        true
    }

    /// Counts the failure of one request, and ends the poll if it concerns all requests.
    fn judge(&self, operation: Operation, error: &RequestError) -> Result<(), ApiError> {
        let client = &self.client;
        client.instruments.api_failure(operation, error.reason);
        if let Some(failures) = &mut *lock(&self.since_success) {
            *failures += 1;
        }
        if let Some(wait) = error.retry_after {
            let hold = wait.min(client.config.max_retry_after);
            client.pacer.hold(hold);
            if hold > LONGEST_HOLD_WITHIN_POLL {
                let hold = humantime::format_duration(Duration::from_secs(hold.as_secs()));
                let what = format!("Retry-After holds all requests for {hold} ({})", error.how);
                return Err(self.budget.end_poll(PollFailure::Held, what, error.hint));
            }
        }
        if error.reason == Reason::Forbidden && operation == Operation::ListRepositories {
            let what = "the API forbids the listing (status 403)";
            return Err(self
                .budget
                .end_poll(PollFailure::Unauthorized, what, error.hint));
        }
        Ok(())
    }

    /// Returns the meaning of an absent field.
    fn absent(&self) -> Absent {
        if self.client.config.omits_zeros {
            Absent::Zero
        } else {
            Absent::Unknown
        }
    }

    /// Returns whether the key differs from `refused` by now. Reads the key file again if
    /// necessary.
    async fn has_newer_key(&self, refused: &SecretString) -> Result<bool, ApiError> {
        let is_refused = |key: &SecretString| key.expose_secret() == refused.expose_secret();
        // A disk that hangs ends the poll for all requests, which must not wait for it in turn.
        let mut key = self.budget.unless_ended(self.key.write()).await?;
        if !is_refused(&key) {
            return Ok(true);
        }
        match self.client.key.read(self.client.config.timeout).await {
            Ok(read) if is_refused(&read) => Ok(false),
            Ok(read) => {
                tracing::info!("the API refused the key; trying a newer one");
                *key = read;
                Ok(true)
            }
            Err(KeyError { what, hint }) => {
                let what = format!("{REFUSED}, and {what}");
                Err(self.budget.end_poll(PollFailure::Unauthorized, what, hint))
            }
        }
    }
}

impl Session for PollSession {
    async fn list_repositories(&self, after: Option<RepositoryId>) -> Result<Page, ApiError> {
        let operation = Operation::ListRepositories;
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
        self.get(operation, Attempts::Several, &url, decode).await
    }

    async fn list_languages(
        &self,
        id: RepositoryId,
        attempts: Attempts,
    ) -> Result<LanguageList, ApiError> {
        let operation = Operation::ListLanguages;
        let mut url = self.client.repositories.clone();
        url.set_path(&format!("{}/{id}/languages", url.path()));
        let decode =
            |body: &[u8], _| wire::decode_languages(body, &self.client.interner, self.absent());
        self.get(operation, attempts, &url, decode).await
    }
}

#[cfg(test)]
mod tests;
