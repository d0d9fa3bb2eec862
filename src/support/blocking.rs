//! Blocking work of asynchronous tasks.

use std::{future::pending, panic::resume_unwind};
use tokio::task::spawn_blocking;

/// Runs blocking work on another thread, so that signals are handled even if a disk hangs. A panic
/// there continues here.
pub(crate) async fn off_the_runtime<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> T {
    match spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) if error.is_panic() => resume_unwind(error.into_panic()),
        // The runtime is shutting down, so that no task awaits the result.
        Err(_) => pending().await,
    }
}
