//! One poll's requests: each is sent until it is answered, or until that is impossible in this poll.

use super::{
    ApiError, Attempts, Client, Session,
    budget::Budget,
    error::RequestError,
    retry,
    wire::{self, DecodeError},
};
use crate::{
    config::KeyError,
    model::{LanguageList, Operation, Page, PollFailure, Reason, RepositoryId},
};
use reqwest::Url;
use secrecy::{ExposeSecret, SecretString};
use tokio::{sync::RwLock, time::sleep};

const REFUSED: &str = "the API refuses the key (status 401 Unauthorized)";

/// One poll of the API.
#[derive(Debug)]
pub struct PollSession {
    client: Client,
    budget: Budget,
    /// Locked for writing while a newer one is read, for which other requests wait. Not a mutex: requests that only look at
    /// the key must never wait for each other, since `permit` takes a key that is not free for one that is being read.
    key: RwLock<SecretString>,
}

impl PollSession {
    pub fn new(client: Client, key: SecretString) -> Self {
        Self {
            client,
            budget: Budget::default(),
            key: RwLock::new(key),
        }
    }

    /// Waits until a request may be sent, and returns the key to send.
    async fn permit(&self) -> SecretString {
        loop {
            // Before the permit: requests that waited for the key after theirs would all leave at once.
            drop(self.key.read().await);
            self.client.pacer.permit().await;
            if let Ok(key) = self.key.try_read() {
                return key.clone();
            }
        }
    }

    /// Requests `url` until there is an answer that `decode` understands, or until there can be none in this poll.
    async fn get<T>(
        &self,
        operation: Operation,
        attempts: Attempts,
        url: &Url,
        decode: impl Fn(&[u8]) -> Result<T, DecodeError>,
    ) -> Result<T, ApiError> {
        let client = &self.client;
        let max_attempts = match attempts {
            Attempts::One => 1,
            Attempts::Several => client.config.max_attempts,
        };
        let mut requests = 0;
        let mut has_new_key = false;
        loop {
            let key = self.budget.unless_stopped(self.permit()).await?;
            if requests == 0 {
                self.budget.count_request();
            } else {
                client.instruments.api_retry(operation);
            }
            requests += 1;
            // A request with a newer key is none of the attempts.
            let attempt = requests - u32::from(has_new_key);
            let error = match client.send(operation, url, &key, attempt, &decode).await {
                Ok(answer) => return Ok(answer),
                Err(error) => error.of(operation),
            };
            self.count_failure(operation, &error)?;
            if error.reason == Reason::Unauthorized {
                if has_new_key || !self.has_newer_key(&key).await? {
                    let reason = PollFailure::Unauthorized;
                    return Err(self.budget.stop(reason, REFUSED, error.hint));
                }
                has_new_key = true;
            } else {
                if !error.retry || attempt >= max_attempts || !self.budget.take_retry() {
                    return Err(error.into_api_error(url, requests));
                }
                let wait = sleep(retry::backoff(attempt));
                self.budget.unless_stopped(wait).await?;
            }
        }
    }

    fn count_failure(&self, operation: Operation, error: &RequestError) -> Result<(), ApiError> {
        let client = &self.client;
        client.instruments.api_failure(operation, error.reason);
        let hold = error
            .retry_after
            .map(|wait| wait.min(client.config.max_retry_after));
        if let Some(hold) = hold {
            client.pacer.hold(hold);
        }
        self.budget.judge(operation, error, hold)
    }

    /// Whether there is another key than `refused`; reads the key file again if necessary.
    async fn has_newer_key(&self, refused: &SecretString) -> Result<bool, ApiError> {
        let is_refused = |key: &SecretString| key.expose_secret() == refused.expose_secret();
        let mut key = self.key.write().await;
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
                Err(self.budget.stop(PollFailure::Unauthorized, what, hint))
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
        self.get(operation, Attempts::Several, &url, wire::decode_page)
            .await
    }

    async fn list_languages(
        &self,
        id: RepositoryId,
        attempts: Attempts,
    ) -> Result<LanguageList, ApiError> {
        let operation = Operation::ListLanguages;
        let mut url = self.client.repositories.clone();
        url.set_path(&format!("{}/{id}/languages", url.path()));
        let decode = |body: &[u8]| wire::decode_languages(body, &self.client.interner);
        self.get(operation, attempts, &url, decode).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{api::tests::client, sync::lock};
    use std::{sync::Mutex as StdMutex, time::Duration};
    use tokio::time::Instant;

    #[tokio::test(start_paused = true)]
    async fn requests_that_wait_for_the_key_leave_at_the_rate_and_not_into_a_hold() {
        let session = PollSession::new(client(), SecretString::from("k3y"));
        let start = Instant::now();
        let left = StdMutex::new(Vec::new());
        let request = async || {
            session.permit().await;
            lock(&left).push(start.elapsed().as_secs());
        };
        let read_again = async {
            let _key = session.key.write().await;
            sleep(Duration::from_secs(10)).await;
            session.client.pacer.hold(Duration::from_secs(60));
        };
        tokio::join!(read_again, request(), request(), request());
        assert_eq!(*lock(&left), [70, 71, 72]);
    }
}
