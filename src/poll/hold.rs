//! The hold that Retry-After asks for, as it is shown and logged.

use super::publications::PUBLISH_EVERY;
use crate::{clock::Moment, model::Timestamp};
use tokio::time::Instant;

/// What is known of the hold of all requests, if there is one.
#[derive(Debug, Default)]
pub(super) struct Hold {
    /// By the monotonic clock, and by the wall clock as it was when the hold was first seen.
    until: Option<(Instant, Timestamp)>,
    is_logged: bool,
}

impl Hold {
    pub fn until(&self) -> Option<Instant> {
        self.until.map(|(until, _)| until)
    }

    /// Takes note of how long requests are held now, logs the begin and the end, and returns the end to be shown.
    pub fn follow(&mut self, held_until: Option<Instant>, now: Moment) -> Option<Timestamp> {
        if self.until() != held_until {
            self.until = held_until.map(|until| (until, now.wall.saturating_add(until - now.monotonic)));
        }
        match self.until {
            // A shorter one would be over as soon as it is seen.
            Some((until, shown)) if !self.is_logged && until - now.monotonic > PUBLISH_EVERY => {
                self.is_logged = true;
                tracing::warn!(until = %shown, "the API asks for a pause (Retry-After): no request is sent until its end");
            }
            None if self.is_logged => {
                self.is_logged = false;
                tracing::info!("the pause that the API asked for (Retry-After) is over");
            }
            _ => {}
        }
        self.until.map(|(_, shown)| shown)
    }
}
