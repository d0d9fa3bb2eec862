//! The API key, read anew for each poll.

use crate::{
    clock::Clock,
    config::{KeyError, KeySource, read_key},
    model::Failure,
};
use secrecy::SecretString;
use std::time::Duration;
use tokio::{sync::Mutex, task::JoinHandle, time::timeout};

type Reading = JoinHandle<Result<SecretString, KeyError>>;

/// Reads the key where it may block: a disk that does not answer keeps one thread, however often the key is asked for.
#[derive(Debug)]
pub(super) struct KeyReader {
    source: KeySource,
    /// The read that has not come back yet.
    pending: Mutex<Option<Reading>>,
}

impl KeyReader {
    pub fn new(source: KeySource) -> Self {
        Self { source, pending: Mutex::default() }
    }

    /// Waits at most `limit` for the key.
    pub async fn read(&self, limit: Duration) -> Result<SecretString, Failure> {
        let mut pending = self.pending.lock().await;
        // What came back after its time may be out of date.
        let unfinished = pending.take().filter(|reading| !reading.is_finished());
        let source = self.source.clone();
        let mut reading = unfinished.unwrap_or_else(|| tokio::task::spawn_blocking(move || read_key(&source)));
        let failure = |what: String, hint: &str| Failure::new(Clock::system().now(), what, hint);
        match timeout(limit, &mut reading).await {
            Ok(Ok(key)) => {
                key.map_err(|error| failure(format!("{} {}", error.place(), error.problem()), error.hint()))
            }
            Ok(Err(panic)) => std::panic::resume_unwind(panic.into_panic()),
            Err(_) => {
                *pending = Some(reading);
                let what = "the API key file could not be read within api.timeout".to_owned();
                Err(failure(what, "see why the disk that holds it does not answer"))
            }
        }
    }
}
