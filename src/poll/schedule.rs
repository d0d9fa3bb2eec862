//! When a poll begins: an interval after the start of the one before, or after its end where it went wrong, and not
//! while the API wants to be left alone.

use super::{Poller, publications::PUBLISH_EVERY};
use crate::{
    api::Api,
    snapshot::{PollOutcome, PollStatus, Snapshot},
};
use std::{pin::pin, sync::Arc, time::Duration};
use tokio::time::{Instant, sleep, sleep_until};

impl<A, P> Poller<A, P>
where
    A: Api,
    P: Fn(Arc<Snapshot>, PollStatus) + Send + Sync,
{
    /// Polls until `shutdown`, then saves what is not saved yet.
    pub async fn run(mut self, shutdown: impl Future<Output = ()>) {
        let mut shutdown = pin!(shutdown);
        loop {
            let started = Instant::now();
            let outcome = tokio::select! {
                biased;
                () = &mut shutdown => break,
                outcome = self.poll() => outcome,
            };
            tokio::select! {
                biased;
                () = &mut shutdown => break,
                () = self.wait(started, &outcome) => {}
            }
        }
        self.finish().await;
    }

    /// Waits until all that was read is saved, for some seconds at most.
    pub async fn finish(mut self) {
        if self.unsaved {
            self.save();
        }
        if let Some(saver) = self.saver.take() {
            saver.finish().await;
        }
    }

    /// Waits for the time of the next poll, and publishes anew what grows stale in the meantime.
    async fn wait(&mut self, started: Instant, outcome: &PollOutcome) {
        let ended = Instant::now();
        let failed = outcome.listing.is_some() || outcome.ended_early.is_some();
        // Nothing is asked in the meantime, so that nothing can change this.
        let held_until = ended + self.settings.borrow().api.held_for().unwrap_or_default();
        let mut told = None;
        let mut published_at = outcome.ended_at;
        // What grows stale bit by bit is not to be encoded bit by bit.
        let mut not_before = None;
        loop {
            let interval = self.settings.borrow().interval;
            let due = if failed { ended + interval } else { (started + interval).max(ended) }.max(held_until);
            let now = Instant::now();
            if due <= now {
                return;
            }
            if told != Some(due) {
                told = Some(due);
                self.status.interval = interval;
                self.status.next_poll_at = Some(self.clock.now().saturating_add(due - now));
                published_at = self.clock.now();
                self.publish();
            }
            let expiry = self.ledger.next_expiry(self.staleness_limit(), published_at);
            let until_expiry = expiry.map_or(Duration::MAX, |expiry| expiry.since(self.clock.now()));
            tokio::select! {
                () = sleep_until(due) => return,
                () = sleep(until_expiry.max(not_before.map_or(Duration::ZERO, |at| at - now))), if expiry.is_some() => {
                    if not_before.replace(Instant::now() + PUBLISH_EVERY).is_none() {
                        tracing::warn!("data have become too old to be shown: see poll.stale_after");
                    }
                    published_at = self.clock.now();
                    self.publish();
                }
                Ok(()) = self.settings.changed() => {}
            }
        }
    }
}
