//! The exporter's own counters and histograms: what happened, as opposed to what is known.

use crate::model::{Defect, Endpoint, Reason, Timestamp};
use std::time::Duration;

/// Which text format a scrape asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// Text 0.0.4.
    Text,
    /// OpenMetrics 1.0.0.
    OpenMetrics,
}

/// The routes of the web side, as the label `path` tells them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Route {
    Page,
    Metrics,
    Healthy,
    Ready,
    Reload,
    Other,
}

/// All of the exporter's own instruments.
#[derive(Debug)]
pub struct Instruments {}

impl Instruments {
    /// `telemetry_path` is the value of the label `path` for scrapes.
    #[must_use]
    pub fn new(telemetry_path: &str) -> Self {
        let _ = telemetry_path;
        Self {}
    }
    /// A poll has ended; it is a failure where it did not read everything.
    pub fn poll_ended(&self, success: bool) {
        let _ = success;
    }
    /// A poll took longer than the interval.
    pub fn poll_overran(&self) {}
    /// One request was answered with status `code`, or failed before it had one.
    pub fn api_request(&self, endpoint: Endpoint, code: Option<u16>, took: Duration) {
        let _ = (endpoint, code, took);
    }
    pub fn api_failure(&self, endpoint: Endpoint, reason: Reason) {
        let _ = (endpoint, reason);
    }
    pub fn api_retry(&self, endpoint: Endpoint) {
        let _ = endpoint;
    }
    pub fn invalid_entry(&self, endpoint: Endpoint, defect: Defect) {
        let _ = (endpoint, defect);
    }
    pub fn state_written(&self, success: bool) {
        let _ = success;
    }
    /// A configuration was loaded (at the start or by a reload), or was refused.
    pub fn config_loaded(&self, success: bool, at: Timestamp) {
        let _ = (success, at);
    }
    pub fn http_request(&self, route: Route, code: u16) {
        let _ = (route, code);
    }
    /// Appends the exposition of all own metrics; the closing `# EOF` is not among it.
    pub fn encode(&self, format: Format, out: &mut String) {
        let _ = (format, out);
    }
}
