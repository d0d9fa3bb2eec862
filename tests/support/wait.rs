//! Helpers that wait for conditions.

use std::{
    thread,
    time::{Duration, Instant},
};

/// The longest wait before a test fails: far longer than any condition should take.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// Waits until `attempt` returns a value; panics with `what` if it does not within [`PATIENCE`].
pub fn eventually<T>(what: &str, mut attempt: impl FnMut() -> Option<T>) -> T {
    let begin = Instant::now();
    loop {
        if let Some(value) = attempt() {
            return value;
        }
        assert!(
            begin.elapsed() < PATIENCE,
            "not within {PATIENCE:?}: {what}"
        );
        thread::sleep(Duration::from_millis(20));
    }
}

/// Waits until the condition holds, like [`eventually`].
pub fn until(what: &str, mut condition: impl FnMut() -> bool) {
    eventually(what, || condition().then_some(()));
}
