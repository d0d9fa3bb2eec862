//! The poller: when it polls, what one poll does, and what it publishes.
//!
//! A poll lists all repositories and then reads each one's languages, the oldest attempt first. What was read is
//! published while the poll continues, and what was known stays until something newer is known: see `ledger`.
//! Nothing here knows HTTP; requests go through [`Api`].

mod ledger;
mod log;
mod queue;
mod save;
mod schedule;
mod steps;

pub use save::Saver;

use crate::{
    api::Api,
    clock::{Clock, Moment},
    config::FilterConfig,
    instruments::Instruments,
    model::{Failure, PollFailure, Stop, Timestamp},
    snapshot::{
        Activity, DataSource, PollOutcome, PollStatus, Running, Snapshot, Step, staleness_limit,
    },
    state::Memory,
    targets::Targets,
    words::Rough,
};
use ledger::Ledger;
use std::{sync::Arc, time::Duration};
use steps::Round;
use tokio::{sync::watch, time::Instant};

/// What has been read is published at least this often.
const PUBLISH_EVERY: Duration = Duration::from_secs(5);

/// How far behind the clock must be to be reported.
const JUMP: Duration = Duration::from_secs(1);

/// What a poll does. Replaced by a reload: the interval, the targets and the languages that are excluded anew are in force at
/// once, as is the rate of requests; the others from the next poll.
#[derive(Debug)]
pub struct Settings<A> {
    pub api: A,
    /// Requests in flight at once, at least 1.
    pub concurrency: usize,
    /// The time from the start of one poll to that of the next.
    pub interval: Duration,
    pub stale_after: Duration,
    /// A listing that shows more is not read any further.
    pub max_repositories: usize,
    pub filter: FilterConfig,
    /// The completion that means finished.
    pub completion_scale: f64,
    pub targets: Arc<Targets>,
}

/// Polls on an interval, and publishes what it knows through `publish`, which must not block; `None` if only the end of a
/// poll matters.
#[derive(Debug)]
pub struct Poller<A, P> {
    settings: watch::Receiver<Arc<Settings<A>>>,
    /// Those of the last poll, until the next one begins.
    in_force: Arc<Settings<A>>,
    publish: Option<P>,
    clock: Clock,
    instruments: Arc<Instruments>,
    saver: Option<Saver>,
    ledger: Ledger,
    status: PollStatus,
    last_full_poll: Option<Duration>,
    /// When the poll under way began.
    began: Option<Instant>,
    progress: watch::Sender<Step>,
    /// When it was last published.
    published: Instant,
    /// When the task of [`Self::run`] last ran.
    alive: watch::Sender<Instant>,
    /// Whether there are unsaved data.
    unsaved: bool,
    last_save: Instant,
    /// Digest of the bad entries of the last complete listing, so that they are logged once per change.
    bad_entries: u64,
    /// How many polls in a row found the API failing as a whole while there were no languages to show.
    failed_starts: u32,
}

