//! The poller: reads every repository at an interval, publishes snapshots, and saves the state.
//!
//! - [`PollLoop`] decides when a poll begins.
//! - [`poll`] reads the listing, then the languages of each repository. Its [`queue`] decides which
//!   request is next, and when to stop.
//! - [`ledger`] keeps what the polls have read.
//! - [`Poller`] publishes the ledger as a snapshot with the status of polling, also during a poll.
//! - [`save`] decides when the ledger is saved, and writes the state file on a task of its own.
//!
//! The poller knows no HTTP. Its requests go through [`Api`].

mod ledger;
mod log;
mod poll;
mod queue;
mod save;
mod schedule;
mod settings;

pub use save::Saver;
pub use schedule::PollLoop;
pub use settings::{LiveSettings, PollSettings, Settings};

use crate::{
    api::Api,
    domain::{
        Failure,
        polling::{PollOutcome, PollStatus, Running},
        snapshot::Snapshot,
    },
    metrics::instruments::Instruments,
    state::SavedState,
    support::clock::Clock,
};
use ledger::Ledger;
use save::Saving;
use std::{sync::Arc, time::Duration};
use tokio::{sync::watch, time::Instant};

/// A function that publishes. It must not block.
pub type Publish = Box<dyn Fn(Arc<Snapshot>, PollStatus) + Send + Sync>;

/// The state of polling, and the way to publish and save it.
pub struct Poller<A> {
    settings: watch::Receiver<Settings<A>>,
    /// The settings of the poll under way, or of the last one.
    poll_settings: Arc<PollSettings<A>>,
    clock: Clock,
    instruments: Arc<Instruments>,
    ledger: Ledger,
    saving: Saving,
    publish: Publish,
    /// The part of the status that lasts from poll to poll.
    status: PollStatus,
    /// The start of the poll under way.
    began: Option<Instant>,
    /// The progress of the poll under way, or of the last one.
    progress: watch::Sender<Running>,
    /// The end of the last request, or the start of the poll.
    silent_since: Instant,
    /// The start of the next poll, while the poller waits for it.
    next_poll: Option<Instant>,
}

impl<A: Api> Poller<A> {
    /// `state` is the content of the state file, if there is any.
    pub fn new(
        settings: watch::Receiver<Settings<A>>,
        state: Option<SavedState>,
        saver: Option<Saver>,
        clock: Clock,
        instruments: Arc<Instruments>,
        publish: Publish,
    ) -> Self {
        let state = state.unwrap_or_default();
        let now = clock.moment();
        let poll_settings = Arc::clone(&settings.borrow().poll);
        let saving = Saving::new(saver);
        let status = PollStatus {
            last_success_at: state.last_success_at,
            failing_since: state.failing_since,
            ..PollStatus::default()
        };
        let mut ledger = Ledger::restore(state, now.wall);
        // The process that saved the state may have had other filters.
        ledger.reselect(&poll_settings.filter, now.wall);
        Self {
            settings,
            poll_settings,
            clock,
            instruments,
            ledger,
            saving,
            publish,
            status,
            began: None,
            progress: watch::Sender::default(),
            silent_since: now.monotonic,
            next_poll: None,
        }
    }

    /// Returns a receiver of the progress of polls.
    pub fn progress(&self) -> watch::Receiver<Running> {
        self.progress.subscribe()
    }

    /// Returns the outcome of a poll whose future was dropped.
    pub fn interrupted(&self) -> PollOutcome {
        let now = self.clock.now();
        let Running {
            of, read, failed, ..
        } = *self.progress.borrow();
        let hint = "poll again, without ending it early";
        PollOutcome {
            ended_at: now,
            listing_failure: of
                .is_none()
                .then(|| Failure::new("the poll was stopped", hint, now)),
            read,
            failed,
            unreached: of.unwrap_or(self.ledger.polled()) - read - failed,
            ..PollOutcome::default()
        }
    }

    pub fn snapshot(&self) -> Snapshot {
        let live = &self.settings.borrow().live;
        let now = self.clock.moment();
        self.ledger.snapshot(&self.poll_settings, live, now)
    }

    pub fn status(&self) -> PollStatus {
        let now = self.clock.moment();
        let pace = self.poll_settings.api.pace();
        // The clock may have been set since these moments.
        let was = |at: Instant| now.wall.saturating_sub(now.monotonic - at);
        let mut status = PollStatus {
            interval: self.interval(),
            stale_after: self.poll_settings.stale_after,
            running: self.began.map(|began| Running {
                since: was(began),
                silent_since: was(self.silent_since),
                ..self.progress.borrow().clone()
            }),
            next_poll_at: self.next_poll.map(|at| now.wall_at(at)),
            held_until: pace.held_until().map(|until| now.wall_at(until)),
            zeros: self.ledger.zeros(),
            languages_gone: self
                .ledger
                .languages_gone(&self.settings.borrow().live.excluded_languages, now.wall),
            defects: self.ledger.defects(),
            has_data: self.ledger.has_data(),
            state_is_kept: self.saving.saver.is_some(),
            wrong_clock: self.clock.wrong(),
            ..self.status.clone()
        };
        // The clock may have been set back since.
        if let Some(last) = &mut status.last {
            last.ended_at = last.ended_at.min(now.wall);
        }
        status
    }

    fn interval(&self) -> Duration {
        self.settings.borrow().live.interval
    }

    fn publish(&self) {
        (self.publish)(Arc::new(self.snapshot()), self.status());
    }

    /// Hands the state to the saver, if there is a state file.
    pub fn save(&mut self) {
        self.saving.save(|| SavedState {
            last_success_at: self.status.last_success_at,
            failing_since: self.status.failing_since,
            ..self.ledger.to_save()
        });
    }

    fn save_changes(&mut self) {
        if self.saving.is_changed {
            self.save();
        }
    }
}

#[cfg(test)]
mod tests;
