//! What one poll may still request: the retry budget, and what ends the poll for all of its requests.

use super::error::{ApiError, RequestError, failure_now};
use crate::{
    model::{Operation, PollFailure, Reason, Stop},
    sync::lock,
};
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::sync::SetOnce;

/// A hold longer than this ends the poll.
const LONGEST_HOLD_WITHIN_POLL: Duration = Duration::from_secs(5 * 60);
/// Retries that every poll may make in addition to a fifth of its requests.
const FREE_RETRIES: u32 = 10;

/// What one poll may still request.
#[derive(Debug, Default)]
pub struct Budget {
    counts: Mutex<Counts>,
    /// Why the poll must end.
    stop: SetOnce<Stop>,
}

#[derive(Debug, Default)]
struct Counts {
    requests: u32,
    retries: u32,
}

impl Budget {
    /// Allows no more requests in this poll; the first reason is kept.
    pub fn stop(
        &self,
        reason: PollFailure,
        what: impl Into<Arc<str>>,
        hint: impl Into<Arc<str>>,
    ) -> ApiError {
        let failure = failure_now(what, hint);
        let stop = Stop { reason, failure };
        let _ = self.stop.set(stop.clone());
        ApiError::Stopped(stop)
    }

    /// Waits, unless the poll must end before that is over.
    pub async fn unless_stopped<T>(&self, wait: impl Future<Output = T>) -> Result<T, ApiError> {
        let stop = tokio::select! {
            biased;
            stop = self.stop.wait() => stop,
            waited = wait => match self.stop.get() {
                None => return Ok(waited),
                // While it waited.
                Some(stop) => stop,
            },
        };
        Err(ApiError::Stopped(stop.clone()))
    }

    /// A request is sent for the first time.
    pub fn count_request(&self) {
        lock(&self.counts).requests += 1;
    }

    /// Whether one more retry may be made; if so, it counts as made.
    pub fn take_retry(&self) -> bool {
        let mut counts = lock(&self.counts);
        let allowed = counts.retries < FREE_RETRIES + counts.requests / 5;
        counts.retries += u32::from(allowed);
        allowed
    }

    /// Ends the poll if a request failed in a way that concerns all others; `hold` is how long it holds all requests.
    pub fn judge(
        &self,
        operation: Operation,
        error: &RequestError,
        hold: Option<Duration>,
    ) -> Result<(), ApiError> {
        if let Some(hold) = hold.filter(|hold| *hold > LONGEST_HOLD_WITHIN_POLL) {
            let hold = humantime::format_duration(Duration::from_secs(hold.as_secs()));
            let what = format!("Retry-After holds all requests for {hold} ({})", error.how);
            return Err(self.stop(PollFailure::Held, what, error.hint));
        }
        if error.reason == Reason::Forbidden && operation == Operation::ListRepositories {
            let what = "the API forbids the listing (status 403)";
            return Err(self.stop(PollFailure::Unauthorized, what, error.hint));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::StatusCode;

    fn stopped_by(operation: Operation, status: u16, hold: Option<u64>) -> Option<PollFailure> {
        let error = RequestError::status(StatusCode::from_u16(status).unwrap(), None);
        let hold = hold.map(Duration::from_secs);
        match Budget::default().judge(operation, &error, hold) {
            Err(ApiError::Stopped(stop)) => Some(stop.reason),
            _ => None,
        }
    }

    #[test]
    fn retries_are_a_fifth_of_the_requests_and_ten() {
        let budget = Budget::default();
        for _ in 0..50 {
            budget.count_request();
        }
        assert_eq!((0..100).filter(|_| budget.take_retry()).count(), 20);
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

    #[tokio::test]
    async fn whoever_waits_when_the_poll_ends_learns_why() {
        let budget = Budget::default();
        let stop = async { budget.stop(PollFailure::Held, "enough", "wait") };
        let waiting = budget.unless_stopped(std::future::pending::<()>());
        let (waited, stopped) = tokio::join!(waiting, stop);
        assert_eq!(waited, Err(stopped));
    }
}
