//! The repositories that a poll still has to read: which to request next, which to retry, and when
//! to give up.
//!
//! The queue has two parts: new repositories and those with a successful last read; then the
//! failed ones. The second part waits for the first. A repository whose request failed transiently
//! goes to the back of the first part, and is retried after a backoff; in the second part it waits
//! for the next poll.
//!
//! [`ROW`] failures in a row end the current part. In the first part they count as an outage; in the
//! second they only end this poll.

use crate::{
    api::RequestFailure,
    domain::{Reason, RepositoryId, record::KeptRepository},
};
use std::{collections::BTreeSet, time::Duration};
use tokio::time::Instant;

/// The number of failures in a row that end a part of the queue.
const ROW: u32 = 20;
/// The minimum time of a row of refused connections, which take no time: a gap of a moment would
/// look like an outage.
const SHORTEST_ROW: Duration = Duration::from_secs(2);
/// The number of failures that a failed listing counts as.
const LISTING: u32 = 15;

const FIRST_BACKOFF: Duration = Duration::from_secs(1);
const LONGEST_BACKOFF: Duration = Duration::from_secs(30);

/// Returns the wait after attempt number `attempt`: exponential backoff with full jitter.
pub fn backoff(attempt: u32) -> Duration {
    // The power fits: there are few attempts.
    let longest = (FIRST_BACKOFF * 2_u32.pow(attempt - 1)).min(LONGEST_BACKOFF);
    longest.mul_f64(fastrand::f64())
}

/// A request for the languages of a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fetch {
    /// True in the second part of the queue.
    is_second: bool,
    due: Instant,
    /// The order among fetches that are due at the same time.
    place: usize,
    pub id: RepositoryId,
    /// The number of the attempt in this poll, from 1.
    pub attempt: u32,
}

/// The repositories that a poll still has to request.
#[derive(Debug)]
pub struct Queue {
    fetches: BTreeSet<Fetch>,
    /// True once the first part has ended.
    is_second: bool,
    in_flight: usize,
    /// The number of failures in a row in this part of the queue.
    row: u32,
    /// The time before which the row ends nothing.
    row_lasts_until: Instant,
    /// The number of attempts for a repository of the first part.
    max_attempts: u32,
    /// True if the listing succeeded. An API that then refuses one repository is alive.
    is_listed: bool,
}

impl Queue {
    /// Returns the queue of `repositories`, which are in the order of their last attempts, after a
    /// listing that ended with `listing_failure`.
    pub fn new(
        repositories: &[&KeptRepository],
        listing_failure: Option<&RequestFailure>,
        max_attempts: u32,
    ) -> Self {
        let due = Instant::now();
        let fetches = repositories.iter().enumerate();
        let fetches = fetches.map(|(place, kept)| Fetch {
            is_second: kept.failing_since.is_some(),
            due,
            place,
            id: kept.repository.id,
            attempt: 1,
        });
        let is_outage =
            listing_failure.is_some_and(|failure| suggests_outage(failure.reason, false));
        Self {
            fetches: fetches.collect(),
            is_second: false,
            in_flight: 0,
            row: if is_outage { LISTING } else { 0 },
            row_lasts_until: due,
            max_attempts,
            is_listed: listing_failure.is_none(),
        }
    }

    /// Returns the next request that is due; `None` until more responses are in, and at the end.
    pub fn next(&mut self) -> Option<Fetch> {
        if self.due()? > Instant::now() {
            return None;
        }
        let next = self.fetches.pop_first()?;
        if next.is_second && !self.is_second {
            (self.is_second, self.row) = (true, 0);
        }
        self.in_flight += 1;
        Some(next)
    }

    /// Returns the time at which the next request is due; `None` if that depends on responses, or
    /// at the end.
    pub fn due(&self) -> Option<Instant> {
        let next = self.fetches.first().filter(|_| !self.is_over())?;
        let waits = next.is_second && !self.is_second && self.in_flight > 0;
        (!waits).then_some(next.due)
    }

    /// Records the result of a request. `is_lowest` is true at the lowest pace.
    pub fn completed(&mut self, fetch: Fetch, failure: Option<&RequestFailure>, is_lowest: bool) {
        self.in_flight -= 1;
        let Some(failure) = failure else {
            self.row = 0;
            return;
        };
        if !suggests_outage(failure.reason, self.is_listed) {
            self.row = 0;
        } else if self.is_second
            || match failure.reason {
                // An API that refuses the pace is alive, unless it refuses the lowest pace too.
                Reason::RateLimited => is_lowest,
                _ => fetch.attempt == 1,
            }
        {
            if failure.reason != Reason::Connect {
                self.row_lasts_until = Instant::now();
            } else if self.row == 0 {
                self.row_lasts_until = Instant::now() + SHORTEST_ROW;
            }
            self.row += 1;
        }
        // A repository whose last read failed has one attempt. With more, the queue would end with
        // nothing but their requests, whose refusals lower the pace of the whole poll.
        let attempts = if fetch.is_second {
            1
        } else {
            self.max_attempts
        };
        let retry_after = failure.retry_after;
        let wait = match retry_after.filter(|_| failure.reason != Reason::RateLimited) {
            Some(wait) => wait,
            None => backoff(fetch.attempt),
        };
        if failure.is_momentary() && fetch.attempt < attempts && wait <= LONGEST_BACKOFF {
            self.fetches.insert(Fetch {
                due: Instant::now() + wait,
                attempt: fetch.attempt + 1,
                ..fetch
            });
        }
    }

    fn is_over(&self) -> bool {
        self.row >= ROW && Instant::now() >= self.row_lasts_until
    }

    /// Returns whether failures in a row ended the first part, which is an outage.
    pub fn is_outage(&self) -> bool {
        self.is_over() && !self.is_second
    }
}

/// Returns whether a failure may be one of the API as a whole. An API that lists its repositories
/// and refuses one of them is alive; the default backend of a proxy answers 404 to everything.
pub fn suggests_outage(reason: Reason, is_listed: bool) -> bool {
    match reason {
        Reason::Forbidden | Reason::NotFound => !is_listed,
        Reason::TooLarge | Reason::Cursor | Reason::Decode => false,
        Reason::Timeout
        | Reason::Connect
        | Reason::Tls
        | Reason::Redirect
        | Reason::Unauthorized
        | Reason::RateLimited
        | Reason::ClientError
        | Reason::ServerError
        | Reason::Truncated
        | Reason::NotJson => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_backoff_doubles_from_a_second_to_30_seconds() {
        for (attempt, longest) in [(1, 1), (2, 2), (3, 4), (4, 8), (5, 16), (6, 30), (9, 30)] {
            let most = (0..200).map(|_| backoff(attempt)).max().unwrap();
            let longest = Duration::from_secs(longest);
            assert!(most <= longest && most > longest / 2, "{attempt}: {most:?}");
        }
    }
}
