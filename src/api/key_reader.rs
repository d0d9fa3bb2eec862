//! The API key, read again for each poll.

use crate::config::{KeyError, KeySource, read_key};
use secrecy::SecretString;
use std::time::Duration;
use tokio::{sync::Mutex, task::JoinHandle, time::timeout};

type Reading = JoinHandle<Result<SecretString, KeyError>>;

/// Reads the key off the runtime: a disk that does not respond blocks only one thread, however often the key is read.
#[derive(Debug)]
pub struct KeyReader {
    source: KeySource,
    /// The read that has not returned yet.
    pending: Mutex<Option<Reading>>,
}

impl KeyReader {
    pub fn new(source: KeySource) -> Self {
        Self {
            source,
            pending: Mutex::default(),
        }
    }

    /// Waits at most `limit` for the key.
    pub async fn read(&self, limit: Duration) -> Result<SecretString, KeyError> {
        let source = self.source.clone();
        self.read_by(move || read_key(&source), limit).await
    }

    async fn read_by(
        &self,
        read: impl FnOnce() -> Result<SecretString, KeyError> + Send + 'static,
        limit: Duration,
    ) -> Result<SecretString, KeyError> {
        let mut pending = self.pending.lock().await;
        // A result that came after its timeout may be out of date.
        let unfinished = pending.take().filter(|reading| !reading.is_finished());
        let mut reading = unfinished.unwrap_or_else(|| tokio::task::spawn_blocking(read));
        match timeout(limit, &mut reading).await {
            Ok(Ok(key)) => key,
            Ok(Err(panic)) => std::panic::resume_unwind(panic.into_panic()),
            Err(_) => {
                *pending = Some(reading);
                Err(KeyError {
                    what: "the API key file could not be read within api.timeout".to_owned(),
                    hint: "check why the disk that holds it does not respond",
                })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use secrecy::ExposeSecret;
    use std::sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    };

    #[tokio::test]
    async fn a_read_that_hangs_is_waited_for_again_and_not_begun_again() {
        let reader = KeyReader::new(KeySource::Inline(SecretString::from("unused")));
        let begun = Arc::new(AtomicUsize::new(0));
        let (go_on, hangs) = mpsc::channel::<()>();
        let mut hangs = Some(hangs);
        let mut read = async |limit| {
            let (begun, hangs) = (Arc::clone(&begun), hangs.take());
            let read = move || {
                begun.fetch_add(1, Ordering::SeqCst);
                hangs.map(|hangs| hangs.recv());
                Ok(SecretString::from("k3y"))
            };
            reader
                .read_by(read, limit)
                .await
                .ok()
                .map(|key| key.expose_secret().to_owned())
        };
        for _ in 0..3 {
            assert!(read(Duration::from_millis(10)).await.is_none());
        }
        // The read is taken up before it comes back: one that came back in between would count as out of date.
        let (key, ()) = tokio::join!(read(Duration::from_secs(30)), async {
            go_on.send(()).unwrap();
        });
        assert_eq!(key.as_deref(), Some("k3y"));
        assert_eq!(begun.load(Ordering::SeqCst), 1);
        assert_eq!(read(Duration::from_secs(30)).await.as_deref(), Some("k3y"));
        assert_eq!(begun.load(Ordering::SeqCst), 2, "the next one reads anew");
    }
}
