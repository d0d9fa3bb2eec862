//! When a poll begins: an interval after the start of the previous one, or after its end if it did not get through, and not
//! while Retry-After holds all requests. An API that is late at the start is asked again sooner.

use super::{PUBLISH_EVERY, Poller};
use crate::{
    api::Api,
    domain::{PollFailure, snapshot::PollOutcome},
};
use std::time::Duration;
use tokio::time::{Instant, interval, sleep, sleep_until};

/// How long to wait after a poll that found the API failing as a whole while no languages are shown; from there the waits double up to
/// the longest.
const FIRST_RETRY: Duration = Duration::from_secs(1);
const LONGEST_RETRY: Duration = Duration::from_secs(60);

/// How often the task of [`Poller::run`] shows that it runs.
pub const SIGN_OF_LIFE: Duration = Duration::from_secs(5);

impl<A: Api> Poller<A> {
    /// Polls until `shutdown`, then hands over the unsaved data.
    pub async fn run(mut self, shutdown: impl Future<Output = ()>) {
        let alive = self.alive.clone();
        let polling = async {
            loop {
                let started = Instant::now();
                let outcome = self.poll().await;
                self.wait(started, &outcome).await;
            }
        };
        let signs = async {
            let mut signs = interval(SIGN_OF_LIFE);
            loop {
                signs.tick().await;
                alive.send_replace(Instant::now());
            }
        };
        tokio::select! {
            biased;
            () = shutdown => {}
            () = signs => {}
            () = polling => {}
        }
        self.save_changes();
    }

    /// Waits for the time of the next poll, and publishes again when data become stale in the meantime.
    async fn wait(&mut self, started: Instant, outcome: &PollOutcome) {
        let ended = Instant::now();
        let limit = self.staleness_limit();
        let is_late = match outcome.failure() {
            Some(PollFailure::Unavailable | PollFailure::Held) => {
                !self.ledger.has_shown(limit, self.clock.moment())
            }
            // It came up after the listing had failed. That may also last, so this ends.
            Some(PollFailure::Listing) => self.retry.is_some_and(|before| before < LONGEST_RETRY),
            _ => false,
        };
        self.retry = is_late.then(|| match self.retry {
            Some(before) => LONGEST_RETRY.min(before * 2),
            None => FIRST_RETRY,
        });
        loop {
            let interval = self.settings.borrow().interval;
            let next = match self.retry {
                Some(wait) => ended + wait.min(interval),
                None if outcome.cut_short().is_some() => ended + interval,
                None => (started + interval).max(ended),
            };
            let hold_ends = self.poll_settings.api.held_until();
            let due = hold_ends.map_or(next, |until| until.max(next));
            if self.next_poll != Some(due) {
                self.next_poll = Some(due);
                self.publish();
            }
            if due <= Instant::now() {
                return;
            }
            let limit = self.staleness_limit();
            let expiry = self.ledger.next_expiry(limit, self.published);
            // Data that become stale one after another are not published one by one.
            let soonest = self.published.monotonic + PUBLISH_EVERY;
            let stale_at = expiry.map(|expiry| expiry.max(soonest));
            let next_change = stale_at
                .into_iter()
                .chain(hold_ends)
                .fold(due, Instant::min);
            tokio::select! {
                () = sleep_until(next_change) => if next_change < due { self.publish() },
                () = sleep(SIGN_OF_LIFE) => {
                    if self.clock_was_set() {
                        self.publish();
                    }
                }
                Ok(()) = self.settings.changed() => self.follow_settings(),
            }
        }
    }
}
