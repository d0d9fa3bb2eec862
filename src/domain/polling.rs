//! The status of polling: the poll under way and the outcome of the last one.

use crate::{
    domain::{Defect, Failure, Operation, PollFailure, Stop, Zeros},
    support::clock::{Timestamp, WrongClock},
};
use std::{collections::BTreeSet, time::Duration};

/// The number of unread repositories at which a poll has failed, if they are also a tenth of all.
const MANY: usize = 5;

/// The outcome of a poll.
#[derive(Debug, Clone, Default)]
pub struct PollOutcome {
    pub ended_at: Timestamp,
    pub duration: Duration,
    /// The failure of the listing; `None` if the listing reached its end.
    pub listing_failure: Option<Failure>,
    /// The reason why the poll ended early or read nothing; `None` otherwise.
    pub stop: Option<Stop>,
    /// The number of repositories read in full.
    pub read: usize,
    /// The number of repositories that could not be read.
    pub failed: usize,
    /// The number of repositories left without a response because the poll ended early.
    pub unreached: usize,
    /// The number of repositories that failed earlier and were left to later polls.
    pub postponed: usize,
}

impl PollOutcome {
    /// Returns the failure that ended the poll early, or else the failure that ended the listing.
    pub fn cut_short(&self) -> Option<&Failure> {
        let stop = self.stop.as_ref().map(|stop| &stop.failure);
        stop.or(self.listing_failure.as_ref())
    }

    /// Returns the first reason why the poll did not read everything, or `None` if it did.
    pub fn failure(&self) -> Option<PollFailure> {
        if let Some(stop) = &self.stop {
            Some(stop.reason)
        } else if self.listing_failure.is_some() {
            Some(PollFailure::Listing)
        } else if self.failed + self.unreached + self.postponed > 0 {
            Some(PollFailure::Repositories)
        } else {
            None
        }
    }

    /// Returns whether the poll read everything.
    pub fn is_success(&self) -> bool {
        self.failure().is_none()
    }

    /// Returns whether the poll read everything, apart from a few repositories: fewer than
    /// [`MANY`], or than a tenth. A repository that never works would otherwise hide an outage.
    pub fn is_well(&self) -> bool {
        let unread = self.failed + self.unreached + self.postponed;
        match self.failure() {
            None => true,
            Some(PollFailure::Repositories) => {
                self.read > 0 && unread < MANY.max((self.read + unread).div_ceil(10))
            }
            Some(_) => false,
        }
    }
}

/// The poll under way.
#[derive(Debug, Clone, Copy)]
pub struct Running {
    pub since: Timestamp,
    pub step: Step,
}

/// The progress of the poll under way.
#[derive(Debug, Clone, Copy)]
pub enum Step {
    /// The poll reads the listing, which has shown `shown` repositories so far.
    Listing { shown: usize },
    /// The poll reads repositories.
    Reading {
        /// True if the listing reached its end.
        is_listed: bool,
        /// The number of repositories to request.
        of: usize,
        /// The number of repositories that were read or failed.
        tried: usize,
        /// The number of repositories read in full.
        read: usize,
    },
}

/// The activity of the poller, which waits at first.
#[derive(Debug, Clone, Copy)]
pub enum Activity {
    Polling(Running),
    /// The poller waits for the next poll; its time may not be known yet.
    Waiting(Option<Timestamp>),
}

impl Default for Activity {
    fn default() -> Self {
        Self::Waiting(None)
    }
}

/// The status of polling. Each publication has one beside the snapshot, so that readiness and the
/// page can distinguish a refused key from a slow start.
#[derive(Debug, Clone)]
pub struct PollStatus {
    pub interval: Duration,
    /// The age at which data are stale.
    pub stale_after: Duration,
    pub activity: Activity,
    /// The outcome of the last poll that has ended.
    pub last: Option<PollOutcome>,
    /// The end of the last poll that read everything.
    pub last_success_at: Option<Timestamp>,
    /// The end of the last poll that [went well](PollOutcome::is_well).
    pub last_well_at: Option<Timestamp>,
    /// The end of the hold that Retry-After demanded; `None` without a hold.
    pub held_until: Option<Timestamp>,
    /// The rate, in requests per second, to which refusals had slowed the last poll by its end;
    /// `None` if they had not slowed it.
    pub slowed_to: Option<f64>,
    /// The zeros that the API spells out or leaves out.
    pub zeros: Zeros,
    /// The defects of the current responses.
    pub defects: BTreeSet<(Operation, Defect)>,
    /// True once a listing was complete, or data came from the state file.
    pub has_data: bool,
    /// True if the progress clock survives a restart.
    pub state_is_kept: bool,
    /// `None` while the clock of the machine agrees with the API's.
    pub wrong_clock: Option<WrongClock>,
}

impl PollStatus {
    /// Returns the poll under way.
    pub fn running(&self) -> Option<Running> {
        match self.activity {
            Activity::Polling(running) => Some(running),
            Activity::Waiting(_) => None,
        }
    }

    /// Returns the start of the next poll while none is under way.
    pub fn next_poll_at(&self) -> Option<Timestamp> {
        match self.activity {
            Activity::Polling(_) => None,
            Activity::Waiting(until) => until,
        }
    }
}
