//! The pace of requests: the configured rate, the lower rate that the API allows, and the hold that
//! Retry-After asks for. All three outlive polls and reloads.
//!
//! An exporter that hammers a failing API gets its key revoked, so every request, including
//! retries, waits here for its permit.
//!
//! # Additive increase, multiplicative decrease
//!
//! The API does not document its rate limit. A response that refuses a request for its pace halves
//! the rate, once for all requests that were in flight at that time. Every [`ANSWERS_PER_STEP`]
//! answers raise the rate by [`STEP`], up to the configured rate.

use crate::{domain::snapshot::Pace, support::lock::lock};
use std::{sync::Mutex, time::Duration};
use tokio::{
    sync::watch,
    time::{Instant, sleep_until},
};

/// The delay of a permit that later permits may catch up: above the timer's granularity of 1 ms,
/// but too short for a burst.
const CATCH_UP: Duration = Duration::from_millis(10);

/// The lowest rate that refusals lead to, in requests a second: one in 10 s.
const LOWEST_RATE: f64 = 0.1;
/// The step by which the rate rises, in requests a second.
const STEP: f64 = 0.1;
/// The number of answers for a step of the rate. Recovery from the lowest rate to the default of 10
/// takes about 10 minutes of requests.
const ANSWERS_PER_STEP: u32 = 10;
/// The rate, in requests a second, that stands for an unlimited rate: the first refusal halves it,
/// and a rate that reaches it is unlimited again.
const UNLIMITED: f64 = 100.0;
/// The number of 429s in a row at the lowest rate after which waiting is hopeless.
const MOST_REFUSALS: u32 = 10;

/// The pacer of all requests: it spaces them out, and holds them while Retry-After asks for it.
#[derive(Debug)]
pub struct Pacer {
    /// The time from one request to the next.
    spacing: watch::Sender<Duration>,
    /// Guards the rates; never held across an await.
    rates: Mutex<Rates>,
    /// The due time of the last request. Requests queue for this lock; a cancelled request leaves
    /// the queue without a permit.
    last_permit: tokio::sync::Mutex<Option<Instant>>,
    /// Guards the end of the hold; never held across an await.
    held_until: Mutex<Option<Instant>>,
}

/// The configured and the current rate, in requests a second.
#[derive(Debug)]
struct Rates {
    /// `api.requests_per_second`; `None` is unlimited.
    configured: Option<f64>,
    /// `None` while the API allows the configured rate.
    slowed: Option<Slowed>,
}

/// A rate below the configured one, because the API refused requests.
#[derive(Debug, Clone, Copy)]
struct Slowed {
    rate: f64,
    /// The highest rate that the API is known to allow.
    allowed: f64,
    /// The time at which the rate was last halved.
    halved_at: Instant,
    /// The status of the last refusal.
    status: u16,
    /// The number of answers since the last refusal or rise of the rate.
    answered: u32,
    /// `true` if a request was answered since the rate was last halved.
    has_answered: bool,
    /// The number of 429s in a row at the lowest rate.
    refused_at_lowest: u32,
}

/// The consequence of a refused request for the poll.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The rate was lowered, or is low enough: the request can be sent again.
    Slowed,
    /// The rate is the lowest.
    Lowest,
    /// Even the lowest rate is refused.
    Hopeless,
}

impl Rates {
    /// Returns the rate that the first refusal halves.
    fn full(&self) -> f64 {
        self.configured.unwrap_or(UNLIMITED)
    }

    fn lowest(&self) -> f64 {
        self.full().min(LOWEST_RATE)
    }

    /// Returns the time from one request to the next.
    fn spacing(&self) -> Duration {
        let slowed = self.slowed.map(|slowed| slowed.rate.min(self.full()));
        slowed.or(self.configured).map_or(Duration::ZERO, |rate| {
            Duration::try_from_secs_f64(rate.recip())
                .unwrap_or(Duration::from_secs(u64::from(u32::MAX)))
        })
    }

    /// Halves the rate, unless it is the lowest, or was halved after the request was sent. A 503
    /// may also come from an outage, and therefore halves the rate only if a request was answered
    /// since the last time.
    fn refuse(&mut self, sent_at: Instant, status: u16) -> Refusal {
        let (full, lowest) = (self.full(), self.lowest());
        let slowed = self.slowed.get_or_insert(Slowed {
            rate: full,
            allowed: full,
            halved_at: sent_at,
            status,
            answered: 0,
            has_answered: true,
            refused_at_lowest: 0,
        });
        slowed.status = status;
        slowed.answered = 0;
        let is_lowest = slowed.rate <= lowest;
        if is_lowest && status == TOO_MANY_REQUESTS {
            slowed.refused_at_lowest += 1;
        }
        let is_of_an_earlier_round = slowed.rate < full && sent_at < slowed.halved_at;
        let is_about_the_rate = status == TOO_MANY_REQUESTS || slowed.has_answered;
        if !is_lowest && !is_of_an_earlier_round && is_about_the_rate {
            let refused = slowed.rate;
            slowed.rate = (refused / 2.0).max(lowest);
            if slowed.allowed >= refused {
                slowed.allowed = slowed.rate;
            }
            slowed.halved_at = Instant::now();
            slowed.has_answered = false;
            slowed.refused_at_lowest = 0;
        }
        if slowed.refused_at_lowest >= MOST_REFUSALS {
            slowed.refused_at_lowest = 0;
            Refusal::Hopeless
        } else if is_lowest {
            Refusal::Lowest
        } else {
            Refusal::Slowed
        }
    }

