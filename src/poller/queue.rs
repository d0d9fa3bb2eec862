//! The repositories that a poll still has to request, and the circuit breaker that ends the poll in
//! an outage.
//!
//! The ledger puts the oldest attempt first. Repositories whose last read failed, by itself or while
//! others could be read, come after all others, and only until [`FAILED_AGAIN`] of them have failed
//! again: they never keep anything from being read. When one request after the other fails as in an
//! outage, the breaker probes a sample of the rest: if all probes fail, it opens. After an incomplete
//! listing it opens without probing.

use crate::{
    api::{ApiError, Attempts},
    domain::RepositoryId,
};
use std::collections::{HashSet, VecDeque};

/// How many requests in a row fail as in an outage before the breaker probes.
const ROW: u32 = 10;
/// How many repositories these requests must be for; one for the listing counts as so many.
const ROW_REPOSITORIES: usize = 5;
/// How many of the remaining repositories are probed.
const PROBES: usize = 10;
/// How many of those that failed before may fail again in one poll.
pub const FAILED_AGAIN: usize = 20;

/// A repository to ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Question {
    pub id: RepositoryId,
    pub attempts: Attempts,
    failed_before: bool,
}

/// The circuit breaker between a poll and the API.
#[derive(Debug, PartialEq, Eq)]
enum CircuitBreaker {
    /// Requests flow. The row is of the last requests, as far as all failed as in an outage.
    Closed(FailedRow),
    /// At most `left` more repositories are requested, and then earlier failures if there are no
    /// others, until one answers.
    Probing { left: usize },
    /// No more requests.
    Open,
}

/// What is left to ask for in one poll.
#[derive(Debug)]
pub struct Queue {
    /// Those whose last read did not fail by themselves, the oldest attempt first.
    first: VecDeque<RepositoryId>,
    /// Those that failed last time, in the order in which they are asked for.
    failed_before: VecDeque<RepositoryId>,
    /// How many more of these may fail, if those under way do.
    may_fail: usize,
    is_listed: bool,
    breaker: CircuitBreaker,
}

/// The last requests, as far as all of them failed as in an outage.
#[derive(Debug, Default, PartialEq, Eq)]
struct FailedRow {
    requests: u32,
    /// How many repositories they were for.
    repositories: usize,
}

