//! Saving: the task that writes the state file, so that no poll waits for a disk.

use crate::{
    domain::record::SavedState,
    metrics::instruments::Instruments,
    state::StateFile,
    support::{blocking::off_the_runtime, hint::Failure},
};
use std::{sync::Arc, time::Duration};
use tokio::{sync::watch, time::timeout};

/// The wait between the first two writes of a process. It doubles up to the longest: a process that
/// is killed early leaves a state, and later ones cost few writes. A failed write is repeated after
/// it, too.
const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(60);

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

    /// Hands over the state, unless it is as before: the file can be large.
    pub fn save(&self, saved: SavedState) {
        self.0.send_if_modified(|before| {
            let has_changed = **before != saved;
            *before = Arc::new(saved);
            has_changed
        });
    }
}

async fn write_all(
    write: impl Fn(&SavedState) -> Result<(), Failure> + Clone + Send + 'static,
    mut states: watch::Receiver<Arc<SavedState>>,
    instruments: Arc<Instruments>,
) {
    let (mut wait, mut is_last) = (FIRST_WAIT, false);
    // An error means that the saver was dropped. A state that it left is written first.
    while states.changed().await.is_ok() {
        let saved = Arc::clone(&states.borrow_and_update());
        let write = write.clone();
        let result = off_the_runtime(move || write(&saved)).await;
        let mut is_due = result.is_err();
        if let Err(error) = &result
            && is_last
        {
            // The diagnosis has logged its last by now.
            tracing::error!(%error, "cannot save the state at shutdown; the last good file stays");
        }
        instruments.state_writes.inc();
        instruments
            .state_write_failures
            .inc_by(result.is_err().into());
        instruments.facts().state_not_saved = result.err();
        if is_last {
            return;
        }
        // Newer states wait, unless the process ends.
        let newer = async {
            while states.changed().await.is_ok() {
                is_due = true;
            }
        };
        is_last = timeout(wait, newer).await.is_ok();
        wait = LONGEST_WAIT.min(wait * 2);
        if is_due {
            states.mark_changed();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::{Instant, sleep};

    impl Saver {
        /// Returns a saver that replaces `saved` in memory.
        pub fn in_memory(saved: SavedState) -> (Self, watch::Receiver<Arc<SavedState>>) {
            let (newest, states) = watch::channel(Arc::new(saved));
            (Self(newest), states)
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_process_writes_soon_at_first_and_then_once_a_minute() {
        let (newest, states) = watch::channel(Arc::default());
        let start = Instant::now();
        let (written, times) = std::sync::mpsc::channel();
        let write = move |_: &SavedState| {
            written.send(start.elapsed().as_secs()).unwrap();
            Ok(())
        };
        let instruments = Instruments::new(Some("/metrics"));
        let task = tokio::spawn(write_all(write, states, instruments));
        for _ in 0..200 {
            newest.send_replace(Arc::default());
            sleep(Duration::from_secs(1)).await;
        }
        drop(newest);
        task.await.unwrap();
        let times: Vec<_> = times.try_iter().collect();
        assert_eq!(times, [0, 1, 3, 7, 15, 31, 63, 123, 183, 200]);
    }

    #[tokio::test]
    async fn a_panic_while_writing_ends_the_task_that_is_watched() {
        let (newest, states) = watch::channel(Arc::default());
        let write = |_: &SavedState| panic!("a bug");
        let instruments = Instruments::new(Some("/metrics"));
        let task = tokio::spawn(write_all(write, states, instruments));
        newest.send_replace(Arc::default());
        assert!(task.await.unwrap_err().is_panic());
        assert!(newest.is_closed());
    }
}
