//! The status of polling: the poll under way and the outcome of the last one.

use crate::{
    domain::{PollFailure, Stop},
    support::{clock::Timestamp, hint::Failure},
};
use std::time::Duration;

/// A poll under way, or the outcome of one that has ended.
#[derive(Debug, Clone, Default)]
pub struct PollOutcome {
    pub since: Timestamp,
    pub ended_at: Timestamp,
    pub duration: Duration,
    /// True once the listing has reached its end.
    pub is_listed: bool,
    /// The number of repositories to read. While the poll reads the listing, it is the number that
    /// the listing has shown so far.
    pub total: usize,
    /// The number of repositories read in full.
    pub read: usize,
    /// The number of repositories whose last request failed.
    pub failed: usize,
    /// The reason why the poll ended early, read nothing or could not list everything.
    pub stop: Option<Stop>,
}

impl PollOutcome {
    /// Returns the first reason why the poll did not read everything, or `None` if it did.
    pub fn failure(&self) -> Option<PollFailure> {
        match &self.stop {
            Some(stop) => Some(stop.reason),
            // A signal has ended the poll.
            None if !self.is_listed => Some(PollFailure::Listing),
            None => (self.unread() > 0).then_some(PollFailure::Repositories),
        }
    }

    /// Returns the failure that ended the poll or its listing early.
    pub fn cut_short(&self) -> Option<&Failure> {
        self.stop.as_ref().map(|stop| &stop.failure)
    }

    /// Returns whether the API or the key failed as a whole. The failures of single repositories
    /// are then unknown.
    pub fn is_outage(&self) -> bool {
        let stop = self.stop.as_ref();
        stop.is_some_and(|stop| stop.reason != PollFailure::Listing)
    }

    pub fn unread(&self) -> usize {
        self.total - self.read
    }

    /// Returns the number of repositories that are left to the next poll.
    pub fn left(&self) -> usize {
        self.unread() - self.failed
    }

    /// Returns whether the poll could list all repositories and read one of those it asked for.
    pub fn is_up(&self) -> bool {
        self.is_listed && !self.is_outage() && (self.read > 0 || self.total == 0)
    }

    /// Returns whether the poll read everything.
    pub fn is_success(&self) -> bool {
        self.failure().is_none()
    }

    /// Returns whether the poll read everything apart from a few repositories: fewer than five, or
    /// than a tenth. A repository that never works would otherwise hide an outage.
    pub fn is_well(&self) -> bool {
        let is_few = self.read > 0 && self.unread() < 5.max(self.total.div_ceil(10));
        self.failure()
            .is_none_or(|failure| failure == PollFailure::Repositories && is_few)
    }
}

/// The status of polling, which the poller owns. Each document has a copy,
/// so that readiness and the page can distinguish a refused key from a slow start.
#[derive(Debug, Clone, Default)]
pub struct PollStatus {
    /// The poll under way.
    pub running: Option<PollOutcome>,
    /// The start of the next poll, while the poller waits for it.
    pub next_poll_at: Option<Timestamp>,
    /// The outcome of the last poll that has ended.
    pub last: Option<PollOutcome>,
    /// The end of the last poll that [went well](PollOutcome::is_well), of an earlier process if
    /// this one had none.
    pub last_success_at: Option<Timestamp>,
    /// The end of the hold that Retry-After demanded; `None` without a hold.
    pub held_until: Option<Timestamp>,
    /// True once a completion was read or restored, or a poll read everything.
    pub has_data: bool,
    /// True if the progress clock survives a restart.
    pub state_is_kept: bool,
}

impl PollStatus {
    /// Returns whether the last poll was an outage, or the first poll has not shown yet that it is
    /// none.
    pub fn is_outage(&self) -> bool {
        self.last.as_ref().is_none_or(PollOutcome::is_outage)
    }
}
