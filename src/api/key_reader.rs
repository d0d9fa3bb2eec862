//! The files that each poll reads again: the API key and the trusted certificates.

use crate::config::{KeyError, KeySource, read_key};
use secrecy::SecretString;
use std::time::Duration;
use tokio::{sync::Mutex, task::JoinHandle, time::timeout};

/// A reader of files off the runtime. A disk that does not respond blocks at most one thread of it.
#[derive(Debug)]
pub struct FileReader<T> {
    /// The read that timed out and has not returned yet. Held while a read is waited for, so that
    /// only one thread waits for the disk.
    pending: Mutex<Option<JoinHandle<T>>>,
}

/// A reader of the API key.
#[derive(Debug)]
pub struct KeyReader {
    source: KeySource,
    file: FileReader<Result<SecretString, KeyError>>,
}

impl<T> Default for FileReader<T> {
    fn default() -> Self {
        Self {
            pending: Mutex::default(),
        }
    }
}

impl KeyReader {
    pub fn new(source: KeySource) -> Self {
        let file = FileReader::default();
        Self { source, file }
    }

    /// Reads the key, and waits for it at most for `limit`.
    pub async fn read(&self, limit: Duration) -> Result<SecretString, KeyError> {
        let source = self.source.clone();
        let read = self.file.read(move || read_key(&source), limit).await;
        read.unwrap_or_else(|| {
            Err(KeyError {
                what: "the API key file could not be read within api.timeout".to_owned(),
                hint: "check why the disk that holds it does not respond",
            })
        })
    }
}

impl<T: Send + 'static> FileReader<T> {
    /// Waits at most `limit` for `read`, or for an earlier read that has not returned yet. Returns
    /// `None` after `limit`.
    pub async fn read(
        &self,
        read: impl FnOnce() -> T + Send + 'static,
        limit: Duration,
    ) -> Option<T> {
        let mut pending = self.pending.lock().await;
        // A read that returned after its timeout may be out of date.
        let unfinished = pending.take().filter(|reading| !reading.is_finished());
        let mut reading = unfinished.unwrap_or_else(|| tokio::task::spawn_blocking(read));
        match timeout(limit, &mut reading).await {
            Ok(Ok(read)) => Some(read),
            Ok(Err(panic)) => std::panic::resume_unwind(panic.into_panic()),
            Err(_) => {
                *pending = Some(reading);
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    };

    #[tokio::test]
    async fn a_read_that_hangs_is_resumed_and_not_repeated() {
        let reader = FileReader::default();
        let begun = Arc::new(AtomicUsize::new(0));
        let (go_on, hangs) = mpsc::channel::<()>();
        let mut hangs = Some(hangs);
        let mut read = async |limit| {
            let (begun, hangs) = (Arc::clone(&begun), hangs.take());
            let read = move || {
                begun.fetch_add(1, Ordering::SeqCst);
                hangs.map(|hangs| hangs.recv());
                "k3y"
            };
            reader.read(read, limit).await
        };
        for _ in 0..3 {
            assert!(read(Duration::from_millis(10)).await.is_none());
        }
        // The next call resumes the read while it still hangs; a result from between two calls
        // would be out of date.
        let (key, ()) = tokio::join!(read(Duration::from_secs(30)), async {
            go_on.send(()).unwrap();
        });
        assert_eq!(key, Some("k3y"));
        assert_eq!(begun.load(Ordering::SeqCst), 1);
        assert_eq!(read(Duration::from_secs(30)).await, Some("k3y"));
        assert_eq!(begun.load(Ordering::SeqCst), 2, "the next call reads again");
    }
}
