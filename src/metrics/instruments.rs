//! The exporter's own instruments: counters and facts that polls do not determine. A scrape encodes
//! them.
//!
//! Counters with known labels start at 0: without that, `rate` would miss their first event.

mod encoding;
mod process;

use super::encode;
use crate::{
    domain::{Defect, Failure, Operation, PollFailure, ProblemKind, Reason, Severity},
    support::{
        clock::{Clock, Timestamp},
        lock::lock,
    },
};
use prometheus_client::metrics::{
    counter::Counter,
    family::{Family, MetricConstructor},
    histogram::Histogram,
};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

/// The upper bounds of the buckets in seconds, up to the default of `api.timeout`.
const REQUEST_BUCKETS: [f64; 12] = [
    0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0,
];

type Labels = Vec<(&'static str, String)>;
type Counters = Family<Labels, Counter>;

/// All of the exporter's own instruments.
#[derive(Debug)]
pub struct Instruments {
    polls: Counter,
    poll_failures: Counters,
    pub(crate) poll_overruns: Counter,
    api_requests: Counters,
    api_request_failures: Counters,
    api_request_duration: Family<Labels, Histogram, fn() -> Histogram>,
    api_retries: Counters,
    invalid_entries: Counters,
    state_writes: Counter,
    state_write_failures: Counter,
    tls_handshake_failures: Counters,
    http_requests: Counters,
    /// Locked for each change and each read.
    facts: Mutex<Facts>,
}

/// The facts that may need attention. A failure lasts until the same operation succeeds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// The refusal of a changed web configuration file; the active one is older.
    pub web_config_refused: Option<Failure>,
    /// The failure of the last write of the state file.
    pub state_not_saved: Option<Failure>,
    /// The reason why the state file was set aside at the start. It lasts until the next start.
    pub state_discarded: Option<Failure>,
    /// The expiry of the served certificate; `None` without one.
    pub certificate_expires_at: Option<Timestamp>,
    /// The start of a daemon; `None` for a single poll whose metrics are printed. They have
    /// no `process_*`: these would collide with the metrics of the program that exposes the text,
    /// such as the node exporter.
    started: Option<Timestamp>,
    /// The problems that the diagnosis has found.
    problems: BTreeMap<ProblemKind, Severity>,
}

impl Instruments {
    /// Returns the instruments of a daemon that is scraped at `telemetry_path`, or of a single
    /// poll.
    pub fn new(telemetry_path: Option<&str>) -> Arc<Self> {
        let instruments = Self {
            polls: Counter::default(),
            poll_failures: Counters::default(),
            poll_overruns: Counter::default(),
            api_requests: Counters::default(),
            api_request_failures: Counters::default(),
            api_request_duration: Family::new_with_constructor(|| Histogram::new(REQUEST_BUCKETS)),
            api_retries: Counters::default(),
            invalid_entries: Counters::default(),
            state_writes: Counter::default(),
            state_write_failures: Counter::default(),
            tls_handshake_failures: Counters::default(),
            http_requests: Counters::default(),
            facts: Mutex::new(Facts {
                started: telemetry_path.map(|_| Clock::system().now()),
                ..Facts::default()
            }),
        };
        if let Some(path) = telemetry_path {
            instruments.start_web_at_0(path);
        }
        for reason in PollFailure::ALL {
            instruments.poll_failures(*reason);
        }
        for operation in Operation::ALL.iter().copied() {
            for code in ["200", "error"] {
                instruments.api_requests(operation, code);
            }
            for reason in Reason::ALL {
                instruments.api_request_failures(operation, *reason);
            }
            for defect in Defect::ALL {
                instruments.invalid_entries(operation, *defect);
            }
            instruments.api_retries(operation);
            instruments.api_request_duration(operation);
        }
        Arc::new(instruments)
    }

    fn start_web_at_0(&self, telemetry_path: &str) {
        for (path, codes) in [
            ("/", &["200"][..]),
            (telemetry_path, &["200", "401", "429", "503"]),
            ("/translations.json", &["200"]),
            ("/-/healthy", &["200", "503"]),
            ("/-/ready", &["200", "503"]),
            ("other", &["404"]),
        ] {
            for code in codes {
                self.http_requests(path, code);
            }
        }
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
        at(&self.poll_failures, [("reason", reason.label())])
    }

