//! One poll's requests: each is sent until it is answered, or until that is impossible in this poll.

use crate::api::{
    ApiError, Attempts, Client, Session,
    budget::Budget,
    error::RequestError,
    retry,
    wire::{self, DecodeError},
};
use crate::{
    config::KeyError,
    domain::{LanguageList, Operation, Page, PollFailure, Reason, RepositoryId},
};
use reqwest::Url;
use secrecy::{ExposeSecret, SecretString};
use std::time::Duration;
use tokio::{sync::RwLock, time::sleep};

/// A hold longer than this ends the poll.
const LONGEST_HOLD_WITHIN_POLL: Duration = Duration::from_secs(5 * 60);

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
            let key = self.budget.unless_ended(self.permit()).await?;
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
            self.judge(operation, &error)?;
            if error.reason == Reason::Unauthorized {
                if has_new_key || !self.has_newer_key(&key).await? {
                    let reason = PollFailure::Unauthorized;
                    return Err(self.budget.end_poll(reason, REFUSED, error.hint));
                }
                has_new_key = true;
            } else {
                if !error.retry || attempt >= max_attempts || !self.budget.take_retry() {
                    return Err(error.into_api_error(url, requests));
                }
                let wait = sleep(retry::backoff(attempt));
                self.budget.unless_ended(wait).await?;
            }
        }
    }

    /// Counts the failure of one request, and ends the poll if it concerns all others.
    fn judge(&self, operation: Operation, error: &RequestError) -> Result<(), ApiError> {
        let client = &self.client;
        client.instruments.api_failure(operation, error.reason);
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
    use crate::{api::tests::client, support::lock::lock};
    use reqwest::StatusCode;
    use std::sync::Mutex;
    use tokio::time::Instant;

    fn session() -> PollSession {
        PollSession::new(client(), SecretString::from("k3y"))
    }

    fn stopped_by(operation: Operation, status: u16, hold: Option<u64>) -> Option<PollFailure> {
        let hold = hold.map(Duration::from_secs);
        let error = RequestError::status(StatusCode::from_u16(status).unwrap(), hold);
        match session().judge(operation, &error) {
            Err(ApiError::PollEnded(stop)) => Some(stop.reason),
            _ => None,
        }
    }

    #[test]
    fn a_403_ends_the_poll_if_it_is_for_the_listing_and_a_repository_keeps_its_own() {
        for (operation, stop) in [
            (Operation::ListRepositories, Some(PollFailure::Unauthorized)),
            (Operation::ListLanguages, None),
        ] {
            assert_eq!(stopped_by(operation, 403, None), stop);
            assert_eq!(stopped_by(operation, 404, None), None);
        }
    }

    #[test]
    fn a_hold_of_more_than_five_minutes_ends_the_poll() {
        let stopped_by = |seconds| stopped_by(Operation::ListLanguages, 429, Some(seconds));
        assert_eq!(stopped_by(300), None);
        assert_eq!(stopped_by(301), Some(PollFailure::Held));
    }

    #[tokio::test(start_paused = true)]
    async fn requests_that_wait_for_the_key_leave_at_the_rate_and_not_into_a_hold() {
        let session = session();
        let start = Instant::now();
        let left = Mutex::new(Vec::new());
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
