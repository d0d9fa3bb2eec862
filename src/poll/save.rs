//! Writes the state file beside the polling, so that no poll waits for a disk.

use crate::{
    instruments::Instruments,
    state::{Memory, StateFile},
};
use std::{sync::Arc, time::Duration};
use tokio::{sync::watch, task::JoinHandle, time::timeout};

/// How soon a failed write is tried again.
const RETRY: Duration = Duration::from_secs(60);
/// How long the last write may take at the end of the program.
const LAST_WRITE: Duration = Duration::from_secs(4);

/// Writes the newest memory it was given; one that is overtaken before its turn is not written.
#[derive(Debug)]
pub struct Saver {
    newest: watch::Sender<Arc<Memory>>,
    task: JoinHandle<()>,
}

impl Saver {
    #[must_use]
    pub fn start(file: StateFile, instruments: Arc<Instruments>) -> Self {
        let (newest, memories) = watch::channel(Arc::default());
        Self { newest, task: tokio::spawn(write_all(file, memories, instruments)) }
    }

    pub(super) fn save(&self, memory: Memory) {
        self.newest.send_replace(Arc::new(memory));
    }

    /// Waits until the newest memory is written.
    pub(super) async fn finish(self) {
        drop(self.newest);
        if timeout(LAST_WRITE, self.task).await.is_err() {
            tracing::error!("the state file could not be written in time; the one before it stays");
        }
    }
}

async fn write_all(mut file: StateFile, mut memories: watch::Receiver<Arc<Memory>>, instruments: Arc<Instruments>) {
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
        let written = tokio::task::spawn_blocking(move || {
            let result = file.write(&memory);
            (file, result)
        });
        let result;
        (file, result) = written.await.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()));
        instruments.state_written(result.is_ok());
        match &result {
            Ok(()) if failing => tracing::info!("the state file is written again"),
            Ok(()) => {}
            Err(error) if !failing => tracing::error!(%error, "cannot write the state file; trying again"),
            Err(error) => tracing::debug!(%error, "still cannot write the state file"),
        }
        failing = result.is_err();
    }
}
