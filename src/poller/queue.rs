//! The repositories that a poll still has to request, and the circuit breaker that ends the poll in
//! an outage.
//!
//! The ledger puts the oldest attempt first. Repositories whose last read failed come after all
//! others, and only until [`FAILED_AGAIN`] of them have failed again: they never keep another
//! repository from being read.
//!
//! A request fails as in an outage if its error is [`ApiError::Unreachable`]. After many such
//! failures in a row the breaker probes a sample of the repositories whose last read did not fail.
//! The poll ends if all probes fail. After an incomplete listing there are no probes: the poll ends
//! unless a request under way gets a response.

use super::ledger::ReadOrder;
use crate::{
    api::{ApiError, Attempts},
    domain::RepositoryId,
};
use std::collections::{HashSet, VecDeque};

/// The consecutive requests that must fail as in an outage before the breaker probes.
const ROW: u32 = 10;
/// The repositories that these requests must be for. The listing alone counts as five.
const ROW_REPOSITORIES: usize = 5;
/// The repositories that the breaker probes.
const PROBES: usize = 10;
/// The repositories that failed before and may fail again in one poll.
pub const FAILED_AGAIN: usize = 20;

/// A request for the languages of a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    pub id: RepositoryId,
    pub attempts: Attempts,
    failed_before: bool,
}

/// The circuit breaker between a poll and the API.
#[derive(Debug, PartialEq, Eq)]
enum CircuitBreaker {
    /// All requests pass. The breaker counts the last consecutive ones that failed as in an outage.
    Closed(FailedRow),
    /// Requests for `left` more repositories pass and, once no other repository is queued, requests
    /// for earlier failures. A response closes the breaker.
    Probing { left: usize },
    /// No request passes.
    Open,
}

/// The repositories that a poll still has to request.
#[derive(Debug)]
pub struct Queue {
    /// The repositories whose last read did not fail.
    first: VecDeque<RepositoryId>,
    failed_before: VecDeque<RepositoryId>,
    /// The number of repositories in `failed_before` that may still be requested. A success raises
    /// it again.
    may_fail: usize,
    is_listed: bool,
    breaker: CircuitBreaker,
}

/// The last consecutive requests that failed as in an outage.
#[derive(Debug, Default, PartialEq, Eq)]
struct FailedRow {
    requests: u32,
    repositories: usize,
}

impl Queue {
    /// Returns the queue after a listing, which `listing_error` ended before its end.
    pub fn new(order: ReadOrder, listing_error: Option<&ApiError>) -> Self {
        let breaker = match listing_error {
            Some(
                ApiError::PollEnded(_)
                | ApiError::Unreachable {
                    requests: ROW.., ..
                },
            ) => CircuitBreaker::Open,
            Some(ApiError::Unreachable { requests, .. }) => CircuitBreaker::Closed(FailedRow {
                requests: *requests,
                repositories: ROW_REPOSITORIES,
            }),
            _ => CircuitBreaker::Closed(FailedRow::default()),
        };
        Self {
            first: order.first,
            failed_before: order.failed_before,
            may_fail: FAILED_AGAIN,
            is_listed: listing_error.is_none(),
            breaker,
        }
    }

    pub fn len(&self) -> usize {
        self.first.len() + self.failed_before.len()
    }

    /// Returns the next request; `None` until more responses are in, and at the end.
    pub fn next(&mut self) -> Option<Request> {
        if self.breaker == CircuitBreaker::Open {
            None
        } else if self.first.is_empty() {
            self.next_failed_before()
        } else {
            self.next_first()
        }
    }

    fn next_first(&mut self) -> Option<Request> {
        let attempts = match &mut self.breaker {
            CircuitBreaker::Closed(_) => Attempts::Several,
            CircuitBreaker::Probing { left } => {
                *left = left.checked_sub(1)?;
                Attempts::One
            }
            CircuitBreaker::Open => return None,
        };
        Some(Request {
            id: self.first.pop_front()?,
            attempts,
            failed_before: false,
        })
    }

