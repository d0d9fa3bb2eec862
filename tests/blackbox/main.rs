//! The black-box tests: the built program against an API over real sockets, one file for each promise.
//!
//! One binary for all of them, so that they are linked once and run beside each other.

#[path = "../support/mod.rs"]
mod support;

mod state;
mod support_itself;
