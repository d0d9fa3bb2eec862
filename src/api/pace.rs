//! The pace of requests: their rate, and the hold that Retry-After asks for. Both outlive polls.
//!
//! The API does not document its rate limit. Every [`WINDOW`] responses decide on the rate: it
//! halves if two in five of them refused the request, with 429 or 503, and concern [`CONCERNED`]
//! repositories or more. Otherwise it grows by a quarter, up to the configured rate. Occasional
//! refusals therefore slow nothing down, and neither does a repository that is always refused.

use super::error::RequestFailure;
use crate::{domain::RepositoryId, support::lock::lock};
use std::{
    collections::BTreeSet,
    sync::{Mutex, MutexGuard},
    time::Duration,
};
use tokio::time::{Instant, sleep_until};

/// The number of responses that decide on the rate.
const WINDOW: usize = 20;
/// The number of refusals in a window, and of the repositories that they concern, that halve the
/// rate.
const REFUSED: usize = WINDOW * 2 / 5;
const CONCERNED: usize = 3;
const GROWTH: f64 = 1.25;

/// The lowest rate that refusals lead to, in requests a second.
const LOWEST: f64 = 0.5;
/// The rate that stands for an unlimited one: the first refusals halve it, and once the rate has
/// grown back to it, it is unlimited again.
const UNLIMITED: f64 = 100.0;

/// The delay that the next permits make up for: the timer is up to 1 ms late, and a busy machine
/// somewhat more.
const CATCH_UP: Duration = Duration::from_millis(10);

/// The pace of all requests of a client.
#[derive(Debug)]
pub struct Pace {
    /// Guards the rate and the hold; never held across an await.
    state: Mutex<Pacing>,
    /// The time at which the next request is due. Requests queue for this lock; a cancelled request
    /// leaves the queue without a permit.
    next_permit: tokio::sync::Mutex<Instant>,
}

#[derive(Debug)]
struct Pacing {
    /// `api.requests_per_second`; `None` is unlimited.
    configured: Option<f64>,
    /// The current rate in requests a second.
    rate: f64,
    /// The number of responses since the last decision on the rate.
    responses: usize,
    /// The refused requests among those, by repository; `None` stands for the listing.
    refused: Vec<Option<RepositoryId>>,
    held_until: Option<Instant>,
}

impl Pacing {
    /// Returns the highest rate.
    fn full(&self) -> f64 {
        self.configured.unwrap_or(UNLIMITED)
    }

    fn lowest(&self) -> f64 {
        self.full().min(LOWEST)
    }

    /// Returns the time from one request to the next.
    fn spacing(&self) -> Duration {
        if self.configured.is_none() && self.rate >= UNLIMITED {
            return Duration::ZERO;
        }
        Duration::from_secs_f64(self.rate.recip().min(u32::MAX.into()))
    }

    fn answered(&mut self, repository: Option<RepositoryId>, is_refused: bool) {
        self.responses += 1;
        if is_refused {
            self.refused.push(repository);
        }
        if self.responses < WINDOW {
            return;
        }
        let concerned: BTreeSet<_> = self.refused.iter().collect();
        self.rate = if self.refused.len() >= REFUSED && concerned.len() >= CONCERNED {
            (self.rate / 2.0).max(self.lowest())
        } else {
            (self.rate * GROWTH).min(self.full())
        };
        self.responses = 0;
        self.refused.clear();
    }
}

impl Pace {
    /// Creates the pace of `configured` requests a second; `None` is unlimited.
    pub fn new(configured: Option<f64>) -> Self {
        Self {
            state: Mutex::new(Pacing {
                configured,
                rate: configured.unwrap_or(UNLIMITED),
                responses: 0,
                refused: Vec::new(),
                held_until: None,
            }),
            next_permit: tokio::sync::Mutex::new(Instant::now()),
        }
    }

    fn state(&self) -> MutexGuard<'_, Pacing> {
        lock(&self.state)
    }

    pub fn is_lowest(&self) -> bool {
        let state = self.state();
        state.rate <= state.lowest()
    }

    /// Returns the end of the hold; `None` without one.
    pub fn held_until(&self) -> Option<Instant> {
        self.state()
            .held_until
            .filter(|until| *until > Instant::now())
    }

    /// Takes the end of a request for the languages of `repository`, or for a page of the listing: a
    /// response counts for the rate, and a failure may hold all requests.
    pub fn answered(&self, repository: Option<RepositoryId>, failure: Option<&RequestFailure>) {
        let mut state = self.state();
        if failure.is_none_or(|failure| failure.status.is_some()) {
            state.answered(repository, failure.is_some_and(RequestFailure::is_refusal));
        }
        let hold = failure.and_then(|failure| failure.hold(repository.is_none()));
        let until = hold.map(|hold| Instant::now() + hold);
        // A hold can be extended, not shortened.
        state.held_until = state.held_until.max(until);
    }

    /// Waits until earlier requests have their permits, the spacing has passed, and no hold is
    /// left. Cancel safe: a cancelled call takes no permit.
    pub async fn permit(&self) {
        let mut next = self.next_permit.lock().await;
        loop {
            let due = self.held_until().map_or(*next, |until| until.max(*next));
            let now = Instant::now();
            if due <= now {
                break *next = (*next + CATCH_UP).max(now) - CATCH_UP + self.state().spacing();
            }
            sleep_until(due).await;
        }
    }
}

#[cfg(test)]
mod tests;
