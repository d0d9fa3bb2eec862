//! One poll's requests: each is sent until it is answered, or until that is impossible in this poll.

use super::{ApiError, Client, Session, Stop, budget::Budget, error::RequestError, retry, wire};
use crate::model::{BadEntry, LanguageList, Operation, Page, PollFailure, Reason, RepositoryId};
use reqwest::Url;
use secrecy::{ExposeSecret, SecretString};
use tokio::{sync::Mutex, time::sleep};

/// A key, and how many preceded it in this poll.
#[derive(Debug, Clone)]
struct Key {
    secret: SecretString,
    generation: u32,
}

/// One poll of the API.
#[derive(Debug)]
pub struct PollSession {
    client: Client,
    budget: Budget,
    /// Locked while a newer one is read, for which other requests wait.
    key: Mutex<Key>,
}

impl PollSession {
    pub(super) fn new(client: Client, secret: SecretString) -> Self {
        Self {
            client,
            budget: Budget::default(),
            key: Mutex::new(Key {
                secret,
                generation: 0,
            }),
        }
    }

    /// Requests `url` until there is an answer, or until there can be none in this poll. `repository` is `None` for the
    /// listing.
    async fn get(
        &self,
        operation: Operation,
        repository: Option<RepositoryId>,
        url: &Url,
    ) -> Result<Vec<u8>, ApiError> {
        let client = &self.client;
        let mut attempt = 1;
        let mut has_new_key = false;
        let mut failed = None;
        loop {
            let ready = async {
                client.pacer.turn().await;
                self.key.lock().await.clone()
            };
            let Some(key) = self.budget.unless_stopped(ready).await else {
                return Err(failed.unwrap_or(ApiError::NotAsked));
            };
            if failed.is_some() {
                client.instruments.api_retry(operation);
            } else {
                self.budget.count_request();
            }
            let error = match client.send(operation, url, &key.secret, attempt).await {
                Ok(body) => {
                    self.budget.count_success();
                    return Ok(body);
                }
                Err(error) => error.of(operation),
            };
            self.count_failure(operation, repository, &error);
            let (reason, retry, hint) = (error.reason, error.retry, error.hint);
            let error = error.into_api_error(url);
            if reason == Reason::Unauthorized {
                if has_new_key || !self.has_newer_key(&key).await {
                    self.budget.stop(
                        PollFailure::Unauthorized,
                        "the API refuses the key (status 401)",
                        hint,
                    );
                    return Err(error);
                }
                has_new_key = true;
            } else {
                let may_retry = retry && attempt < client.max_attempts && self.budget.take_retry();
                if !may_retry
                    || self
                        .budget
                        .unless_stopped(sleep(retry::backoff(attempt)))
                        .await
                        .is_none()
                {
                    return Err(error);
                }
                attempt += 1;
            }
            failed = Some(error);
        }
    }

    fn count_failure(
        &self,
        operation: Operation,
        repository: Option<RepositoryId>,
        error: &RequestError,
    ) {
        let client = &self.client;
        client.instruments.api_failure(operation, error.reason);
        let hold = error
            .retry_after
            .map(|wait| wait.min(client.max_retry_after));
        if let Some(hold) = hold {
            client.pacer.hold(hold);
        }
        self.budget.count_failure(repository, error, hold);
    }

    /// Whether there is another key than `refused`; reads the key file again if necessary.
    async fn has_newer_key(&self, refused: &Key) -> bool {
        let mut key = self.key.lock().await;
        if key.generation > refused.generation {
            return true;
        }
        match self.client.key.read(self.client.timeout).await {
            Ok(secret) if secret.expose_secret() != refused.secret.expose_secret() => {
                tracing::info!("the API refused the key; trying a newer one");
                *key = Key {
                    secret,
                    generation: refused.generation + 1,
                };
                true
            }
            Ok(_) => false,
            Err(failure) => {
                let what = format!("the API refuses the key (status 401), and {}", failure.what);
                self.budget
                    .stop(PollFailure::Unauthorized, what, failure.hint);
                false
            }
        }
    }

    /// Decodes an answer and counts its defects. On this thread, however large it is: polls have their own, so no scrape
    /// waits.
    fn decode<T>(
        &self,
        operation: Operation,
        url: &Url,
        body: &[u8],
        decode: impl FnOnce(&[u8]) -> Result<T, serde_json::Error>,
        bad: impl FnOnce(&T) -> &[BadEntry],
    ) -> Result<T, ApiError> {
        let instruments = &self.client.instruments;
        match decode(body) {
            Ok(answer) => {
                for entry in bad(&answer) {
                    instruments.invalid_entry(operation, entry.defect);
                }
                Ok(answer)
            }
            Err(error) => {
                instruments.api_failure(operation, Reason::Decode);
                // The error's own text may quote the body, so only the place is shown.
                let how = match (error.line(), error.column()) {
                    (0, _) => "the body is not UTF-8".to_owned(),
                    (line, column) => {
                        format!("the body is not a JSON array (line {line}, column {column})")
                    }
                };
                Err(RequestError::new(Reason::Decode, how).into_api_error(url))
            }
        }
    }
}

impl Session for PollSession {
    async fn list_repositories(&self, after: Option<RepositoryId>) -> Result<Page, ApiError> {
        let operation = Operation::ListRepositories;
        let mut url = self.client.repositories.clone();
        url.query_pairs_mut()
            .append_pair("limit", &self.client.page_size.to_string());
        if let Some(after) = after {
            url.query_pairs_mut()
                .append_pair("after", &after.to_string());
        }
        let body = self.get(operation, None, &url).await?;
        let page = self.decode(operation, &url, &body, wire::decode_page, |page| {
            page.bad.as_slice()
        })?;
        if !page.follows(after) {
            self.client
                .instruments
                .api_failure(operation, Reason::Cursor);
        }
        Ok(page)
    }

    async fn list_languages(&self, id: RepositoryId) -> Result<LanguageList, ApiError> {
        let operation = Operation::ListLanguages;
        let mut url = self.client.repositories.clone();
        url.set_path(&format!("{}/{id}/languages", url.path()));
        let body = self.get(operation, Some(id), &url).await?;
        let decode = |body: &[u8]| wire::decode_languages(body, &self.client.interner);
        self.decode(operation, &url, &body, decode, |list| list.bad.as_slice())
    }

    fn stopped(&self) -> Option<Stop> {
        self.budget.stopped()
    }
}