    fn next_failed_before(&mut self) -> Option<Request> {
        self.may_fail = self.may_fail.checked_sub(1)?;
        Some(Request {
            id: self.failed_before.pop_front()?,
            attempts: Attempts::One,
            failed_before: true,
        })
    }

    /// Notes the result of a request.
    pub fn completed<T>(&mut self, request: Request, result: &Result<T, ApiError>) {
        match result {
            // The API responds, even if the repository cannot be read.
            Ok(_) | Err(ApiError::Failed(_)) => {
                if self.breaker != CircuitBreaker::Open {
                    self.breaker = CircuitBreaker::Closed(FailedRow::default());
                }
                self.may_fail += usize::from(request.failed_before && result.is_ok());
            }
            // A repository that fails again says nothing about the API.
            Err(ApiError::Unreachable { .. }) if request.failed_before => {}
            Err(ApiError::Unreachable { requests, .. }) => {
                if let CircuitBreaker::Closed(row) = &mut self.breaker {
                    row.requests += requests;
                    row.repositories += 1;
                    if row.requests >= ROW && row.repositories >= ROW_REPOSITORIES {
                        self.probe();
                    }
                }
            }
            Err(ApiError::PollEnded(_)) => self.breaker = CircuitBreaker::Open,
        }
    }

    /// Begins to probe repositories spread over the queue; after an incomplete listing, none.
    fn probe(&mut self) {
        if !self.is_listed {
            self.breaker = CircuitBreaker::Probing { left: 0 };
            return;
        }
        let left = self.first.len();
        let sample = PROBES.min(left);
        // The sample has the first and the last repository, and others evenly between them.
        let places: HashSet<_> = (0..sample)
            .map(|place| place * (left - 1) / (sample - 1).max(1))
            .collect();
        let (spread, rest): (Vec<_>, Vec<_>) = self
            .first
            .drain(..)
            .enumerate()
            .partition(|(place, _)| places.contains(place));
        self.first = spread.into_iter().chain(rest).map(|(_, id)| id).collect();
        self.breaker = CircuitBreaker::Probing { left: sample };
    }

