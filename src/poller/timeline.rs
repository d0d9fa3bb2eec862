//! The times and outcomes of polls: the poll under way, the last polls and the next one.

use crate::{
    domain::{
        Failure, Stop,
        polling::{Activity, PollOutcome, Running, Step},
    },
    state::SavedState,
    support::clock::{Moment, Timestamp},
};
use std::time::Duration;
use tokio::{sync::watch, time::Instant};

/// The times and outcomes of polls.
#[derive(Debug)]
pub struct Timeline {
    /// The start of the poll under way.
    began: Option<Instant>,
    /// The progress of the poll under way, or of the last one.
    pub step: watch::Sender<Step>,
    /// The start of the next poll, while the poller waits for it.
    pub next_poll: Option<Instant>,
    /// The outcome of the last poll that has ended.
    pub last: Option<PollOutcome>,
    /// The end of the last poll that read everything, of an earlier process if this one had none.
    pub last_success_at: Option<Timestamp>,
    /// The end of the last poll that [went well](PollOutcome::is_well).
    pub last_well_at: Option<Timestamp>,
    /// The rate, in requests per second, to which refusals had slowed the last poll by its end.
    pub slowed_to: Option<f64>,
}

impl Timeline {
    /// Creates a timeline that continues the one of `saved`.
    pub fn new(saved: &SavedState) -> Self {
        Self {
            began: None,
            step: watch::Sender::new(Step::Listing { shown: 0 }),
            next_poll: None,
            last: None,
            last_success_at: saved.last_success_at,
            last_well_at: saved.last_well_at,
            slowed_to: None,
        }
    }

    /// Notes that a poll begins.
    pub fn begin(&mut self, now: Instant) {
        self.began = Some(now);
        self.step.send_replace(Step::Listing { shown: 0 });
    }

    /// Notes that the poll under way has ended. Adds the times to its outcome. A failure dates from
    /// the first of the consecutive polls that failed at the same step; the key is a step of its
    /// own.
    pub fn end(&mut self, mut outcome: PollOutcome, now: Moment) -> PollOutcome {
        outcome.ended_at = now.wall;
        outcome.duration = self.duration(now).unwrap_or_default();
        if let Some(before) = &self.last {
            let listing_before = before.listing_failure.as_ref();
            let listing_failure = outcome.listing_failure;
            outcome.listing_failure =
                listing_failure.map(|failure| failure.continuing(listing_before));
            outcome.stop = outcome.stop.map(|stop| {
                let before = before.stop.as_ref();
                let before = before.filter(|before| before.is_of_key() == stop.is_of_key());
                Stop {
                    failure: stop
                        .failure
                        .continuing(before.map(|before| &before.failure)),
                    ..stop
                }
            });
        }
        self.began = None;
        self.next_poll = None;
        self.last = Some(outcome.clone());
        outcome
    }

    /// Notes the success of a poll of all repositories.
    pub fn note_success(&mut self, outcome: &PollOutcome) {
        if outcome.is_success() {
            self.last_success_at = Some(outcome.ended_at);
        }
        if outcome.is_well() {
            self.last_well_at = Some(outcome.ended_at);
        }
    }

    /// Returns the outcome of a poll whose future was dropped; `polled` repositories are known.
    pub fn interrupted(&self, polled: usize, now: Moment) -> PollOutcome {
        let mut outcome = PollOutcome {
            ended_at: now.wall,
            duration: self.duration(now).unwrap_or_default(),
            ..PollOutcome::default()
        };
        match *self.step.borrow() {
            Step::Listing { .. } => {
                let hint = "poll again, without ending it early";
                let failure = Failure::new("the poll was stopped", hint, now.wall);
                outcome.listing_failure = Some(failure);
                outcome.unreached = polled;
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

    /// Returns the duration of the poll under way so far.
    fn duration(&self, now: Moment) -> Option<Duration> {
        self.began.map(|began| now.monotonic - began)
    }

    pub fn activity(&self, now: Moment) -> Activity {
        match self.duration(now) {
            // The clock may have been set since the start.
            Some(duration) => Activity::Polling(Running {
                since: now.wall.saturating_sub(duration),
                step: *self.step.borrow(),
            }),
            None => Activity::Waiting(self.next_poll.map(|at| now.wall_at(at))),
        }
    }
}
