//! What the black-box tests stand on: an API that can do anything, the built program, and readers of what it serves.
//!
//! Everything here uses blocking sockets and threads of its own, so that nothing of the program under test, its
//! runtime and HTTP library included, is relied upon to judge it.

pub mod api;
pub mod exporter;
pub mod exposition;
pub mod http;
pub mod reply;
pub mod tls;

pub use api::{Api, Repo, Target};
pub use exporter::{Exporter, Setup};
pub use exposition::Exposition;
pub use reply::Reply;

use std::{
    thread,
    time::{Duration, Instant},
};

/// How long a test waits for something that has to happen before it fails: far longer than it should take.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// Waits until `attempt` gives a value; panics with `what` where it has not within [`PATIENCE`].
pub fn eventually<T>(what: &str, mut attempt: impl FnMut() -> Option<T>) -> T {
    let begin = Instant::now();
    loop {
        if let Some(value) = attempt() {
            return value;
        }
        assert!(begin.elapsed() < PATIENCE, "not within {PATIENCE:?}: {what}");
        thread::sleep(Duration::from_millis(20));
    }
}
