//! translation-exporter: a Prometheus exporter for the translation progress of code repositories.
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
pub mod select;
pub mod snapshot;
pub mod state;
pub mod telemetry;
pub mod web;