impl Queue {
    /// After the listing, with the error that ended it before its end.
    pub fn new(
        first: Vec<RepositoryId>,
        failed_before: Vec<RepositoryId>,
        listing_error: Option<&ApiError>,
    ) -> Self {
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
            first: first.into(),
            failed_before: failed_before.into(),
            may_fail: FAILED_AGAIN,
            is_listed: listing_error.is_none(),
            breaker,
        }
    }

    pub fn len(&self) -> usize {
        self.first.len() + self.failed_before.len()
    }

    /// Returns the repository to request next; `None` until more answers are in, and at the end.
    pub fn next(&mut self) -> Option<Question> {
        if self.breaker == CircuitBreaker::Open {
            None
        } else if self.first.is_empty() {
            self.next_failed_before()
        } else {
            self.next_first()
        }
    }

    fn next_first(&mut self) -> Option<Question> {
        let attempts = match &mut self.breaker {
            CircuitBreaker::Closed(_) => Attempts::Several,
            CircuitBreaker::Probing { left } => {
                *left = left.checked_sub(1)?;
                Attempts::One
            }
            CircuitBreaker::Open => return None,
        };
        Some(Question {
            id: self.first.pop_front()?,
            attempts,
            failed_before: false,
        })
    }

    fn next_failed_before(&mut self) -> Option<Question> {
        self.may_fail = self.may_fail.checked_sub(1)?;
        Some(Question {
            id: self.failed_before.pop_front()?,
            attempts: Attempts::One,
            failed_before: true,
        })
    }

    /// Takes in what a question came to.
    pub fn answered<T>(&mut self, question: Question, answer: &Result<T, ApiError>) {
        match answer {
            // The API answers, even if the repository cannot be read.
            Ok(_) | Err(ApiError::Failed(_)) => {
                if self.breaker != CircuitBreaker::Open {
                    self.breaker = CircuitBreaker::Closed(FailedRow::default());
                }
                self.may_fail += usize::from(question.failed_before && answer.is_ok());
            }
            // That these fail again says nothing about the others.
            Err(ApiError::Unreachable { .. }) if question.failed_before => {}
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

    /// Probes repositories spread over the rest; after an incomplete listing, none.
    fn probe(&mut self) {
        if !self.is_listed {
            self.breaker = CircuitBreaker::Probing { left: 0 };
            return;
        }
        let left = self.first.len();
        let sample = PROBES.min(left);
        // The first and the last of what is left, and others evenly between them.
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

    /// Whether the breaker ended the poll. If not, all remaining repositories have failed before and
    /// wait for later polls.
    pub fn is_open(&self) -> bool {
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

    fn ids(ids: impl IntoIterator<Item = u64>) -> Vec<RepositoryId> {
        ids.into_iter().filter_map(RepositoryId::new).collect()
    }

    /// Asks for one after the other: those that answer are read, all others fail as in an outage. Returns what was asked for.
    fn ask(queue: &mut Queue, answers: impl Fn(u64) -> bool) -> Vec<u64> {
        let mut asked = Vec::new();
        while let Some(question) = queue.next() {
            let id = question.id.get();
            asked.push(id);
            let answer = if answers(id) {
                READ
            } else {
                Err(unreachable(2))
            };
            queue.answered(question, &answer);
        }
        asked
    }

    #[test]
    fn ten_requests_in_a_row_over_five_repositories_and_ten_of_the_rest_end_the_poll() {
        let mut queue = Queue::new(ids(1..=96), Vec::new(), None);
        let asked = ask(&mut queue, |_| false);
        assert_eq!(
            asked,
            [1, 2, 3, 4, 5, 6, 16, 26, 36, 46, 56, 66, 76, 86, 96]
        );
        assert_eq!((queue.is_open(), queue.len()), (true, 81));
    }

    #[test]
    fn one_of_the_rest_that_answers_ends_the_row() {
        let mut queue = Queue::new(ids(1..=96), Vec::new(), None);
        let asked = ask(&mut queue, |id| id > 90);
        assert_eq!(asked.len(), 96);
        // A failure of its own is an answer too.
        let mut queue = Queue::new(ids(1..=30), Vec::new(), None);
        for requests in 1.. {
            let Some(question) = queue.next() else { break };
            let error = match requests % 5 {
                0 => ApiError::Failed(failure()),
                _ => unreachable(2),
            };
            queue.answered(question, &failed(error));
        }
        assert_eq!((queue.is_open(), queue.len()), (false, 0));
    }

    #[test]
    fn a_row_over_fewer_repositories_ends_nothing_unless_the_listing_is_part_of_it() {
        let mut queue = Queue::new(ids(1..=9), Vec::new(), None);
        let Some(question) = queue.next() else {
            panic!("nothing to ask for")
        };
        queue.answered(question, &failed(unreachable(10)));
        assert_eq!(
            queue.next().map(|next| next.attempts),
            Some(Attempts::Several)
        );
        let mut queue = Queue::new(ids(1..=9), ids([10]), Some(&unreachable(4)));
        assert_eq!(ask(&mut queue, |_| false), [1, 2, 3]);
        assert_eq!((queue.is_open(), queue.len()), (true, 7));
        let mut queue = Queue::new(ids(1..=9), Vec::new(), Some(&unreachable(10)));
        assert_eq!(ask(&mut queue, |_| true), [0; 0]);
    }

    #[test]
    fn after_an_incomplete_listing_an_answer_that_was_under_way_closes_the_breaker() {
        let broken = ApiError::Failed(failure());
        let mut queue = Queue::new(ids(1..=9), Vec::new(), Some(&broken));
        let mut under_way: Vec<_> = (0..6).filter_map(|_| queue.next()).collect();
        let last = under_way.pop().unwrap();
        for question in under_way {
            queue.answered(question, &failed(unreachable(2)));
        }
        assert_eq!((queue.next(), queue.is_open()), (None, true));
        queue.answered(last, &READ);
        assert_eq!(ask(&mut queue, |_| true), [7, 8, 9]);
        assert!(!queue.is_open());
    }

    #[test]
    fn what_failed_before_comes_last_and_once_until_twenty_have_failed_again() {
        let mut queue = Queue::new(ids([1, 2]), ids(101..=200), None);
        let asked = ask(&mut queue, |id| id <= 110);
        assert_eq!((asked.len(), &asked[..3]), (32, &[1, 2, 101][..]));
        assert_eq!((queue.is_open(), queue.len()), (false, 70));
        let mut queue = Queue::new(Vec::new(), ids([1]), None);
        let question = queue.next().map(|question| question.attempts);
        assert_eq!(question, Some(Attempts::One));
    }

    #[test]
    fn no_more_of_what_failed_before_is_under_way_than_may_fail() {
        let mut queue = Queue::new(Vec::new(), ids(1..=100), None);
        let under_way: Vec<_> = std::iter::from_fn(|| queue.next()).collect();
        assert_eq!(under_way.len(), FAILED_AGAIN);
        queue.answered(under_way[0], &READ);
        queue.answered(under_way[1], &failed(ApiError::Failed(failure())));
        assert!(queue.next().is_some());
        assert_eq!(queue.next(), None);
    }

    #[test]
    fn a_poll_that_asked_for_everything_opens_no_breaker() {
        for (count, good) in [(10, 5), (14, 5), (20, 5), (12, 0)] {
            let mut queue = Queue::new(ids(1..=count), ids([100]), None);
            let asked = ask(&mut queue, |id| id <= good);
            assert_eq!(asked.last(), Some(&100), "{count}");
            assert!(!queue.is_open(), "{count}");
        }
    }
}
