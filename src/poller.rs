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

use save::SaveTimes;
pub use save::Saver;

use crate::{
    api::{Api, PollEnd},
    domain::{
        Failure, PollFailure, Stop,
        filter::{Filter, LanguageFilter},
        links::Links,
        snapshot::{Activity, PollOutcome, PollStatus, Running, Snapshot, Step},
        targets::Targets,
    },
    metrics::instruments::Instruments,
    state::{Memory, Problems},
    support::{
        clock::{Clock, Moment, Timestamp},
        humanize::Rough,
    },
};
use globset::GlobSet;
use ledger::Ledger;
use std::{sync::Arc, time::Duration};
use steps::Round;
use tokio::{sync::watch, time::Instant};

/// What has been read is published at least this often.
const PUBLISH_EVERY: Duration = Duration::from_secs(5);

/// By how much the clock must be behind, or set, to matter.
const JUMP: Duration = Duration::from_secs(1);

/// What a poll does. Replaced by a reload: the interval, the targets, the links and the languages that are excluded anew are in
/// force at once, as is the rate of requests; the others from the next poll.
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
    pub filter: Filter,
    pub excluded_languages: LanguageFilter,
    /// The completion that means finished.
    pub completion_scale: f64,
    pub targets: Arc<Targets>,
    pub links: Arc<Links>,
    /// The repositories to read, by name; an empty set reads all. The others stay as they are known.
    pub only: GlobSet,
}

/// What publishes; it must not block.
pub type Publish = Box<dyn Fn(Arc<Snapshot>, PollStatus) + Send + Sync>;

/// Polls on an interval, and publishes what it knows.
pub struct Poller<A> {
    settings: watch::Receiver<Arc<Settings<A>>>,
    /// Those of the poll under way, or else of the last one.
    poll_settings: Arc<Settings<A>>,
    publish: Publish,
    clock: Clock,
    instruments: Arc<Instruments>,
    saver: Option<Saver>,
    ledger: Ledger,
    /// Whether a listing was complete, or data came from the state file.
    has_data: bool,
    /// The last poll that has ended.
    last: Option<PollOutcome>,
    last_success_at: Option<Timestamp>,
    /// When the poll under way began.
    began: Option<Moment>,
    /// How far the poll under way has come.
    pub progress: watch::Sender<Step>,
    /// When the next poll begins, while it is waited for.
    next_poll: Option<Instant>,
    /// When it was last published.
    published: Moment,
    /// When the task of [`Self::run`] last ran: at least every few seconds, whatever it waits for, unless it is blocked
    /// or lost.
    pub alive: watch::Sender<Instant>,
    /// When each problem that lasts began: restored from the state file, replaced by the task that
    /// judges, and saved with the rest.
    pub problems: watch::Sender<Problems>,
    saved_problems: Problems,
    /// Whether there are unsaved data.
    unsaved: bool,
    saves: SaveTimes,
    /// Digest of the bad entries of the last complete listing, so that they are logged once per change.
    bad_entries: u64,
    /// How long was waited after the last poll, if it found the API failing as a whole while there were no languages to show.
    retry: Option<Duration>,
}

impl<A: Api> Poller<A> {
    /// `memory` is the content of the state file, if there is any.
    pub fn new(
        settings: watch::Receiver<Arc<Settings<A>>>,
        memory: Option<Memory>,
        saver: Option<Saver>,
        clock: Clock,
        instruments: Arc<Instruments>,
        publish: Publish,
    ) -> Self {
        let mut memory = memory.unwrap_or_default();
        let problems = std::mem::take(&mut memory.problems);
        // `once` keeps a state even where it could list nothing.
        let has_data = !memory.repositories.is_empty();
        let now = clock.moment();
        let poll_settings = Arc::clone(&settings.borrow());
        let mut ledger = Ledger::restore(memory, now.wall);
        // The filters may differ from those of the process that wrote it.
        ledger.reselect(&poll_settings.filter, now.wall);
        ledger.exclude(&poll_settings.excluded_languages, now.wall);
        ledger.follow_scale(poll_settings.completion_scale);
        Self {
            settings,
            poll_settings,
            publish,
            clock,
            instruments,
            saver,
            ledger,
            has_data,
            last: None,
            last_success_at: None,
            began: None,
            progress: watch::Sender::new(Step::Listing { shown: 0 }),
            next_poll: None,
            published: now,
            alive: watch::Sender::new(now.monotonic),
            saved_problems: problems.clone(),
            problems: watch::Sender::new(problems),
            unsaved: false,
            saves: SaveTimes::new(now.monotonic),
            bad_entries: 0,
            retry: None,
        }
    }