    /// Raises the rate by a step if enough requests were answered.
    fn answer(&mut self) {
        let full = self.full();
        let Some(slowed) = &mut self.slowed else {
            return;
        };
        slowed.refused_at_lowest = 0;
        slowed.has_answered = true;
        slowed.answered += 1;
        if slowed.answered >= ANSWERS_PER_STEP {
            slowed.answered = 0;
            slowed.allowed = slowed.allowed.max(slowed.rate);
            slowed.rate += STEP;
            // The sum of steps is not exact in binary.
            if slowed.rate + STEP / 2.0 >= full {
                self.slowed = None;
            }
        }
    }
}

/// The status with which an API limits the rate; any other refusal may be an outage.
const TOO_MANY_REQUESTS: u16 = 429;

impl Pacer {
    /// Creates a pacer of `configured` requests a second; `None` is unlimited.
    pub fn new(configured: Option<f64>) -> Self {
        let rates = Rates {
            configured,
            slowed: None,
        };
        Self {
            spacing: watch::Sender::new(rates.spacing()),
            rates: Mutex::new(rates),
            last_permit: tokio::sync::Mutex::default(),
            held_until: Mutex::default(),
        }
    }

    /// Changes the configured rate, even for requests that already wait.
    pub fn configure(&self, configured: Option<f64>) {
        self.change(|rates| rates.configured = configured);
    }

    /// Records that the API refused a request for its pace, with this status.
    pub fn refused(&self, sent_at: Instant, status: u16) -> Refusal {
        self.change(|rates| rates.refuse(sent_at, status))
    }

    /// Records that the API answered a request.
    pub fn answered(&self) {
        self.change(Rates::answer);
    }

    /// Returns to the configured rate.
    pub fn forget(&self) {
        self.change(|rates| rates.slowed = None);
    }

    fn change<T>(&self, change: impl FnOnce(&mut Rates) -> T) -> T {
        let mut rates = lock(&self.rates);
        let result = change(&mut rates);
        let spacing = rates.spacing();
        self.spacing
            .send_if_modified(|now| std::mem::replace(now, spacing) != spacing);
        result
    }

    /// Returns the pace while the API allows less than the configured rate.
    pub fn pace(&self) -> Option<Pace> {
        let rates = lock(&self.rates);
        let slowed = rates.slowed?;
        Some(Pace {
            requests_per_second: slowed.rate,
            allowed: slowed.allowed,
            status: slowed.status,
        })
    }

    /// Returns the end of the hold; `None` without one.
    pub fn held_until(&self) -> Option<Instant> {
        lock(&self.held_until).filter(|until| *until > Instant::now())
    }

    /// Holds all requests for `duration`. A hold can be extended, not shortened.
    pub fn hold(&self, duration: Duration) {
        let until = Instant::now() + duration;
        let mut held_until = lock(&self.held_until);
        *held_until = held_until.max(Some(until));
    }

    /// Waits for the permit of one request: until earlier requests have theirs, the spacing has
    /// passed, and no hold is left. Returns the time of the permit.
    ///
    /// Cancel safe: a cancelled call takes no permit.
    pub async fn permit(&self) -> Instant {
        let mut last_permit = self.last_permit.lock().await;
        let mut spacing = self.spacing.subscribe();
        loop {
            let due = last_permit
                .map(|last| last + *spacing.borrow_and_update())
                .max(self.held_until());
            // The timer counts milliseconds, and would sleep up to 1 ms for a moment that has
            // passed.
            let Some(due) = due.filter(|due| *due > Instant::now()) else {
                break;
            };
            tokio::select! {
                () = sleep_until(due) => {}
                // The rate changed. The sender lives as long as the pacer.
                _ = spacing.changed() => {}
            }
        }
        let now = Instant::now();
        let due = last_permit.map(|last| last + *spacing.borrow());
        let earliest = now.checked_sub(CATCH_UP).unwrap_or(now);
        *last_permit = Some(due.unwrap_or(now).max(earliest));
        now
    }
}

#[cfg(test)]
mod tests;
