//! The hold that Retry-After asks for, as it is shown.

use crate::{clock::Moment, model::Timestamp};
use tokio::time::Instant;

/// What is known of the hold, if there is one.
#[derive(Debug, Default)]
pub(super) struct Hold {
    /// By the monotonic clock, and by the wall clock as it was when the hold was first seen.
    until: Option<(Instant, Timestamp)>,
}

impl Hold {
    pub fn until(&self) -> Option<Instant> {
        self.until.map(|(until, _)| until)
    }

    /// Notes how long requests are held now, and returns the end to show.
    pub fn follow(&mut self, held_until: Option<Instant>, now: Moment) -> Option<Timestamp> {
        if self.until() != held_until {
            self.until =
                held_until.map(|until| (until, now.wall.saturating_add(until - now.monotonic)));
        }
        self.until.map(|(_, shown)| shown)
    }
}