impl<A, P> Poller<A, P>
where
    A: Api,
    P: Fn(Arc<Snapshot>, PollStatus) + Send + Sync,
{
    /// `memory` is the content of the state file, if there is any.
    pub fn new(
        settings: watch::Receiver<Arc<Settings<A>>>,
        memory: Option<Memory>,
        saver: Option<Saver>,
        clock: Clock,
        instruments: Arc<Instruments>,
        publish: Option<P>,
    ) -> Self {
        let memory = memory.unwrap_or_default();
        let status = PollStatus {
            interval: settings.borrow().interval,
            activity: Activity::Waiting(None),
            last: None,
            last_success_at: None,
            held_until: None,
            // `once` keeps a state even where it could list nothing.
            data: if memory.repositories.is_empty() {
                DataSource::None
            } else {
                DataSource::StateFile
            },
            state_is_kept: saver.is_some(),
        };
        let last_full_poll = memory.last_full_poll;
        let mut ledger = Ledger::restore(memory, clock.now());
        // The filters may differ from those of the process that wrote it.
        ledger.reselect(&settings.borrow().filter, clock.now());
        let in_force = Arc::clone(&settings.borrow());
        let now = Instant::now();
        let mut poller = Self {
            settings,
            in_force,
            publish,
            clock,
            instruments,
            saver,
            ledger,
            status,
            last_full_poll,
            began: None,
            progress: watch::Sender::new(Step::Listing { shown: 0 }),
            published: now,
            alive: watch::Sender::new(now),
            unsaved: false,
            last_save: now,
            bad_entries: 0,
            failed_starts: 0,
        };
        poller.follow_the_clock();
        poller
    }

    /// How far the poll under way has come.
    pub fn progress(&self) -> watch::Receiver<Step> {
        self.progress.subscribe()
    }

    /// When the task of [`Self::run`] last ran: at least every few seconds, whatever it waits for, unless it is blocked
    /// or lost.
    pub fn alive(&self) -> watch::Receiver<Instant> {
        self.alive.subscribe()
    }

    /// Polls once. What it read last is published afterwards, together with the time of the next poll.
    pub async fn poll(&mut self) -> PollOutcome {
        let settings = Arc::clone(&self.settings.borrow_and_update());
        self.in_force = Arc::clone(&settings);
        let (started, since) = (Instant::now(), self.clock.now());
        self.began = Some(started);
        self.instruments.poll_under_way(Some(since));
        self.status.interval = settings.interval;
        let step = Step::Listing { shown: 0 };
        self.status.activity = Activity::Polling(Running { since, step });
        self.progress.send_replace(step);
        if self.status.last.is_none() {
            self.publish();
        }
        let mut round = Round::begin();
        match settings.api.begin().await {
            Ok(session) => {
                let listing = self.list(&session, &mut round).await;
                self.read(&session, &mut round, listing).await;
            }
            Err(failure) => {
                round.outcome.unreached = self.ledger.polled();
                round.outcome.listing = Some(failure.clone());
                let reason = PollFailure::KeyFile;
                round.outcome.ended_early = Some(Stop { reason, failure });
            }
        }
        self.conclude(round, started.elapsed())
    }

    /// Reports how a poll ended.
    fn conclude(&mut self, round: Round, duration: Duration) -> PollOutcome {
        let Round {
            mut outcome, log, ..
        } = round;
        let now = self.clock.now();
        self.follow_the_hold();
        self.ledger.forget_departed(now);
        outcome.ended_at = now;
        outcome.duration = duration;
        let before = self.status.last.as_ref();
        let listing_before = before.and_then(|before| before.listing.as_ref());
        date_back(outcome.listing.as_mut(), listing_before, now);
        let stop_before = before.and_then(|before| before.ended_early.as_ref());
        date_back(
            outcome.ended_early.as_mut().map(|stop| &mut stop.failure),
            stop_before.map(|stop| &stop.failure),
            now,
        );
        self.instruments.poll_ended(outcome.failure());
        self.instruments.poll_under_way(None);
        if duration > self.status.interval {
            self.instruments.poll_overran();
        }
        if outcome.cut_short().is_none() {
            self.last_full_poll = Some(duration);
        }
        if outcome.is_success() {
            self.status.last_success_at = Some(now);
        }
        log.end();
        log::outcome(before, &outcome);
        self.began = None;
        self.status.activity = Activity::Waiting(None);
        self.status.last = Some(outcome.clone());
        if self.unsaved {
            self.save();
        }
        outcome
    }

    fn staleness_limit(&self) -> Duration {
        staleness_limit(
            self.in_force.stale_after,
            self.last_full_poll,
            self.began.map(|began| began.elapsed()),
        )
    }

    /// What is known now.
    pub fn snapshot(&self) -> Snapshot {
        self.ledger.snapshot(
            self.in_force.completion_scale,
            Arc::clone(&self.settings.borrow().targets),
            self.staleness_limit(),
            self.clock.moment(),
        )
    }

    /// The state of polling.
    pub fn status(&self) -> &PollStatus {
        &self.status
    }

    /// What the state file keeps.
    pub fn memory(&self) -> Memory {
        self.ledger.memory(self.last_full_poll)
    }

    fn publish(&mut self) {
        self.published = Instant::now();
        self.follow_the_clock();
        self.follow_the_hold();
        if let Some(publish) = &self.publish {
            publish(Arc::new(self.snapshot()), self.status.clone());
        }
    }

    /// Puts what does not wait for the next poll into force: the targets and the languages that are excluded.
    fn follow_settings(&mut self) {
        let settings = Arc::clone(&self.settings.borrow());
        self.ledger
            .exclude(&settings.filter.exclude_languages, self.clock.now());
        self.status.interval = settings.interval;
        self.publish();
    }

    /// Says whether the machine's clock is behind what is known.
    fn follow_the_clock(&mut self) {
        let now = self.clock.moment();
        let behind = self.ledger.follow_clock(now).filter(|by| *by >= JUMP);
        self.instruments.clock_behind(behind.map(|by| {
            let what = format!("it is {} behind the newest time that was recorded", Rough(by));
            let hint = "set the clock of this machine; if it is right, times that are later are set to now after 24 hours";
            Failure::new(now.wall, what, hint)
        }));
    }

    fn follow_the_hold(&mut self) {
        let Moment { wall, monotonic } = self.clock.moment();
        let held_until = self.in_force.api.held_until();
        self.status.held_until = held_until.map(|until| wall.saturating_add(until - monotonic));
    }

    fn save(&mut self) {
        self.unsaved = false;
        self.last_save = Instant::now();
        if let Some(saver) = &self.saver {
            saver.save(self.memory());
        }
    }
}

/// Dates a failure of a poll back to the first of the polls in a row that failed at this step, for whatever reason.
fn date_back(failure: Option<&mut Failure>, before: Option<&Failure>, now: Timestamp) {
    if let Some(failure) = failure {
        // A clock that was set back in the meantime must not date it into the future.
        failure.since = before.map_or(now, |before| before.since.min(now));
    }
}

#[cfg(test)]
mod tests;
