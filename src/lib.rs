//! translation-exporter: a Prometheus exporter for the translation progress of code repositories.
//!
//! # How one value travels
//!
//! 1. [`api`] requests pages and languages from the translation API and decodes the bytes into the
//!    types of [`domain`].
//! 2. [`poller`] reads every repository at an interval. Its ledger keeps the known repositories,
//!    runs the progress clock of [`domain`] and builds a [`domain::snapshot::Snapshot`]. [`state`]
//!    preserves the ledger across restarts.
//! 3. [`metrics`] encodes each snapshot once. A scrape ([`web`]) appends the exporter's own
//!    instruments to those bytes. A scrape never waits for a poll and a poll never waits for a
//!    scrape.
//!
//! [`diagnosis`] finds the current problems; the page, readiness, the log and `once` use its words.
//! [`report`] writes the outputs for people and programs. [`server`] is the HTTP server beneath
//! [`web`]. [`cli`] and [`config`] read options and configuration, [`demo`] is an embedded API, and
//! [`commands`] wires the modules together. [`support`] holds the clock, the log and helpers for
//! text.
//!
//! # How to change it
//!
//! Each recipe names the files to change, in order. `cargo check` and `cargo test --lib` notice a
//! forgotten step, except for those after "finally": at most `tests/run.sh` notices them.
//!
//! - **A gauge of a repository or language**: `metrics/exposition/translations.rs`; the expected
//!   text in `metrics/exposition/tests/every_condition.txt`; finally `deploy/metrics.md`, and the
//!   list in `tests/blackbox/docs.rs` if a healthy exporter omits the gauge; a panel in
//!   `grafana/generate`, or an entry among the deliberately unused metrics in
//!   `tests/grafana/test_live.py`.
//! - **A gauge of the exporter's own**: `metrics/instruments/polling.rs` if polls determine it,
//!   otherwise `metrics/instruments/facts.rs`; the expected texts in `metrics/exposition/tests`;
//!   finally the docs and a panel or an entry as above.
//! - **A counter of the exporter's own**: its field, registration and method in
//!   `metrics/instruments.rs`; the call where the event happens;
//!   `metrics/exposition/tests/first_scrape.txt` if it starts at 0; finally the docs and a panel or
//!   an entry as above.
//! - **A problem to diagnose**: a symptom in `diagnosis.rs`, its row in the table of traits and the
//!   function that finds it; finally a case in `diagnosis/tests/symptoms.rs`.
//! - **A kind of `translation_exporter_problem`**: [`domain::ProblemKind`] and its severity;
//!   `metrics/exposition/tests/first_scrape.txt`; if it warns, its alert in
//!   `deploy/prometheus/alerts.yaml` and in `diagnosis/tests/problems.rs`; finally
//!   `deploy/metrics.md`; the kinds in `tests/rules/cases.py`, and in `tests/rules/kinds.py` a
//!   situation in which the built program has the problem. A kind that warns has its runbook in
//!   `deploy/prometheus/README.md` and its case in `tests/rules/problems.yaml`, and
//!   `deploy/kubernetes/overlays/prometheus-operator/generate.sh` copies its alert; any other kind
//!   belongs in that README's list of kinds without an alert.
//! - **A key of the configuration**: `config/schema.rs`, which also defines its variable and its
//!   option (and `cli.rs` for the commands that accept the option); its field and bounds in
//!   `config/sections.rs`; the code that uses it, which for a key of the poller begins in
//!   `poller/settings.rs` and `commands.rs`; `UPDATE=1 cargo test --lib of_the_keys`,
//!   which writes `deploy/config.schema.json` and the table in `deploy/configuration.md`; finally
//!   `deploy/helm/schema.py` for the chart, `Config::restart_needed` if a reload cannot change the
//!   key, and values out of bounds in `tests/config/bounds.rs`.
//! - **An output of `once`**: a file in `report/` and its export in `report.rs`; its name in
//!   `cli.rs`; its case in `commands/output.rs`; finally its row in the table of outputs in
//!   `README.md`, and its escaping in `tests/blackbox/hostile_names.rs`.
//! - **An operation of the API**: [`domain::Operation`] and `domain/response.rs`; `api/wire.rs` for
//!   its JSON; `api/session.rs` for the request ([`api::Session`], which the tests of `poller`
//!   implement too); `poller/poll.rs` and `poller/ledger.rs` to request it and to keep the
//!   response; `domain/snapshot.rs` to show it; then its metric as above. `demo.rs`,
//!   `tests/support/api.rs` and `tests/bench/tool/api.rs` have to serve it. `state/format.rs`
//!   preserves it across restarts.
#![forbid(unsafe_code)]

pub mod api;
pub mod cli;
mod commands;
pub mod config;
mod demo;
mod diagnosis;
pub mod domain;
pub mod metrics;
mod poller;
mod report;
mod server;
pub mod state;
pub mod support;
#[cfg(test)]
mod testing;
mod web;

pub use commands::{RunError, run};
