//! The exporter's own instruments, registered once at the start. A scrape encodes them.
//!
//! Counters with known labels start at 0: without that, `rate` would miss their first event.

use super::{at_scrape::AtScrape, facts::Facts};
use crate::{
    domain::{Defect, Failure, Operation, PollFailure, Reason},
    support::lock::lock,
};
use prometheus_client::{
    encoding::text::encode_registry,
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram},
    registry::{Metric, Registry},
};
use std::{
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

/// The upper bounds of the buckets in seconds, up to the default of `api.timeout`.
const REQUEST_BUCKETS: [f64; 12] = [
    0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0,
];

/// The names and values of a metric's labels.
type Labels<const N: usize> = [(&'static str, &'static str); N];

/// Labels of which a value is not known in advance: a path, or a status.
type OpenLabels<const N: usize> = [(&'static str, String); N];

/// Defines a field for each instrument, and registers it under its name with its help, a sentence
/// without its full stop, quotes and backslashes.
macro_rules! instruments {
    ($($field:ident: $kind:ty, $name:literal, $help:literal;)+) => {
        /// All of the exporter's own instruments.
        #[derive(Debug)]
        pub struct Instruments {
            $($field: $kind,)+
            api_request_duration: Family<Labels<1>, Histogram, fn() -> Histogram>,
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
    problems: Family<Labels<2>, Gauge>, "translation_exporter_problem",
        "1 while the exporter finds a problem of this kind, 0 otherwise; judged at least every \
         15 s";
    polls: Counter, "translation_exporter_polls", "Polls of the API that have ended";
    poll_failures: Family<Labels<1>, Counter>, "translation_exporter_poll_failures",
        "Polls that did not read everything, by reason: key_file, ca_file, unauthorized, \
         held (by Retry-After), unavailable (the API fails as a whole), listing, repositories";
    poll_overruns: Counter, "translation_exporter_poll_overruns",
        "Polls that took longer than poll.interval";
    api_requests: Family<OpenLabels<2>, Counter>, "translation_exporter_api_requests",
        "Requests to the API, retries included, by status or error";
    api_request_failures: Family<Labels<2>, Counter>,
        "translation_exporter_api_request_failures",
        "Requests to the API that failed, by reason: timeout, connect, tls, redirect, \
         unauthorized, forbidden, not_found, rate_limited, client_error, server_error, too_large, \
         truncated, decode, not_json, cursor";
    api_retries: Family<Labels<1>, Counter>, "translation_exporter_api_retries",
        "Requests to the API that were retries after a failure";
    invalid_entries: Family<Labels<2>, Counter>, "translation_exporter_invalid_entries",
        "Entries or fields in API responses that could not be used, by reason: not_an_object, id, \
         duplicate_id, name, code, completion, created_at, private, duplicate_name, duplicate_code";
    state_writes: Counter, "translation_exporter_state_writes",
        "Attempts to write the state file";
    state_write_failures: Counter, "translation_exporter_state_write_failures",
        "Attempts to write the state file that failed";
    tls_handshake_failures: Family<Labels<1>, Counter>,
        "translation_exporter_tls_handshake_failures",
        "TLS handshakes with clients that failed, by reason: timeout, not_tls, protocol, \
         no_certificate, bad_certificate, closed";
    http_requests: Family<OpenLabels<2>, Counter>, "translation_exporter_http_requests",
        "Requests that this exporter answered, by path and status";
}

impl Instruments {
    /// Returns the instruments of a daemon that is scraped at `telemetry_path`, or of a single poll
    /// whose metrics are printed. These have no `process_*`, which would collide with the metrics
    /// of the program that exposes the text, such as the node exporter.
    pub fn new(telemetry_path: Option<&str>) -> Arc<Self> {
        let mut registry = Registry::default();
        let build: Family<Labels<3>, Gauge> = add(
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
        let at_scrape = AtScrape::new(Arc::clone(&facts), telemetry_path.is_some());
        registry.register_collector(Box::new(at_scrape));
        let instruments = Self::register(registry, facts);
        instruments.start_api_at_0();
        if let Some(path) = telemetry_path {
            instruments.start_web_at_0(path);
        }
        Arc::new(instruments)
    }

    fn start_api_at_0(&self) {
        for reason in PollFailure::ALL {
            self.poll_failures(*reason);
        }
        for operation in Operation::ALL.iter().copied() {
            for code in ["200", "error"] {
                self.api_requests(operation, code.to_owned());
            }
            for reason in Reason::ALL.iter().filter(|one| one.is_of(operation)) {
                self.api_request_failures(operation, *reason);
            }
            for defect in Defect::ALL.iter().filter(|one| one.is_of(operation)) {
                self.invalid_entries(operation, *defect);
            }
            self.api_retries(operation);
            self.api_request_duration(operation);
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
        ] {
            self.http_requests(path, "200");
        }
        self.http_requests("other", "404");
        for reason in [
            "timeout",
            "not_tls",
            "protocol",
            "no_certificate",
            "bad_certificate",
            "closed",
        ] {
            self.tls_handshake_failures(reason);
        }
    }

    fn poll_failures(&self, reason: PollFailure) -> Counter {
        let labels = [("reason", reason.label())];
        self.poll_failures.get_or_create_owned(&labels)
    }

    fn api_requests(&self, operation: Operation, code: String) -> Counter {
        let labels = [("operation", operation.label().to_owned()), ("code", code)];
        self.api_requests.get_or_create_owned(&labels)
    }

    pub(crate) fn api_request_failures(&self, operation: Operation, reason: Reason) -> Counter {
        let labels = [("operation", operation.label()), ("reason", reason.label())];
        self.api_request_failures.get_or_create_owned(&labels)
    }

    fn api_request_duration(&self, operation: Operation) -> Histogram {
        let labels = [("operation", operation.label())];
        self.api_request_duration.get_or_create_owned(&labels)
    }

    pub(crate) fn api_retries(&self, operation: Operation) -> Counter {
        let labels = [("operation", operation.label())];
        self.api_retries.get_or_create_owned(&labels)
    }

    pub(crate) fn invalid_entries(&self, operation: Operation, defect: Defect) -> Counter {
        let labels = [("operation", operation.label()), ("reason", defect.label())];
        self.invalid_entries.get_or_create_owned(&labels)
    }

    pub(crate) fn tls_handshake_failures(&self, reason: &'static str) -> Counter {
        let labels = [("reason", reason)];
        self.tls_handshake_failures.get_or_create_owned(&labels)
    }

    pub(crate) fn http_requests(&self, path: &str, code: &str) -> Counter {
        let labels = [("path", path.to_owned()), ("code", code.to_owned())];
        self.http_requests.get_or_create_owned(&labels)
    }

    /// Counts a request to the API. `code` is `None` if it failed before it had a status.
    pub(crate) fn api_request(&self, operation: Operation, code: Option<u16>, took: Duration) {
        let code = code.map_or_else(|| "error".to_owned(), |code| code.to_string());
        self.api_requests(operation, code).inc();
        let duration = self.api_request_duration(operation);
        duration.observe(took.as_secs_f64());
    }

    /// Counts a write of the state file and records its outcome.
    pub(crate) fn state_written(&self, result: Result<(), Failure>) {
        self.state_writes.inc();
        if result.is_err() {
            self.state_write_failures.inc();
        }
        Failure::note(&mut self.facts().state_not_saved, result);
    }

    /// Counts a poll, which failed unless it read everything.
    pub(crate) fn poll_ended(&self, has_overrun: bool, failure: Option<PollFailure>) {
        self.polls.inc();
        self.poll_overruns.inc_by(has_overrun.into());
        if let Some(failure) = failure {
            self.poll_failures(failure).inc();
        }
    }

    pub(crate) fn polls_ended(&self) -> u64 {
        self.polls.get()
    }

    /// Shows each series of a kind of problem, and whether the diagnosis has found it.
    pub(crate) fn set_problems(
        &self,
        problems: impl IntoIterator<Item = ((&'static str, &'static str), bool)>,
    ) {
        for ((kind, severity), is_found) in problems {
            let labels = [("kind", kind), ("severity", severity)];
            self.problems.get_or_create(&labels).set(is_found.into());
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
