//! translation-exporter: a Prometheus exporter for the translation progress of code repositories.
//!
//! Data flow one way, with one hand-off:
//!
//! 1. [`api`] polls the translation service, politely, and turns its bytes into the types of [`model`].
//! 2. [`poll`] reads all repositories ([`select`] says which) and their languages at an interval, remembers what was
//!    read, runs the [`progress`] clock, and builds a [`snapshot`]. The ledger orders the repositories; `poll/queue.rs` says
//!    which to ask for next, and gives up where the API fails; `api/budget.rs` (403, Retry-After), `api/session.rs` (401) and `poll.rs` (the key
//!    file) say what else ends a poll. [`state`] preserves what is known across restarts.
//! 3. [`exposition`] encodes each snapshot once; a scrape ([`web`]) adds the exporter's own [`instruments`] to those
//!    bytes. A scrape never waits for a poll, nor a poll for a scrape.
//!
//! [`health`] finds what is wrong, and page, readiness, log and `once` take their words from it. Around these are [`cli`] and
//! [`config`] (what the user wants), [`telemetry`] (the log), [`report`] (what `once` prints), [`demo`] (an API to try it with)
//! and [`clock`] (the time). [`run()`] wires them together; `run/reload.rs` is what a reload does.
//!
//! [`targets`] says when a language is ready: exposition, page, table and `once` ask it.
//!
//! # Changing it
//!
//! What to change, in this order.
//!
//! A gauge of a repository or language: `exposition/translations.rs`; `deploy/metrics.md`; the expected text in
//! `exposition/tests/golden.rs`; a panel in `grafana/generate`, or a line among what is deliberately unused in `tests/grafana/test_live.py`.
//!
//! A gauge of the exporter's own: `instruments/polling.rs` if polls determine it, otherwise `instruments/facts.rs`; then as for a
//! counter.
//!
//! A counter of the exporter's own: its field, its registration and its method in `instruments.rs`; where it happens;
//! `exposition/tests/first_scrape.txt`, if it starts at 0; `deploy/metrics.md`; a panel or a line as above.
//!
//! Something that can be wrong: a kind in `health.rs`, its line in the table of traits with its alert or the reason why there
//! is none, and the function that finds it; a case in `health/tests.rs`; its alert in `deploy/prometheus/alerts.yaml`.
//!
//! A key of the configuration: `config/keys.rs`, which also makes its variable and its option, if it is to have one (which
//! commands can use that is in `cli.rs`); its field and its bounds in `config/sections.rs`; where it is used;
//! `deploy/configuration.md`.
//!
//! An operation of the API: `model.rs` ([`model::Operation`]) and `model/answer.rs`; `api/wire.rs` for its JSON;
//! `api/session.rs` for the question ([`api::Session`], which the tests of `poll` implement
//! too); `poll/steps.rs` to ask it and `poll/ledger.rs` to keep the answer; `snapshot.rs` to show it; then its metric as above.
//! `demo.rs`, `tests/support/api.rs` and `tests/bench/tool/api.rs` have to answer it.
//! What is to outlive a restart goes into `state/format.rs`.
#![forbid(unsafe_code)]

pub mod api;
pub mod cli;
mod clock;
pub mod config;
mod demo;
pub mod exposition;
mod health;
pub mod instruments;
pub mod model;
mod poll;
pub mod progress;
mod report;
mod run;
mod select;
pub mod snapshot;
pub mod state;
mod sync;
pub mod targets;
mod telemetry;
mod text;
mod web;
mod words;

pub use run::{RunError, run};