    /// Tells whether the breaker ended the poll. Otherwise the queue has only earlier failures,
    /// which later polls request. The answer is final once no request is under way.
    pub fn ended_by_breaker(&self) -> bool {
        match self.breaker {
            CircuitBreaker::Closed(_) => false,
            CircuitBreaker::Probing { .. } => !self.is_listed || !self.first.is_empty(),
            CircuitBreaker::Open => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        api::RequestFailure,
        domain::{Failure, Reason},
    };

    const READ: Result<(), ApiError> = Ok(());

    fn failure() -> RequestFailure {
        RequestFailure {
            reason: Reason::Timeout,
            failure: Failure::new("no answer", "wait"),
        }
    }

    fn unreachable(requests: u32) -> ApiError {
        let failure = failure();
        ApiError::Unreachable { failure, requests }
    }

    fn failed(error: ApiError) -> Result<(), ApiError> {
        Err(error)
    }

    fn queue_of(
        first: impl IntoIterator<Item = u64>,
        failed_before: impl IntoIterator<Item = u64>,
        listing_error: Option<&ApiError>,
    ) -> Queue {
        let order = ReadOrder {
            first: ids(first),
            failed_before: ids(failed_before),
        };
        Queue::new(order, listing_error)
    }

    fn ids(ids: impl IntoIterator<Item = u64>) -> VecDeque<RepositoryId> {
        ids.into_iter().filter_map(RepositoryId::new).collect()
    }

    /// Sends all requests, one after the other, and returns their ids. A repository that does not
    /// `respond` fails as in an outage.
    fn send(queue: &mut Queue, responds: impl Fn(u64) -> bool) -> Vec<u64> {
        let mut requested = Vec::new();
        while let Some(request) = queue.next() {
            let id = request.id.get();
            requested.push(id);
            let result = if responds(id) {
                READ
            } else {
                Err(unreachable(2))
            };
            queue.completed(request, &result);
        }
        requested
    }

    #[test]
    fn ten_failed_requests_and_ten_failed_probes_open_the_breaker() {
        let mut queue = queue_of(1..=96, [], None);
        let requested = send(&mut queue, |_| false);
        assert_eq!(
            requested,
            [1, 2, 3, 4, 5, 6, 16, 26, 36, 46, 56, 66, 76, 86, 96]
        );
        assert_eq!((queue.ended_by_breaker(), queue.len()), (true, 81));
    }

    #[test]
    fn a_probe_that_answers_closes_the_breaker() {
        let mut queue = queue_of(1..=96, [], None);
        let requested = send(&mut queue, |id| id > 90);
        assert_eq!(requested.len(), 96);
        // A failure of the repository itself is a response too.
        let mut queue = queue_of(1..=30, [], None);
        for requests in 1.. {
            let Some(request) = queue.next() else { break };
            let error = match requests % 5 {
                0 => ApiError::Failed(failure()),
                _ => unreachable(2),
            };
            queue.completed(request, &failed(error));
        }
        assert_eq!((queue.ended_by_breaker(), queue.len()), (false, 0));
    }

    #[test]
    fn failures_of_fewer_than_five_repositories_count_only_with_the_listing() {
        let mut queue = queue_of(1..=9, [], None);
        let Some(request) = queue.next() else {
            panic!("no request")
        };
        queue.completed(request, &failed(unreachable(10)));
        assert_eq!(
            queue.next().map(|next| next.attempts),
            Some(Attempts::Several)
        );
        let mut queue = queue_of(1..=9, [10], Some(&unreachable(4)));
        assert_eq!(send(&mut queue, |_| false), [1, 2, 3]);
        assert_eq!((queue.ended_by_breaker(), queue.len()), (true, 7));
        let mut queue = queue_of(1..=9, [], Some(&unreachable(10)));
        assert_eq!(send(&mut queue, |_| true), [0; 0]);
    }

    #[test]
    fn after_an_incomplete_listing_a_late_response_closes_the_breaker() {
        let broken = ApiError::Failed(failure());
        let mut queue = queue_of(1..=9, [], Some(&broken));
        let mut under_way: Vec<_> = (0..6).filter_map(|_| queue.next()).collect();
        let last = under_way.pop().unwrap();
        for request in under_way {
            queue.completed(request, &failed(unreachable(2)));
        }
        assert_eq!((queue.next(), queue.ended_by_breaker()), (None, true));
        queue.completed(last, &READ);
        assert_eq!(send(&mut queue, |_| true), [7, 8, 9]);
        assert!(!queue.ended_by_breaker());
    }

    #[test]
    fn earlier_failures_come_last_until_twenty_have_failed_again() {
        let mut queue = queue_of([1, 2], 101..=200, None);
        let requested = send(&mut queue, |id| id <= 110);
        assert_eq!((requested.len(), &requested[..3]), (32, &[1, 2, 101][..]));
        assert_eq!((queue.ended_by_breaker(), queue.len()), (false, 70));
        let mut queue = queue_of([], [1], None);
        let request = queue.next().map(|request| request.attempts);
        assert_eq!(request, Some(Attempts::One));
    }

    #[test]
    fn at_most_twenty_earlier_failures_are_in_flight() {
        let mut queue = queue_of([], 1..=100, None);
        let under_way: Vec<_> = std::iter::from_fn(|| queue.next()).collect();
        assert_eq!(under_way.len(), FAILED_AGAIN);
        queue.completed(under_way[0], &READ);
        queue.completed(under_way[1], &failed(ApiError::Failed(failure())));
        assert!(queue.next().is_some());
        assert_eq!(queue.next(), None);
    }

    #[test]
    fn a_poll_that_requested_everything_opens_no_breaker() {
        for (count, good) in [(10, 5), (14, 5), (20, 5), (12, 0)] {
            let mut queue = queue_of(1..=count, [100], None);
            let requested = send(&mut queue, |id| id <= good);
            assert_eq!(requested.last(), Some(&100), "{count}");
            assert!(!queue.ended_by_breaker(), "{count}");
        }
    }
}
