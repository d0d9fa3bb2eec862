//! What one poll may still request: the retry budget, and the circuit breaker that ends the poll.

use super::error::{RequestError, Stop};
use crate::{
    clock::Clock,
    model::{Failure, PollFailure, Reason, RepositoryId},
    sync::lock,
};
use std::{
    collections::HashSet,
    sync::{Arc, Mutex, OnceLock},
    time::Duration,
};
use tokio_util::sync::CancellationToken;

/// A hold longer than this ends the poll.
const LONGEST_HOLD_WITHIN_POLL: Duration = Duration::from_secs(5 * 60);
/// Requests in a row that fail because the API itself fails, before the poll ends.
const OUTAGE_REQUESTS: u32 = 10;
/// How many repositories they must be for, unless one of them was for the listing.
const OUTAGE_REPOSITORIES: usize = 5;
/// Repositories in a row that are forbidden, before the poll ends.
const FORBIDDEN_LIMIT: u32 = 3;
/// Retries that every poll may make in addition to a fifth of its requests.
const FREE_RETRIES: u32 = 10;

/// What one poll may still request.
#[derive(Debug, Default)]
pub(super) struct Budget {
    counts: Mutex<Counts>,
    /// Why the poll must end.
    stop: OnceLock<Stop>,
    /// Cancelled as soon as there is a reason.
    stopped: CancellationToken,
}

#[derive(Debug, Default)]
struct Counts {
    requests: u32,
    retries: u32,
    /// Repositories in a row that were forbidden.
    forbidden: u32,
    outage: Outage,
}

/// The requests in a row that failed because the API itself fails.
#[derive(Debug, Default)]
struct Outage {
    requests: u32,
    repositories: HashSet<RepositoryId>,
    includes_listing: bool,
}

impl Outage {
    fn ends_poll(&self) -> bool {
        self.requests >= OUTAGE_REQUESTS
            && (self.includes_listing || self.repositories.len() >= OUTAGE_REPOSITORIES)
    }
}

impl Budget {
    /// Allows no more requests in this poll. The first reason is kept.
    pub fn stop(&self, reason: PollFailure, what: impl Into<Arc<str>>, hint: impl Into<Arc<str>>) {
        self.stop.get_or_init(|| Stop {
            reason,
            failure: Failure::new(Clock::system().now(), what, hint),
        });
        self.stopped.cancel();
    }

    pub fn stopped(&self) -> Option<Stop> {
        self.stop.get().cloned()
    }

    /// `None` if the poll must end before `wait` is over.
    pub async fn unless_stopped<T>(&self, wait: impl Future<Output = T>) -> Option<T> {
        // The wait itself may be what stopped the poll.
        self.stopped
            .run_until_cancelled(wait)
            .await
            .filter(|_| !self.stopped.is_cancelled())
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

    /// A request was answered.
    pub fn count_success(&self) {
        let mut counts = lock(&self.counts);
        counts.outage = Outage::default();
        counts.forbidden = 0;
    }

    /// A request failed; `repository` is `None` for the listing, `hold` is how long it holds all requests. Ends the poll if
    /// necessary.
    pub fn count_failure(
        &self,
        repository: Option<RepositoryId>,
        error: &RequestError,
        hold: Option<Duration>,
    ) {
        if let Some(hold) = hold.filter(|hold| *hold > LONGEST_HOLD_WITHIN_POLL) {
            let hold = humantime::format_duration(Duration::from_secs(hold.as_secs()));
            let what = format!("Retry-After holds all requests for {hold} ({})", error.how);
            self.stop(PollFailure::Held, what, error.hint);
        }
        let mut counts = lock(&self.counts);
        if error.reason == Reason::Forbidden {
            counts.forbidden += 1;
            if repository.is_none() {
                let what = "the API forbids the listing (status 403)";
                self.stop(PollFailure::Unauthorized, what, error.hint);
            } else if counts.forbidden == FORBIDDEN_LIMIT {
                let what =
                    format!("the API forbade {FORBIDDEN_LIMIT} repositories in a row (status 403)");
                self.stop(PollFailure::Repositories, what, error.hint);
            }
        } else {
            counts.forbidden = 0;
        }
        if !error.is_trouble() {
            counts.outage = Outage::default();
            return;
        }
        counts.outage.requests += 1;
        match repository {
            Some(repository) => drop(counts.outage.repositories.insert(repository)),
            None => counts.outage.includes_listing = true,
        }
        if counts.outage.ends_poll() {
            let what = format!(
                "{} requests in a row failed, the last because {}",
                counts.outage.requests, error.how
            );
            self.stop(PollFailure::Unavailable, what, error.hint);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::StatusCode;

    fn id(id: u64) -> Option<RepositoryId> {
        RepositoryId::new(id)
    }

    fn status(code: u16) -> RequestError {
        RequestError::status(StatusCode::from_u16(code).unwrap(), None)
    }

    /// Why the poll ends after these failures in a row: for the listing (0) or a repository, with that status.
    fn stopped_after(failures: impl IntoIterator<Item = (u64, u16)>) -> Option<PollFailure> {
        let budget = Budget::default();
        for (repository, code) in failures {
            budget.count_failure(id(repository), &status(code), None);
        }
        budget.stopped().map(|stop| stop.reason)
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
    fn ten_failures_of_the_api_in_a_row_over_five_repositories_end_the_poll() {
        assert_eq!(stopped_after([(1, 503); 50]), None, "one repository");
        assert_eq!(stopped_after((0..9).map(|n| (n % 5 + 1, 500))), None);
        assert_eq!(
            stopped_after((0..10).map(|n| (n % 5 + 1, 500))),
            Some(PollFailure::Unavailable)
        );
        let interrupted = (1..=9).map(|n| (n, 500)).chain([(10, 404), (11, 500)]);
        assert_eq!(stopped_after(interrupted), None);
        assert_eq!(
            stopped_after([(0, 502); 10]),
            Some(PollFailure::Unavailable),
            "the listing"
        );
    }

    #[test]
    fn three_forbidden_repositories_in_a_row_or_the_listing_end_the_poll() {
        assert_eq!(stopped_after([(0, 403)]), Some(PollFailure::Unauthorized));
        assert_eq!(
            stopped_after([(1, 403), (2, 403), (3, 403)]),
            Some(PollFailure::Repositories)
        );
        assert_eq!(
            stopped_after([(1, 403), (2, 403), (3, 404), (4, 403), (5, 403)]),
            None
        );
        let answered = Budget::default();
        for n in [1, 2, 0, 3, 4] {
            if n == 0 {
                answered.count_success();
            } else {
                answered.count_failure(id(n), &status(403), None);
            }
        }
        assert_eq!(answered.stopped(), None);
    }

    #[test]
    fn a_hold_of_more_than_five_minutes_ends_the_poll() {
        let stopped_by = |seconds| {
            let budget = Budget::default();
            budget.count_failure(id(1), &status(429), Some(Duration::from_secs(seconds)));
            budget.stopped().map(|stop| stop.reason)
        };
        assert_eq!(stopped_by(300), None);
        assert_eq!(stopped_by(301), Some(PollFailure::Held));
    }
}
