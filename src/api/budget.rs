//! What one poll may still request: the retry budget, and what ends the poll for all of its requests.

use super::error::{ApiError, PollEnd};
use crate::{
    domain::{Failure, PollFailure},
    support::lock::lock,
};
use std::sync::{Arc, Mutex};
use tokio::sync::SetOnce;

/// Retries that every poll may make in addition to a fifth of its requests.
const FREE_RETRIES: u32 = 10;

/// What one poll may still request.
#[derive(Debug, Default)]
pub struct Budget {
    counts: Mutex<Counts>,
    /// Why the poll must end.
    end: SetOnce<PollEnd>,
}

#[derive(Debug, Default)]
struct Counts {
    requests: u32,
    retries: u32,
}

impl Budget {
    /// Allows no more requests in this poll; the first reason is kept.
    pub fn end_poll(
        &self,
        reason: PollFailure,
        what: impl Into<Arc<str>>,
        hint: impl Into<Arc<str>>,
    ) -> ApiError {
        let failure = Failure::new(what, hint);
        let end = PollEnd { reason, failure };
        let _ = self.end.set(end.clone());
        ApiError::PollEnded(end)
    }

    /// Waits, unless the poll must end before that is over.
    pub async fn unless_ended<T>(&self, wait: impl Future<Output = T>) -> Result<T, ApiError> {
        let end = tokio::select! {
            biased;
            end = self.end.wait() => end,
            waited = wait => match self.end.get() {
                None => return Ok(waited),
                // While it waited.
                Some(end) => end,
            },
        };
        Err(ApiError::PollEnded(end.clone()))
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retries_are_a_fifth_of_the_requests_and_ten() {
        let budget = Budget::default();
        for _ in 0..50 {
            budget.count_request();
        }
        assert_eq!((0..100).filter(|_| budget.take_retry()).count(), 20);
    }

    #[tokio::test]
    async fn whoever_waits_when_the_poll_ends_learns_why() {
        let budget = Budget::default();
        let end = async { budget.end_poll(PollFailure::Held, "enough", "wait") };
        let waiting = budget.unless_ended(std::future::pending::<()>());
        let (waited, ended) = tokio::join!(waiting, end);
        assert_eq!(waited, Err(ended));
    }
}
