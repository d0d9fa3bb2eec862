//! Writes the state file beside the polling, so that no poll waits for a disk.

use crate::{
    domain::Failure,
    metrics::instruments::Instruments,
    state::{Memory, StateError, StateFile},
    support::clock::Clock,
};
use std::{sync::Arc, time::Duration};
use tokio::{sync::watch, time::Instant};

/// How soon a failed write is tried again.
const RETRY: Duration = Duration::from_secs(60);

/// How soon after its first save a process saves again during a poll; from there the waits double up
/// to the longest. A process that is killed early therefore leaves a state, and a long poll costs few
/// writes.
const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(5 * 60);

/// When a poll saves what it has read so far.
#[derive(Debug)]
pub struct SaveTimes {
    /// Whether this process has saved anything.
    pub has_begun: bool,
    /// When to save next.
    pub next: Instant,
    wait: Duration,
}

impl SaveTimes {
    pub fn new(now: Instant) -> Self {
        Self {
            has_begun: false,
            next: now,
            wait: FIRST_WAIT,
        }
    }

    /// Something was saved at `now`.
    pub fn saved(&mut self, now: Instant) {
        self.has_begun = true;
        self.next = now + self.wait;
        self.wait = LONGEST_WAIT.min(self.wait * 2);
    }
}

/// Hands over what to write; only the newest is written.
#[derive(Debug)]
pub struct Saver(watch::Sender<Arc<Memory>>);

impl Saver {
    /// A saver, and the task that writes what it is given. The caller must watch the task: it ends once the saver is
    /// dropped and its newest memory is written; if it ends earlier, nothing is written any more.
    pub fn new(
        file: StateFile,
        instruments: Arc<Instruments>,
    ) -> (Self, impl Future<Output = ()> + Send + 'static) {
        let (newest, memories) = watch::channel(Arc::default());
        let file = Arc::new(file);
        let write = move |memory: &Memory| file.write(memory);
        (Self(newest), write_all(write, memories, instruments))
    }

    pub fn save(&self, memory: Memory) {
        self.0.send_replace(Arc::new(memory));
    }
}

async fn write_all(
    write: impl Fn(&Memory) -> Result<(), StateError> + Clone + Send + 'static,
    mut memories: watch::Receiver<Arc<Memory>>,
    instruments: Arc<Instruments>,
) {
    let mut failing = false;
    let mut is_last = false;
    while !is_last {
        tokio::select! {
            changed = memories.changed() => is_last = changed.is_err(),
            () = tokio::time::sleep(RETRY), if failing => {}
        }
        if is_last && !failing {
            return;
        }
        let memory = Arc::clone(&memories.borrow_and_update());
        let write = write.clone();
        let written = tokio::task::spawn_blocking(move || write(&memory)).await;
        let result = written.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()));
        failing = result.is_err();
        if let Err(error) = &result
            && is_last
        {
            // `health` is no longer logged at the end.
            tracing::error!(%error, "the state cannot be saved at the end; the last good file stays");
        }
        let hint = "it is tried again every minute";
        let result = result.map_err(|error| Failure::new(error.to_string(), hint));
        instruments.state_written(result, Clock::system().now());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_process_saves_soon_at_first_and_then_less_often() {
        let start = Instant::now();
        let mut times = SaveTimes::new(start);
        let mut at = Vec::new();
        for _ in 0..11 {
            times.saved(times.next);
            at.push((times.next - start).as_secs());
        }
        assert_eq!(at, [1, 3, 7, 15, 31, 63, 127, 255, 511, 811, 1111]);
    }

    #[tokio::test]
    async fn a_panic_while_writing_ends_the_task_that_is_watched() {
        let (newest, memories) = watch::channel(Arc::default());
        let write = |_: &Memory| panic!("a bug");
        let task = tokio::spawn(write_all(
            write,
            memories,
            Arc::new(Instruments::new("/metrics")),
        ));
        newest.send_replace(Arc::default());
        assert!(task.await.unwrap_err().is_panic());
        assert!(newest.is_closed());
    }
}
