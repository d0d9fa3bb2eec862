//! The exporter's own instruments, registered once at the start. A scrape encodes them.
//!
//! Counters with known labels start at 0: without that, `rate` would miss their first event.

use super::{at_scrape::AtScrape, facts::Facts};
use crate::{
    domain::{Defect, Operation, PollFailure, Reason},
    support::lock::lock,
};
use prometheus_client::{
    encoding::{EncodeLabelSet, EncodeLabelValue, LabelValueEncoder, text::encode_registry},
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram},
    registry::{Metric, Registry},
};
use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard},
};

/// The upper bounds of the buckets in seconds, up to the default of `api.timeout`.
const REQUEST_BUCKETS: [f64; 12] = [
    0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0,
];

/// The labels of the problems.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct OfProblem {
    pub kind: &'static str,
    pub severity: &'static str,
}

/// The labels of requests to the API.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct OfOperation {
    pub operation: Operation,
}

/// The labels of requests to the API, by their status, or "error".
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct OfStatus {
    pub operation: Operation,
    pub code: String,
}

/// The labels of failed requests to the API, and of defects in its responses.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct OfReason {
    pub operation: Operation,
    pub reason: &'static str,
}

impl EncodeLabelValue for Operation {
    fn encode(&self, to: &mut LabelValueEncoder<'_>) -> fmt::Result {
        self.label().encode(to)
    }
}

/// The labels of answered requests.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct OfPath {
    pub path: String,
    pub code: String,
}

/// Defines a field for each instrument, and registers it under its name with its help, a sentence
/// without its full stop, quotes and backslashes.
macro_rules! instruments {
    ($($field:ident: $kind:ty, $name:literal, $help:literal;)+) => {
        /// All of the exporter's own instruments.
        #[derive(Debug)]
        pub struct Instruments {
            $(pub(crate) $field: $kind,)+
            pub(crate) api_request_duration: Family<OfOperation, Histogram, fn() -> Histogram>,
            /// Locked for each change and each read.
            facts: Arc<Mutex<Facts>>,
            registry: Registry,
        }

        impl Instruments {
            fn register(mut registry: Registry, facts: Arc<Mutex<Facts>>) -> Self {
                let histogram: fn() -> Histogram = || Histogram::new(REQUEST_BUCKETS);
                let api_request_duration = Family::new_with_constructor(histogram);
                let help = "Duration of API requests, bodies included";
                let name = "translation_exporter_api_request_duration_seconds";
                registry.register(name, help, api_request_duration.clone());
                Self {
                    $($field: add(&mut registry, $name, $help),)+
                    api_request_duration,
                    facts,
                    registry,
                }
            }
        }
    };
}

instruments! {
    problems: Family<OfProblem, Gauge>, "translation_exporter_problem",
        "1 while the exporter finds a problem of this kind, 0 otherwise; judged at least every \
         15 s";
    polls: Counter, "translation_exporter_polls", "Polls of the API that have ended";
    poll_failures: Family<[(&'static str, &'static str); 1], Counter>, "translation_exporter_poll_failures",
        "Polls that did not read everything, by reason: key_file, ca_file, unauthorized, \
         held (by Retry-After), unavailable (the API fails as a whole), listing, repositories";
    poll_overruns: Counter, "translation_exporter_poll_overruns",
        "Polls that took longer than poll.interval";
    api_requests: Family<OfStatus, Counter>, "translation_exporter_api_requests",
        "Requests to the API, retries included, by status or error";
    api_request_failures: Family<OfReason, Counter>,
        "translation_exporter_api_request_failures",
        "Requests to the API that failed, by reason: timeout, connect, tls, redirect, \
         unauthorized, forbidden, not_found, rate_limited, client_error, server_error, too_large, \
         truncated, decode, not_json, cursor";
    api_retries: Family<OfOperation, Counter>, "translation_exporter_api_retries",
        "Requests to the API that were retries after a failure";
    invalid_entries: Family<OfReason, Counter>, "translation_exporter_invalid_entries",
        "Entries or fields in API responses that could not be used, by reason: not_an_object, id, \
         duplicate_id, name, code, completion, created_at, private, duplicate_name, duplicate_code";
    state_writes: Counter, "translation_exporter_state_writes",
        "Attempts to write the state file";
    state_write_failures: Counter, "translation_exporter_state_write_failures",
        "Attempts to write the state file that failed";
    tls_handshake_failures: Counter, "translation_exporter_tls_handshake_failures",
        "TLS handshakes with clients that failed; the log has the reason at level debug";
    http_requests: Family<OfPath, Counter>, "translation_exporter_http_requests",
        "Requests that this exporter answered, by path and status";
}

