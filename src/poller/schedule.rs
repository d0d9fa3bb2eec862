//! The poll loop: when a poll begins.
//!
//! A poll begins one interval after the start of the previous one, or after its end if that poll
//! ended early, and never while Retry-After holds all requests. Until the first language is read, a
//! poll that ended early is repeated sooner: the API may start after the exporter.

use super::Poller;
use crate::{api::Api, domain::polling::PollOutcome};
use std::time::Duration;
use tokio::{
    sync::watch,
    time::{Instant, interval, sleep, sleep_until},
};

/// The wait before the first early retry of a poll. It doubles with each retry, up to
/// [`LONGEST_RETRY`].
const FIRST_RETRY: Duration = Duration::from_secs(1);
const LONGEST_RETRY: Duration = Duration::from_secs(60);

/// The time between two heartbeats.
const HEARTBEAT: Duration = Duration::from_secs(5);

/// The time between two publications without a poll: dates pass, data become stale, translations
/// stall, and clocks are set.
const PUBLISH_EVERY: Duration = Duration::from_secs(60);

/// The loop that polls at an interval.
pub struct PollLoop<A> {
    poller: Poller<A>,
    /// The wait after the last poll, if it is repeated early.
    retry: Option<Duration>,
    /// The last heartbeat of the task, which sends one every few seconds unless it is blocked.
    alive: watch::Sender<Instant>,
}

impl<A: Api> PollLoop<A> {
    pub fn new(poller: Poller<A>) -> Self {
        Self {
            poller,
            retry: None,
            alive: watch::Sender::new(Instant::now()),
        }
    }

    /// Returns a receiver of the loop's heartbeats.
    pub fn alive(&self) -> watch::Receiver<Instant> {
        self.alive.subscribe()
    }

    /// Polls until `shutdown`, then saves the unsaved changes.
    pub async fn run(mut self, shutdown: impl Future<Output = ()>) {
        let alive = self.alive.clone();
        let polling = async {
            loop {
                let started = Instant::now();
                let outcome = self.poller.poll().await;
                self.wait(started, &outcome).await;
            }
        };
        let heartbeats = async {
            let mut heartbeats = interval(HEARTBEAT);
            loop {
                heartbeats.tick().await;
                alive.send_replace(Instant::now());
            }
        };
        tokio::select! {
            biased;
            () = shutdown => {}
            () = heartbeats => {}
            () = polling => {}
        }
        self.poller.save_changes();
    }

    /// Waits for the start of the next poll. Publishes its time, and again every minute.
    async fn wait(&mut self, started: Instant, outcome: &PollOutcome) {
        let ended = Instant::now();
        self.retry = self.next_retry(outcome);
        let poller = &mut self.poller;
        loop {
            let interval = poller.interval();
            let next = match self.retry {
                Some(wait) => ended + wait.min(interval),
                None if outcome.cut_short().is_some() => ended + interval,
                None => (started + interval).max(ended),
            };
            let held_until = poller.poll_settings.api.pace().held_until();
            let next = held_until.map_or(next, |until| until.max(next));
            if poller.next_poll != Some(next) {
                poller.next_poll = Some(next);
                poller.publish();
            }
            if next <= Instant::now() {
                return;
            }
            tokio::select! {
                biased;
                () = sleep_until(next) => {}
                () = sleep(PUBLISH_EVERY) => poller.publish(),
                Ok(()) = poller.settings.changed() => poller.publish(),
            }
        }
    }

    /// Returns the wait before an early repetition of the poll; `None` if the interval decides.
    fn next_retry(&self, outcome: &PollOutcome) -> Option<Duration> {
        let is_early = outcome.cut_short().is_some() && !self.poller.ledger.has_languages();
        is_early.then(|| match self.retry {
            Some(wait) => LONGEST_RETRY.min(wait * 2),
            None => FIRST_RETRY,
        })
    }
}
