//! The poller: reads every repository at an interval, publishes documents, and saves the state.
//!
//! - [`Poller::run`] decides when a poll begins: one interval after the start of the previous poll,
//!   or after its end if it ended early, and never while Retry-After holds all requests. A poll
//!   that ended early is repeated sooner while no language was ever read or restored: the API may
//!   start after the exporter.
//! - [`poll`] reads the listing, then the languages of each repository. Its [`queue`] decides which
//!   request is next, and when to stop.
//! - [`ledger`] keeps what the polls have read.
//! - [`Poller`] publishes the ledger, judged, with the status of polling, also during a poll.
//! - [`save`] writes the state file on a task of its own.
//!
//! The poller knows no HTTP. Its requests go through [`Api`].

mod ledger;
mod poll;
mod queue;
mod save;

pub use save::Saver;

use crate::{
    api::Api,
    domain::{
        Listing, Settings,
        document::Document,
        polling::{PollOutcome, PollStatus},
        record::SavedState,
    },
    metrics::instruments::Instruments,
    support::{clock::Clock, glob::Globs},
};
use ledger::Ledger;
use std::{future::pending, sync::Arc, time::Duration};
use tokio::{
    sync::watch,
    time::{Instant, interval, sleep_until},
};

/// The wait before a poll that ended early is repeated, while no language was read or restored.
const RETRY: Duration = Duration::from_secs(30);

/// The time between two heartbeats.
const HEARTBEAT: Duration = Duration::from_secs(5);

/// The time between two publications without a poll: dates pass, data become stale, translations
/// stall, and clocks are set.
const PUBLISH_EVERY: Duration = Duration::from_secs(60);

/// The state of polling, and the way to publish and save it.
pub struct Poller<A> {
    api: Arc<A>,
    settings: Arc<Settings>,
    /// The repositories to read; none of these globs reads all.
    only: Globs<true>,
    clock: Clock,
    instruments: Arc<Instruments>,
    ledger: Ledger,
    /// `None` without a state file.
    saver: Option<Saver>,
    document: watch::Sender<Arc<Document>>,
    /// Sees each publication, while a receiver sees the newest one.
    #[cfg(test)]
    seen: tests::Publish,
    /// The status, apart from the parts that a publication adds.
    status: PollStatus,
}

impl<A: Api> Poller<A> {
    /// `state` is the content of the state file, if there is any. `only` chooses the repositories
    /// to read by their names; without a glob it chooses all.
    pub fn new(
        api: A,
        settings: Arc<Settings>,
        only: Globs<true>,
        (state, saver): (Option<SavedState>, Option<Saver>),
        clock: Clock,
        instruments: Arc<Instruments>,
    ) -> Self {
        let now = clock.now();
        let mut ledger = Ledger::new(state.unwrap_or_default());
        // The process that saved the state may have had other filters.
        ledger.apply(Listing::default(), false, &settings.filter, now);
        let status = PollStatus {
            state_is_kept: saver.is_some(),
            ..PollStatus::default()
        };
        let document = ledger.judge(&settings, status.clone(), now, None);
        Self {
            api: Arc::new(api),
            settings,
            only,
            clock,
            instruments,
            ledger,
            saver,
            document: watch::Sender::new(Arc::new(document)),
            #[cfg(test)]
            seen: Box::new(|_| {}),
            status,
        }
    }

    /// Returns a receiver of the published documents.
    pub fn documents(&self) -> watch::Receiver<Arc<Document>> {
        self.document.subscribe()
    }

    /// Judges everything that is known now.
    pub fn document(&self) -> Arc<Document> {
        let (previous, now) = (self.document.borrow().clone(), self.clock.now());
        let held_until = self.api.pace().held_until();
        let status = PollStatus {
            held_until: held_until.map(|until| self.clock.at(until)),
            ..self.status.clone()
        };
        let ledger = &self.ledger;
        Arc::new(ledger.judge(&self.settings, status, now, Some(&previous)))
    }

    fn publish(&self) {
        let document = self.document();
        #[cfg(test)]
        (self.seen)(&document);
        self.document.send_replace(document);
    }

    /// Hands the state to the saver, if there is a state file.
    pub fn save(&self) {
        if let Some(saver) = &self.saver {
            saver.save(self.ledger.saved.clone());
        }
    }

    /// Polls until `shutdown`, then saves. Sends the time to `alive` every few seconds, unless the
    /// task is blocked.
    pub async fn run(mut self, alive: watch::Sender<Instant>, shutdown: impl Future<Output = ()>) {
        let polling = async {
            loop {
                let started = Instant::now();
                let outcome = self.poll(pending()).await;
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
        self.save();
    }

    /// Waits for the start of the next poll. Publishes its time at once, and every minute.
    async fn wait(&mut self, started: Instant, outcome: &PollOutcome) {
        let (ended, interval) = (Instant::now(), self.settings.interval);
        let next = match outcome.cut_short() {
            Some(_) if !self.ledger.has_completions() => ended + RETRY.min(interval),
            Some(_) => ended + interval,
            None => (started + interval).max(ended),
        };
        loop {
            let held_until = self.api.pace().held_until();
            let next = held_until.map_or(next, |until| until.max(next));
            self.status.next_poll_at = Some(self.clock.at(next));
            self.publish();
            sleep_until(next.min(Instant::now() + PUBLISH_EVERY)).await;
            if next <= Instant::now() {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests;