impl Instruments {
    /// Returns the instruments of a daemon that is scraped at `telemetry_path`, or of a single poll
    /// whose metrics are printed. These have no `process_*`, which would collide with the metrics
    /// of the program that exposes the text, such as the node exporter.
    pub fn new(telemetry_path: Option<&str>) -> Arc<Self> {
        let mut registry = Registry::default();
        let build: Family<_, Gauge> = add(
            &mut registry,
            "translation_exporter_build_info",
            "Version, source revision and compiler of this exporter; always 1",
        );
        let labels = [
            ("version", env!("CARGO_PKG_VERSION")),
            ("revision", env!("TRANSLATION_EXPORTER_REVISION")),
            ("rustc", env!("TRANSLATION_EXPORTER_RUSTC")),
        ];
        build.get_or_create(&labels).set(1);
        let facts = Arc::<Mutex<Facts>>::default();
        registry.register_collector(Box::new(AtScrape(Arc::clone(&facts))));
        let instruments = Self::register(registry, facts);
        instruments.start_api_at_0();
        if let Some(path) = telemetry_path {
            instruments.start_web_at_0(path);
        }
        Arc::new(instruments)
    }

    fn start_api_at_0(&self) {
        for reason in PollFailure::ALL {
            let labels = [("reason", reason.label())];
            self.poll_failures.get_or_create_owned(&labels);
        }
        for operation in Operation::ALL.iter().copied() {
            for code in ["200".to_owned(), "error".to_owned()] {
                let status = OfStatus { operation, code };
                self.api_requests.get_or_create_owned(&status);
            }
            for reason in Reason::ALL.iter().filter(|reason| reason.is_of(operation)) {
                let reason = reason.label();
                let failure = OfReason { operation, reason };
                self.api_request_failures.get_or_create_owned(&failure);
            }
            for defect in Defect::ALL.iter().filter(|defect| defect.is_of(operation)) {
                let reason = defect.label();
                let entry = OfReason { operation, reason };
                self.invalid_entries.get_or_create_owned(&entry);
            }
            let labels = OfOperation { operation };
            self.api_retries.get_or_create_owned(&labels);
            self.api_request_duration.get_or_create_owned(&labels);
        }
    }

    fn start_web_at_0(&self, telemetry_path: &str) {
        for path in [
            "/",
            telemetry_path,
            "/translations.json",
            "/translations.csv",
            "/-/healthy",
            "/-/ready",
            "other",
        ] {
            let code = if path == "other" { "404" } else { "200" }.to_owned();
            let path = path.to_owned();
            self.http_requests
                .get_or_create_owned(&OfPath { path, code });
        }
    }

    /// Shows each series of a kind of problem, and whether the diagnosis has found it.
    pub(crate) fn set_problems(&self, problems: impl IntoIterator<Item = (OfProblem, bool)>) {
        for (problem, is_found) in problems {
            self.problems.get_or_create(&problem).set(is_found.into());
        }
    }

    /// Locks the facts, to read or to change them.
    pub(crate) fn facts(&self) -> MutexGuard<'_, Facts> {
        lock(&self.facts)
    }

    /// Encodes all instruments in OpenMetrics, without the closing `# EOF`.
    pub(crate) fn encode(&self) -> String {
        let mut text = String::new();
        encode_registry(&mut text, &self.registry).expect("writes to memory cannot fail");
        text
    }
}

/// Registers a metric.
fn add<M: Metric + Clone + Default>(registry: &mut Registry, name: &str, help: &str) -> M {
    let metric = M::default();
    registry.register(name, help, metric.clone());
    metric
}

#[cfg(test)]
mod tests;
