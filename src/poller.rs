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
mod timeline;

pub use save::Saver;
pub use schedule::PollLoop;
pub use settings::{LiveSettings, PollSettings, Settings};

use crate::{
    api::Api,
    domain::{
        polling::{PollOutcome, PollStatus, Step},
        snapshot::Snapshot,
    },
    metrics::instruments::Instruments,
    state::SavedState,
    support::clock::{Clock, Moment},
};
use ledger::Ledger;
use save::Saving;
use std::{sync::Arc, time::Duration};
use timeline::Timeline;
use tokio::{sync::watch, time::Instant};

/// The time after which a publication is repeated without a new read: dates pass and translations
/// stall with time. Twice the default interval, so that polls come first.
const JUDGED_EVERY: Duration = Duration::from_secs(10 * 60);

/// A jump of the clock that outdates a publication.
const JUMP: Duration = Duration::from_secs(1);

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
    timeline: Timeline,
    saving: Saving,
    publisher: Publisher,
}

/// The function that publishes, and the last publication.
struct Publisher {
    publish: Publish,
    at: Moment,
    held_until: Option<Instant>,
    is_clock_wrong: bool,
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
        let timeline = Timeline::new(&state);
        let mut ledger = Ledger::restore(state, now.wall);
        // The process that saved the state may have had other filters.
        ledger.reselect(&poll_settings.filter, now.wall);
        ledger.exclude(&settings.borrow().live.excluded_languages, now.wall);
        Self {
            settings,
            poll_settings,
            clock,
            instruments,
            ledger,
            timeline,
            saving,
            publisher: Publisher {
                publish,
                at: now,
                held_until: None,
                is_clock_wrong: false,
            },
        }
    }

    /// Returns a receiver of the progress of polls.
    pub fn progress(&self) -> watch::Receiver<Step> {
        self.timeline.step.subscribe()
    }

    /// Returns the outcome of a poll whose future was dropped.
    pub fn interrupted(&self) -> PollOutcome {
        let now = self.clock.moment();
        self.timeline.interrupted(self.ledger.polled(), now)
    }

    pub fn snapshot(&self) -> Snapshot {
        let live = Arc::clone(&self.settings.borrow().live);
        self.ledger.snapshot(
            self.poll_settings.completion_scale,
            Arc::clone(&live.targets),
            live.thresholds,
            Arc::clone(&live.links),
            self.poll_settings.stale_after,
            self.clock.moment(),
        )
    }

    pub fn status(&self) -> PollStatus {
        let now = self.clock.moment();
        let pace = self.poll_settings.api.pace();
        // No timestamp is shown in the future.
        let ended = |last: &PollOutcome| PollOutcome {
            ended_at: last.ended_at.min(now.wall),
            ..last.clone()
        };
        PollStatus {
            interval: self.interval(),
            stale_after: self.poll_settings.stale_after,
            activity: self.timeline.activity(now),
            last: self.timeline.last.as_ref().map(ended),
            last_success_at: self.timeline.last_success_at.map(|at| at.min(now.wall)),
            last_well_at: self.timeline.last_well_at,
            held_until: pace.held_until().map(|until| now.wall_at(until)),
            slowed_to: self.timeline.slowed_to,
            zeros: self.ledger.zeros(),
            defects: self.ledger.defects(),
            has_data: self.ledger.has_data(),
            state_is_kept: self.saving.saver.is_some(),
            wrong_clock: self.clock.wrong(),
        }
    }

    fn interval(&self) -> Duration {
        self.settings.borrow().live.interval
    }

    fn publish(&mut self) {
        self.publisher.at = self.clock.moment();
        self.publisher.held_until = self.poll_settings.api.pace().held_until();
        self.publisher.is_clock_wrong = self.clock.wrong().is_some();
        (self.publisher.publish)(Arc::new(self.snapshot()), self.status());
    }

    /// Returns whether the last publication is outdated without a new read: a clock was set, a hold
    /// began or ended, data became stale, or the judgement is too old.
    fn is_outdated(&self) -> bool {
        let Publisher {
            at,
            held_until,
            is_clock_wrong,
            ..
        } = self.publisher;
        let now = self.clock.moment();
        let expected = at.wall_at(now.monotonic);
        let jump = now.wall.since(expected).max(expected.since(now.wall));
        jump > JUMP
            || now.monotonic - at.monotonic >= JUDGED_EVERY
            || self.clock.wrong().is_some() != is_clock_wrong
            || self.poll_settings.api.pace().held_until() != held_until
            || self
                .ledger
                .became_stale(self.poll_settings.stale_after, at, now)
    }

    /// Applies and publishes the live settings of a reload.
    fn follow_settings(&mut self) {
        self.exclude();
        self.publish();
    }

    /// Applies `filter.exclude_languages`.
    fn exclude(&mut self) {
        let live = Arc::clone(&self.settings.borrow().live);
        let now = self.clock.now();
        self.saving.is_changed |= self.ledger.exclude(&live.excluded_languages, now);
    }

    /// Hands the state to the saver, if there is a state file.
    pub fn save(&mut self) {
        self.saving.save(|| SavedState {
            last_success_at: self.timeline.last_success_at,
            last_well_at: self.timeline.last_well_at,
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
