//! The black-box tests: the built program against an API over real sockets, a file for each
//! promise.
//!
//! All tests are in one binary: they are linked once and run in parallel. `tests/run.sh --all` also
//! runs those marked `#[ignore]`, which are slow. The files `test_*.py` beside this one hold the
//! tests that need other programs.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on has to end, helpers included"
)]
#![expect(
    clippy::float_cmp,
    reason = "counts and ratios have to come back exactly"
)]
#![expect(
    clippy::format_push_string,
    reason = "one more allocation costs a test nothing"
)]

#[path = "../support/mod.rs"]
mod support;

mod docs;
mod endure;
mod failing_calls;
mod first_steps;
mod hanging_files;
mod health;
mod hostile_names;
mod once;
mod permissions;
mod politeness;
mod poor_machines;
mod secrecy;
mod slow_clients;
mod startup_shutdown;
mod state;
mod targets;
mod web_clients;
mod web_config;