    /// Polls once. What it read last is published afterwards, together with the time of the next poll.
    pub async fn poll(&mut self) -> PollOutcome {
        let settings = Arc::clone(&self.settings.borrow_and_update());
        self.poll_settings = Arc::clone(&settings);
        self.ledger.follow_scale(settings.completion_scale);
        let began = self.clock.moment();
        self.began = Some(began);
        self.progress.send_replace(Step::Listing { shown: 0 });
        if self.last.is_none() {
            self.publish();
        }
        let mut round = Round::begin();
        // The key and the certificates may be on a disk that hangs.
        match self.wait_for(settings.api.begin(), &mut round).await {
            Ok(session) => {
                let listing = self.list(&session, &mut round).await;
                self.read(&session, &mut round, listing.err()).await;
            }
            Err(end) => {
                round.outcome.unreached = self.ledger.polled();
                round.listing_failure = Some(end.failure.clone());
                round.end = Some(end);
            }
        }
        self.conclude(round, began.monotonic.elapsed())
    }

    /// Reports how a poll ended.
    fn conclude(&mut self, round: Round, duration: Duration) -> PollOutcome {
        let Round {
            mut outcome,
            listing_failure,
            end,
            log,
            ..
        } = round;
        let now = self.clock.moment();
        self.ledger.forget_excess();
        outcome.ended_at = now.wall;
        outcome.duration = duration;
        // A failure lasts since the first of the polls in a row that failed at this step, for whatever reason.
        let before = self.last.as_ref();
        let listing_before = before.and_then(|before| before.listing.as_ref());
        outcome.listing = listing_failure.map(|failure| failure.lasting(listing_before, now.wall));
        let stop_before = before.and_then(|before| before.stop.as_ref());
        let stop_before = stop_before.map(|stop| &stop.lasting);
        outcome.stop = end.map(|PollEnd { reason, failure }| Stop {
            reason,
            lasting: failure.lasting(stop_before, now.wall),
        });
        self.instruments.poll_ended(outcome.failure());
        if outcome.failure() == Some(PollFailure::Unavailable) {
            self.poll_settings.api.forget_pace();
        }
        if duration > self.settings.borrow().interval {
            self.instruments.poll_overran();
        }
        if outcome.cut_short().is_none() {
            self.ledger.last_full_poll = Some(duration);
        }
        if outcome.is_success() {
            self.last_success_at = Some(now.wall);
        }
        log.end();
        log::outcome(before, &outcome);
        self.began = None;
        self.next_poll = None;
        self.last = Some(outcome.clone());
        self.save_changes();
        outcome
    }

    /// Reports how far a poll came whose future was dropped.
    pub fn interrupted(&self) -> PollOutcome {
        let now = self.clock.moment();
        let began = self.began.unwrap_or(now);
        let mut outcome = PollOutcome {
            ended_at: now.wall,
            duration: now.monotonic - began.monotonic,
            ..PollOutcome::default()
        };
        match *self.progress.borrow() {
            Step::Listing { .. } => {
                let hint = "poll again, without ending it early";
                let failure = Failure::new("the poll was stopped", hint);
                outcome.listing = Some(failure.since(now.wall));
                outcome.unreached = self.ledger.polled();
            }
            Step::Reading {
                of, tried, read, ..
            } => {
                outcome.read = read;
                outcome.failed = tried - read;
                outcome.unreached = of - tried;
            }
        }
        outcome
    }

