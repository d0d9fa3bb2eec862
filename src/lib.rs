//! translation-exporter: a Prometheus exporter for the translation progress of code repositories.
//!
//! The way of one datum, which goes one way, with one hand-off:
//!
//! 1. [`api`] asks the translation service, politely, and turns its bytes into the types of [`model`]: after that, an
//!    impossible value cannot be written down.
//! 2. [`poll`] asks for all repositories ([`select`] says which) and their languages at an interval, remembers what was
//!    read, runs the [`progress`] clock, and builds a [`snapshot`]. [`state`] lets that outlive a restart.
//! 3. [`exposition`] encodes each snapshot once; a scrape ([`web`]) adds the exporter's own [`instruments`] to those
//!    bytes. A scrape never waits for a poll, nor a poll for a scrape.
//!
//! Around it stand [`cli`] and [`config`] (what the user wants), [`telemetry`] (what the log tells), [`report`] (what
//! `once` prints), [`demo`] (an API to try it with) and [`clock`] (the time). [`run()`] wires them together.
#![forbid(unsafe_code)]

pub mod api;
pub mod cli;
pub mod clock;
pub mod config;
pub mod demo;
pub mod exposition;
pub mod instruments;
pub mod model;
pub mod poll;
pub mod progress;
pub mod report;
pub mod route;
mod run;
pub mod select;
pub mod snapshot;
pub mod state;
mod sync;
pub mod telemetry;
pub mod text;
pub mod web;

pub use run::{RunError, run};
