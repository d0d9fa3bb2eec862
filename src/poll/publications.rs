//! When what a poll has read so far is published.

use std::time::Duration;
use tokio::time::{Instant, sleep_until};

/// What has been read is published at least this often.
pub(super) const PUBLISH_EVERY: Duration = Duration::from_secs(5);
/// The first publication of what a poll reads; from there the waits double up to [`PUBLISH_EVERY`].
const FIRST_PUBLISH: Duration = Duration::from_millis(250);

/// When the next publication within a poll is due: soon at first, so that a start shows something, then ever later.
#[derive(Debug)]
pub(super) struct Publications {
    wait: Duration,
    due: Instant,
    count: u32,
}

impl Publications {
    pub fn begin() -> Self {
        Self { wait: FIRST_PUBLISH, due: Instant::now() + FIRST_PUBLISH, count: 0 }
    }

    pub fn is_first(&self) -> bool {
        self.count == 0
    }

    /// Waits until it is time; the next time is set then.
    pub async fn wait(&mut self) {
        sleep_until(self.due).await;
        self.count += 1;
        self.wait = (self.wait * 2).min(PUBLISH_EVERY);
        self.due = Instant::now() + self.wait;
    }
}
