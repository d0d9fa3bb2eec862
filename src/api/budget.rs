//! The retry budget of a poll, and its early end.

use super::error::{ApiError, PollEnd};
use crate::{
    domain::{Failure, PollFailure},
    support::lock::lock,
};
use std::sync::{Arc, Mutex};
use tokio::sync::SetOnce;

/// The retries that every poll may make in addition to a fifth of its requests.
const FREE_RETRIES: u32 = 10;

/// The retry budget of one poll, and the reason for its early end.
#[derive(Debug, Default)]
pub struct Budget {
    /// Guards the counts; never held across an await.
    counts: Mutex<Counts>,
    /// Set once the poll must end.
    end: SetOnce<PollEnd>,
}

#[derive(Debug, Default)]
struct Counts {
    requests: u32,
    retries: u32,
}

impl Budget {
    /// Ends the poll for all of its requests. Keeps the first reason.
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

    /// Waits for `wait`, unless the poll ends first.
    ///
    /// Cancel safe if `wait` is.
    pub async fn unless_ended<T>(&self, wait: impl Future<Output = T>) -> Result<T, ApiError> {
        let end = tokio::select! {
            biased;
            end = self.end.wait() => end,
            waited = wait => match self.end.get() {
                None => return Ok(waited),
                // The poll ended in the same moment.
                Some(end) => end,
            },
        };
        Err(ApiError::PollEnded(end.clone()))
    }

    /// Counts a request that is sent for the first time.
    pub fn count_request(&self) {
        lock(&self.counts).requests += 1;
    }

    /// Takes one retry from the budget, and returns whether there was one left.
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
    fn retries_are_limited_to_ten_and_a_fifth_of_the_requests() {
        let budget = Budget::default();
        for _ in 0..50 {
            budget.count_request();
        }
        assert_eq!((0..100).filter(|_| budget.take_retry()).count(), 20);
    }

    #[tokio::test]
    async fn a_waiting_request_gets_the_reason_for_the_end_of_the_poll() {
        let budget = Budget::default();
        let end = async { budget.end_poll(PollFailure::Held, "enough", "wait") };
        let waiting = budget.unless_ended(std::future::pending::<()>());
        let (waited, ended) = tokio::join!(waiting, end);
        assert_eq!(waited, Err(ended));
    }
}