    /// How old a repository's last good data may be before they are stale: while polls follow each other, each repository is
    /// read before that, however long they take.
    fn staleness_limit(&self) -> Duration {
        let under_way = self.began.map(|began| began.monotonic.elapsed());
        let longest_poll = self
            .ledger
            .last_full_poll
            .max(under_way)
            .unwrap_or_default();
        let limit = longest_poll.saturating_mul(2);
        self.poll_settings.stale_after.max(limit)
    }

    /// What is known now.
    pub fn snapshot(&self) -> Snapshot {
        let settings = self.settings.borrow();
        self.ledger.snapshot(
            self.poll_settings.completion_scale,
            Arc::clone(&settings.targets),
            Arc::clone(&settings.links),
            self.staleness_limit(),
            self.clock.moment(),
        )
    }

    /// The state of polling.
    pub fn status(&self) -> PollStatus {
        let now = self.clock.moment();
        let at = |moment: Instant| now.wall.saturating_add(moment - now.monotonic);
        let step = *self.progress.borrow();
        PollStatus {
            interval: self.settings.borrow().interval,
            activity: match self.began {
                Some(Moment { wall: since, .. }) => Activity::Polling(Running { since, step }),
                None => Activity::Waiting(self.next_poll.map(at)),
            },
            last: self.last.clone(),
            last_success_at: self.last_success_at,
            held_until: self.poll_settings.api.held_until().map(at),
            pace: self.poll_settings.api.pace(),
            zeros: self.ledger.zeros(),
            has_data: self.has_data,
            state_is_kept: self.saver.is_some(),
        }
    }

    /// What the state file keeps.
    pub fn memory(&self) -> Memory {
        Memory {
            problems: self.problems.borrow().clone(),
            ..self.ledger.memory()
        }
    }

    fn publish(&mut self) {
        self.published = self.clock.moment();
        self.report_clock();
        (self.publish)(Arc::new(self.snapshot()), self.status());
    }

    /// Puts what does not wait for the next poll into force: the targets, the links and the languages that are excluded.
    fn follow_settings(&mut self) {
        let now = self.clock.now();
        self.ledger
            .exclude(&self.settings.borrow().excluded_languages, now);
        self.publish();
    }

    /// Says whether the wall clock is behind what is known.
    fn report_clock(&self) {
        let now = self.clock.moment();
        let behind = self.ledger.clock_behind(now.wall);
        let failure = (behind >= JUMP).then(|| {
            let by = Rough(behind);
            let what = format!("it is {by} behind the newest time that was recorded");
            let hint = "set the clock of this machine; if it is right, later times are set to it once the API's clock agrees with it";
            Failure::new(what, hint)
        });
        self.instruments.clock_behind(failure, now.wall);
    }

    /// Whether the machine's clock was set since the last publication.
    fn clock_was_set(&self) -> bool {
        let (before, now) = (self.published, self.clock.moment());
        let expected = before.wall.saturating_add(now.monotonic - before.monotonic);
        now.wall.since(expected).max(expected.since(now.wall)) > JUMP
    }

    /// Saves if anything has changed since the last save: an outage must not rewrite a large file again
    /// and again.
    fn save_changes(&mut self) {
        let have_problems_changed = *self.problems.borrow() != self.saved_problems;
        if self.unsaved || have_problems_changed {
            self.save();
        }
    }

    /// Hands over everything that is known to be saved, if there is a state file.
    pub fn save(&mut self) {
        self.unsaved = false;
        self.saves.saved(Instant::now());
        self.saved_problems.clone_from(&self.problems.borrow());
        if let Some(saver) = &self.saver {
            saver.save(self.memory());
        }
    }
}

#[cfg(test)]
mod tests;
