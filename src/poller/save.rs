//! Saving: when the state is saved, and the task that writes the state file, so that no poll waits
//! for a disk.

use crate::{
    domain::Failure,
    metrics::instruments::Instruments,
    state::{SavedState, StateFile},
    support::{clock::Clock, hint::SetupError},
};
use std::{future::pending, sync::Arc, time::Duration};
use tokio::{
    sync::watch,
    time::{Instant, sleep, sleep_until},
};

/// The wait before a failed write is repeated.
const RETRY: Duration = Duration::from_secs(60);

/// The wait between the first two saves of a process during a poll. It doubles up to the longest: a
/// process that is killed early leaves a state, and a long poll costs few writes.
const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(5 * 60);

/// The unsaved changes, and the time of the next save.
#[derive(Debug)]
pub struct Saving {
    /// `None` without a state file.
    pub saver: Option<Saver>,
    /// True if the ledger has changed since the last save. An unchanged ledger is not saved,
    /// because the file can be large.
    pub is_changed: bool,
    /// The next save during a poll. The first save follows the first change at once.
    next: Instant,
    wait: Duration,
}

impl Saving {
    pub fn new(saver: Option<Saver>) -> Self {
        Self {
            saver,
            is_changed: false,
            next: Instant::now(),
            wait: FIRST_WAIT,
        }
    }

    /// Waits until it is time to save during a poll. Cancel safe, because it only sleeps.
    pub async fn due(&self) {
        if !self.is_changed {
            pending::<()>().await;
        }
        sleep_until(self.next).await;
    }

    /// Hands the state to the saver. Calls `state` only if there is a state file, because the state
    /// is large.
    pub fn save(&mut self, state: impl FnOnce() -> SavedState) {
        self.is_changed = false;
        self.next = Instant::now() + self.wait;
        self.wait = LONGEST_WAIT.min(self.wait * 2);
        if let Some(saver) = &self.saver {
            saver.save(state());
        }
    }
}

/// A handle to the task that writes the state file. The task writes only the newest state.
#[derive(Debug)]
pub struct Saver(watch::Sender<Arc<SavedState>>);

impl Saver {
    /// Returns a saver, and the task that writes its states. The task ends once the saver is
    /// dropped and the newest state is written. The caller must watch it: if it ends earlier,
    /// nothing is saved any more.
    pub fn new(
        file: StateFile,
        instruments: Arc<Instruments>,
    ) -> (Self, impl Future<Output = ()> + Send + 'static) {
        let (newest, states) = watch::channel(Arc::default());
        let file = Arc::new(file);
        let write = move |saved: &SavedState| file.write(saved);
        (Self(newest), write_all(write, states, instruments))
    }

    /// Returns a saver that replaces `saved` in memory.
    #[cfg(test)]
    pub fn in_memory(saved: SavedState) -> (Self, watch::Receiver<Arc<SavedState>>) {
        let (newest, states) = watch::channel(Arc::new(saved));
        (Self(newest), states)
    }

    fn save(&self, saved: SavedState) {
        self.0.send_replace(Arc::new(saved));
    }
}

async fn write_all(
    write: impl Fn(&SavedState) -> Result<(), SetupError> + Clone + Send + 'static,
    mut states: watch::Receiver<Arc<SavedState>>,
    instruments: Arc<Instruments>,
) {
    let mut is_failing = false;
    let mut is_last = false;
    while !is_last {
        tokio::select! {
            // An error means that the saver was dropped. A state that it left is written first.
            changed = states.changed() => is_last = changed.is_err(),
            () = sleep(RETRY), if is_failing => {}
        }
        // The newest state has been written, unless that failed: then one more attempt follows.
        if is_last && !is_failing {
            return;
        }
        let saved = Arc::clone(&states.borrow_and_update());
        let write = write.clone();
        let written = tokio::task::spawn_blocking(move || write(&saved)).await;
        let result = written.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()));
        is_failing = result.is_err();
        if let Err(error) = &result
            && is_last
        {
            // The diagnosis has logged its last by now.
            tracing::error!(%error, "cannot save the state at shutdown; the last good file stays");
        }
        let hint = "the exporter tries again every minute";
        let now = Clock::system().now();
        let result = result.map_err(|error| Failure::new(error.to_string(), hint, now));
        instruments.state_written(result);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_process_saves_soon_at_first_and_then_less_often() {
        let start = Instant::now();
        let mut saving = Saving::new(None);
        let mut at = Vec::new();
        for _ in 0..11 {
            saving.save(SavedState::default);
            saving.is_changed = true;
            saving.due().await;
            at.push(start.elapsed().as_secs());
        }
        assert_eq!(at, [1, 3, 7, 15, 31, 63, 127, 255, 511, 811, 1111]);
    }

    #[tokio::test]
    async fn a_panic_while_writing_ends_the_task_that_is_watched() {
        let (newest, states) = watch::channel(Arc::default());
        let write = |_: &SavedState| panic!("a bug");
        let instruments = Arc::new(Instruments::new("/metrics"));
        let task = tokio::spawn(write_all(write, states, instruments));
        newest.send_replace(Arc::default());
        assert!(task.await.unwrap_err().is_panic());
        assert!(newest.is_closed());
    }
}