    fn api_requests(&self, operation: Operation, code: &str) -> Counter {
        let labels = [("operation", operation.label()), ("code", code)];
        at(&self.api_requests, labels)
    }

    pub(crate) fn api_request_failures(&self, operation: Operation, reason: Reason) -> Counter {
        let labels = [("operation", operation.label()), ("reason", reason.label())];
        at(&self.api_request_failures, labels)
    }

    fn api_request_duration(&self, operation: Operation) -> Histogram {
        let labels = [("operation", operation.label())];
        at(&self.api_request_duration, labels)
    }

    pub(crate) fn api_retries(&self, operation: Operation) -> Counter {
        at(&self.api_retries, [("operation", operation.label())])
    }

    pub(crate) fn invalid_entries(&self, operation: Operation, defect: Defect) -> Counter {
        let labels = [("operation", operation.label()), ("reason", defect.label())];
        at(&self.invalid_entries, labels)
    }

    pub(crate) fn tls_handshake_failures(&self, reason: &str) -> Counter {
        at(&self.tls_handshake_failures, [("reason", reason)])
    }

    pub(crate) fn http_requests(&self, path: &str, code: &str) -> Counter {
        at(&self.http_requests, [("path", path), ("code", code)])
    }

    /// Counts a poll that has ended, and its failure if it did not read everything.
    pub(crate) fn poll_ended(&self, failure: Option<PollFailure>) {
        self.polls.inc();
        if let Some(failure) = failure {
            self.poll_failures(failure).inc();
        }
    }

    /// Counts a request to the API. `code` is `None` if it failed before it had a status.
    pub(crate) fn api_request(&self, operation: Operation, code: Option<u16>, took: Duration) {
        let code = code.map_or_else(|| "error".to_owned(), |code| code.to_string());
        self.api_requests(operation, &code).inc();
        let duration = self.api_request_duration(operation);
        duration.observe(took.as_secs_f64());
    }

    /// Counts a write of the state file and records its outcome.
    pub(crate) fn state_written(&self, result: Result<(), Failure>) {
        self.state_writes.inc();
        if result.is_err() {
            self.state_write_failures.inc();
        }
        note(&mut lock(&self.facts).state_not_saved, result.err());
    }

    /// Records that the state file was set aside at the start, because it was damaged or of another
    /// API.
    pub(crate) fn state_discarded(&self, failure: Failure) {
        lock(&self.facts).state_discarded = Some(failure);
    }

    /// Records that a changed web configuration file became active, or was refused.
    pub(crate) fn web_config_changed(&self, result: Result<(), Failure>) {
        note(&mut lock(&self.facts).web_config_refused, result.err());
    }

    /// Records the kinds of problems that the diagnosis has found, with their severities.
    pub(crate) fn judged(&self, problems: BTreeMap<ProblemKind, Severity>) {
        lock(&self.facts).problems = problems;
    }

    /// Records the expiry of the served certificate; `None` without one.
    pub(crate) fn certificate_expires(&self, at: Option<Timestamp>) {
        lock(&self.facts).certificate_expires_at = at;
    }

    /// Returns the current facts.
    pub(crate) fn facts(&self) -> Facts {
        lock(&self.facts).clone()
    }

    /// Encodes all instruments in OpenMetrics, without the closing `# EOF`.
    pub(crate) fn encode(self: &Arc<Self>) -> String {
        let mut text = String::new();
        encode::encode(Arc::clone(self), &mut text);
        text
    }
}

/// Returns the metric with these labels, and creates it at its first use.
fn at<M: Clone, C: MetricConstructor<M>, const N: usize>(
    family: &Family<Labels, M, C>,
    labels: [(&'static str, &str); N],
) -> M {
    let labels = labels.map(|(name, value)| (name, value.to_owned()));
    family.get_or_create_owned(&labels.into())
}

/// Records the outcome of an operation. A repeated failure keeps the time of the first.
fn note(known: &mut Option<Failure>, failure: Option<Failure>) {
    *known = failure.map(|failure| failure.continuing(known.as_ref()));
}

#[cfg(test)]
mod tests;
