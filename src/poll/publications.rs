//! When what a poll has read so far is published.

use std::{pin::Pin, time::Duration};
use tokio::time::{Instant, Sleep, sleep_until};

/// What has been read is published at least this often.
pub(super) const PUBLISH_EVERY: Duration = Duration::from_secs(5);
/// The wait for the first publication of a poll; from there the waits double up to [`PUBLISH_EVERY`].
const FIRST_PUBLISH: Duration = Duration::from_millis(250);

/// When the next publication within a poll is due: soon at first, so that a start shows something, then less often.
#[derive(Debug)]
pub(super) struct Publications {
    wait: Duration,
    /// Survives interrupted waits, of which there is one for every answer.
    due: Pin<Box<Sleep>>,
}

impl Publications {
    pub fn begin() -> Self {
        Self {
            wait: FIRST_PUBLISH,
            due: Box::pin(sleep_until(Instant::now() + FIRST_PUBLISH)),
        }
    }

    /// Waits until it is time; the next time is set then.
    pub async fn wait(&mut self) {
        self.due.as_mut().await;
        self.wait = (self.wait * 2).min(PUBLISH_EVERY);
        self.due.as_mut().reset(Instant::now() + self.wait);
    }
}
