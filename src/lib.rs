//! translation-exporter: a Prometheus exporter for the translation progress of code repositories.
//!
//! # How one value travels
//!
//! 1. [`api`] requests pages and languages from the translation API and decodes the bytes into the
//!    types of [`domain`].
//! 2. [`poller`] reads every repository at an interval. Its ledger keeps a
//!    [`domain::record::Record`] of each language, which [`state`] preserves across restarts.
//! 3. The poller judges the ledger into the [`domain::document::Document`], which every output
//!    reads.
//! 4. `commands::publish` has [`metrics`] encode each document once, and [`diagnosis`] find its
//!    problems. [`web`] keeps the newest one, and has [`report`] write page and JSON for each
//!    request; `once` prints the outputs of [`report`]. A scrape never waits for a poll and a poll
//!    never waits for a scrape.
//!
//! [`server`] is the HTTP server beneath [`web`]. [`cli`] and [`config`] read options and
//! configuration, [`demo`] is an embedded API, and [`commands`] wires the modules together.
//! [`support`] holds the clock, the log and helpers for text.
//!
//! # How to change it
//!
//! Each recipe names the files to change, in order. `cargo check` and `cargo test --lib --test
//! config` notice a forgotten step, except for those after "finally": at most `tests/run.sh`
//! notices them. `tests/generate.sh` writes all generated files: tables, schemas and manifests.
//!
//! - **A gauge of a repository or language**: `metrics/exposition/translations.rs`, and its panel.
//! - **A gauge of the exporter's own**: `metrics/exposition/polling.rs`, or `metrics/at_scrape.rs`
//!   with [`metrics::facts::Facts`] if it is of no poll; its panel.
//! - **A counter of the exporter's own**: its line in `metrics/instruments.rs`, which also creates
//!   its known labels; where it counts, and its panel.
//! - **A panel** of a metric: a query in `grafana/dashboards`, or a line in `UNUSED` in
//!   `metrics/exposition/tests/tables.rs`; finally the panel's row in `tests/grafana/expected.txt`.
//! - **A reason of a failed request**: `domain.rs`, then the status or error that it stands for in
//!   `api/error.rs` or `api/connect.rs`; the compiler and the tests name the other places.
//! - **A kind of problem**: its definition in `diagnosis/kind.rs`, its function and the call in
//!   `findings` in `diagnosis.rs`, its case in `diagnosis/tests/kinds.rs`; for an alert also this:
//! - **An alert on a kind**, finally: `deploy/prometheus/alerts.yaml`, its section in
//!   `deploy/prometheus/runbook.md`, its case in `tests/rules/exporter.yaml` and a situation in
//!   `tests/rules/test_kinds.py`.
//! - **A key of the configuration**: its field with its type, default and option in its section
//!   (`config/sections.rs`, or `domain/` for filter, thresholds, links and targets);
//!   `tests/fuzz/corpus/configuration/whole` and `tests/config/bounds.rs`. A new type of values
//!   parses itself, as those of `config/text.rs` do, and has its pattern in
//!   `config/tests/schema.rs`. A rule between keys is a method of their section, and refuses no
//!   `DEFAULT`, which nobody chose. `INSTA_UPDATE=always cargo test --test config` writes the
//!   messages that name all keys. Finally the code that uses the key, which nothing demands, and
//!   its mistakes in `tests/config/cases`.
//! - **A field of the status page**: `report/html/macros.html` and `report/html/style.css`; finally
//!   `tests/web/test_page.py`, which alone sees the layout, and the README's pictures.
//! - **An output of `once`**: its file in `report/`, its name in `cli.rs`, its case in
//!   `commands/output.rs`; finally `docs/reports.md` and `tests/blackbox/hostile_names.rs`.
//! - **An operation of the API** crosses the modules in the order of "How one value travels", from
//!   [`domain::Operation`] on. `state/format.rs` preserves it; `demo.rs` and the tests serve it.
#![forbid(unsafe_code)]
// Builds of tests see the dependencies of other targets as well, which would count as unused.
#![cfg_attr(not(test), warn(unused_crate_dependencies))]

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

pub use commands::run;
