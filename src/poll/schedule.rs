//! When a poll begins: an interval after the start of the one before, or after its end where it went wrong, and not
//! while the API wants to be left alone.

use super::Poller;
use crate::{
    api::Api,
    snapshot::{PollOutcome, PollStatus, Snapshot},
};
use std::{pin::pin, sync::Arc, time::Duration};
use tokio::time::{Instant, sleep_until};

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
        let mut told = None;
        loop {
            let settings = Arc::clone(&self.settings.borrow());
            let interval = settings.interval;
            let due = if failed { ended + interval } else { (started + interval).max(ended) };
            let now = Instant::now();
            let due = due.max(now + settings.api.held_for().unwrap_or_default());
            if due <= now {
                return;
            }
            if told != Some(due) {
                told = Some(due);
                self.status.interval = interval;
                self.status.next_poll_at = Some(self.clock.now().saturating_add(due - now));
                self.publish();
            }
            let now = self.clock.now();
            let expiry = self.ledger.next_expiry(self.staleness_limit(), now);
            let until_expiry = expiry.map_or(Duration::MAX, |expiry| expiry.since(now));
            tokio::select! {
                () = sleep_until(due) => return,
                () = tokio::time::sleep(until_expiry), if expiry.is_some() => {
                    tracing::warn!("data have become too old to be shown: see poll.stale_after");
                    self.publish();
                }
                Ok(()) = self.settings.changed() => {}
            }
        }
    }
}
