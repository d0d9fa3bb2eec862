//! The poller: reads every repository at an interval, publishes snapshots, and saves the state.
//!
//! - [`PollLoop`] decides when a poll begins.
//! - [`poll`] reads the listing, then the languages of each repository. Its [`queue`] decides which
//!   repository is next, and holds the circuit breaker.
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
        Failure,
        snapshot::{PollOutcome, PollStatus, Snapshot, Step},
    },
    metrics::instruments::Instruments,
    state::{Memory, Problems},
    support::{
        clock::{Clock, Moment},
        humanize::Rough,
    },
};
use ledger::Ledger;
use save::Saving;
use std::{sync::Arc, time::Duration};
use timeline::Timeline;
use tokio::{sync::watch, time::Instant};

/// A jump of the wall clock, or a delay of it, that is reported.
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
    publication: Publication,
}

/// The function that publishes, and the last publication.
struct Publication {
    publish: Publish,
    at: Moment,
    held_until: Option<Instant>,
}

impl<A: Api> Poller<A> {
    /// `memory` is the content of the state file, if there is any.
    pub fn new(
        settings: watch::Receiver<Settings<A>>,
        memory: Option<Memory>,
        saver: Option<Saver>,
        clock: Clock,
        instruments: Arc<Instruments>,
        publish: Publish,
    ) -> Self {
        let mut memory = memory.unwrap_or_default();
        let now = clock.moment();
        let poll_settings = Arc::clone(&settings.borrow().poll);
        let saving = Saving::new(saver, std::mem::take(&mut memory.problems));
        let timeline = Timeline::new(memory.last_full_poll);
        let mut ledger = Ledger::restore(memory, now.wall);
        // The process that saved the state may have had other filters.
        ledger.reselect(&poll_settings.filter, now.wall);
        ledger.exclude(&settings.borrow().live.excluded_languages, now.wall);
        ledger.follow_scale(poll_settings.completion_scale);
        Self {
            settings,
            poll_settings,
            clock,
            instruments,
            ledger,
            timeline,
            saving,
            publication: Publication {
                publish,
                at: now,
                held_until: None,
            },
        }
    }

    /// Returns the start of each lasting problem, to be replaced by the task that judges.
    pub fn problems(&self) -> watch::Sender<Problems> {
        self.saving.problems.clone()
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

    /// Returns the age at which a repository's data become stale. Polls that follow each other read
    /// each repository before that, however long they take.
    fn staleness_limit(&self) -> Duration {
        let longest_poll = self.timeline.longest_poll(self.clock.moment());
        self.poll_settings
            .stale_after
            .max(longest_poll.saturating_mul(2))
    }

    pub fn snapshot(&self) -> Snapshot {
        let live = Arc::clone(&self.settings.borrow().live);
        self.ledger.snapshot(
            self.poll_settings.completion_scale,
            Arc::clone(&live.targets),
            Arc::clone(&live.links),
            self.staleness_limit(),
            self.clock.moment(),
        )
    }

    pub fn status(&self) -> PollStatus {
        let now = self.clock.moment();
        let api = &self.poll_settings.api;
        PollStatus {
            interval: self.interval(),
            activity: self.timeline.activity(now),
            last: self.timeline.last.clone(),
            last_success_at: self.timeline.last_success_at,
            held_until: api.held_until().map(|until| now.wall_at(until)),
            pace: api.pace(),
            zeros: self.ledger.zeros(),
            has_data: self.ledger.has_data(),
            state_is_kept: self.saving.saver.is_some(),
        }
    }

    fn interval(&self) -> Duration {
        self.settings.borrow().live.interval
    }

    fn publish(&mut self) {
        self.publication.at = self.clock.moment();
        self.publication.held_until = self.poll_settings.api.held_until();
        self.report_clock();
        (self.publication.publish)(Arc::new(self.snapshot()), self.status());
    }

    /// Tells whether the last publication is outdated without a new read: the machine's clock was
    /// set, a hold began or ended, or data became stale.
    fn is_outdated(&self) -> bool {
        let Publication { at, held_until, .. } = self.publication;
        let now = self.clock.moment();
        let expected = at.wall_at(now.monotonic);
        let jump = now.wall.since(expected).max(expected.since(now.wall));
        jump > JUMP
            || self.poll_settings.api.held_until() != held_until
            || self.ledger.became_stale(self.staleness_limit(), at, now)
    }

    /// Applies and publishes the live settings of a reload.
    fn follow_settings(&mut self) {
        let live = Arc::clone(&self.settings.borrow().live);
        let now = self.clock.now();
        self.ledger.exclude(&live.excluded_languages, now);
        self.publish();
    }

    /// Reports whether the wall clock is behind the newest recorded time.
    fn report_clock(&self) {
        let now = self.clock.now();
        let behind = self.ledger.clock_behind(now);
        let failure = (behind >= JUMP).then(|| {
            let by = Rough(behind);
            let what = format!("it is {by} behind the newest time that was recorded");
            let hint = "set the clock of this machine; if it is right, later times are set to it \
                        once the API's clock agrees with it";
            Failure::new(what, hint)
        });
        self.instruments.clock_behind(failure, now);
    }

    /// Hands the memory to the saver, if there is a state file.
    pub fn save(&mut self) {
        self.saving.save(|| Memory {
            last_full_poll: self.timeline.last_full_poll,
            ..self.ledger.memory()
        });
    }

    fn save_changes(&mut self) {
        if self.saving.has_changes() {
            self.save();
        }
    }
}

#[cfg(test)]
mod tests;
