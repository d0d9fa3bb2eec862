//! The exporter's own instruments: counters and facts that polls do not determine. A scrape encodes
//! them.
//!
//! Counters with known labels start at 0: without that, `rate` would miss their first event.

mod process;

use super::encode::{self, gauge, gauges, metric};
use crate::{
    domain::{Defect, Failure, Operation, PollFailure, ProblemKind, Reason, Severity},
    support::{
        clock::{Clock, Moment, Timestamp},
        lock::lock,
        logging,
    },
};
use prometheus_client::{
    collector::Collector,
    encoding::DescriptorEncoder,
    metrics::{
        counter::{ConstCounter, Counter},
        family::{Family, MetricConstructor},
        histogram::Histogram,
    },
};
use std::{
    collections::BTreeMap,
    fmt,
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
    /// The start of a daemon; `None` for a single poll whose metrics are printed. They say nothing
    /// of reloads, and have no `process_*`: these would collide with the metrics of the program that
    /// exposes the text, such as the node exporter.
    started: Option<Moment>,
    /// Locked for each change and each read.
    facts: Mutex<Facts>,
}

/// The facts that may need attention. A failure lasts until the same operation succeeds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// The failure of the last reload; the active configuration is older.
    pub reload_refused: Option<Failure>,
    /// The failure of the last write of the state file.
    pub state_not_saved: Option<Failure>,
    /// The reason why the state file was set aside at the start. It lasts until the next start.
    pub state_discarded: Option<Failure>,
    /// The number of log lines dropped because stderr was not read, and the time of the last one.
    pub log_lines_dropped: Option<(u64, Timestamp)>,
    /// The expiry of the served certificate; `None` without one.
    pub certificate_expires_at: Option<Timestamp>,
    /// The time at which the active configuration was loaded; `None` since the start.
    loaded_at: Option<Moment>,
    /// The problems that the diagnosis has found.
    problems: BTreeMap<ProblemKind, Severity>,
}

impl Instruments {
    /// Returns the instruments of a daemon that is scraped at `telemetry_path`, or of a single poll.
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
            started: telemetry_path.map(|_| Clock::system().moment()),
            facts: Mutex::default(),
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
            ("/-/reload", &["200", "403", "500"]),
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

    /// Records that a configuration was loaded or refused at `at`, by a reload or because a file
    /// changed.
    pub(crate) fn config_loaded(&self, result: Result<(), Failure>, at: Moment) {
        let mut facts = lock(&self.facts);
        if result.is_ok() {
            facts.loaded_at = Some(at);
        }
        note(&mut facts.reload_refused, result.err());
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
        let mut facts = Facts {
            log_lines_dropped: logging::lines_dropped(),
            ..lock(&self.facts).clone()
        };
        let now = Clock::system().moment();
        let failures = [
            &mut facts.reload_refused,
            &mut facts.state_not_saved,
            &mut facts.state_discarded,
        ];
        for failure in failures.into_iter().flatten() {
            failure.since = failure.since_seen_from(now);
        }
        facts
    }

    /// Encodes all instruments in OpenMetrics, without the closing `# EOF`.
    pub(crate) fn encode(self: &Arc<Self>) -> String {
        let mut text = String::new();
        encode::encode(Arc::clone(self), &mut text);
        text
    }

    fn encode_counters(&self, to: &mut DescriptorEncoder<'_>) -> fmt::Result {
        metric(
            to,
            "translation_exporter_polls_total",
            "Polls of the API that have ended",
            &self.polls,
        )?;
        metric(
            to,
            "translation_exporter_poll_failures_total",
            "Polls that did not read everything, by reason: key_file, unauthorized, held (by \
             Retry-After), unavailable (the API fails as a whole), listing, repositories",
            &self.poll_failures,
        )?;
        metric(
            to,
            "translation_exporter_poll_overruns_total",
            "Polls that took longer than poll.interval",
            &self.poll_overruns,
        )?;
        metric(
            to,
            "translation_exporter_api_requests_total",
            "Requests to the API, retries included, by status or error",
            &self.api_requests,
        )?;
        metric(
            to,
            "translation_exporter_api_request_failures_total",
            "Requests to the API that failed, by reason: timeout, connect, tls, redirect, \
             unauthorized, forbidden, not_found, rate_limited, client_error, server_error, \
             too_large, truncated, decode, cursor",
            &self.api_request_failures,
        )?;
        metric(
            to,
            "translation_exporter_api_request_duration_seconds",
            "Duration of API requests, bodies included",
            &self.api_request_duration,
        )?;
        metric(
            to,
            "translation_exporter_api_retries_total",
            "Requests to the API that were retries after a failure",
            &self.api_retries,
        )?;
        metric(
            to,
            "translation_exporter_invalid_entries_total",
            "Entries or fields in API responses that could not be used, by reason: not_an_object, \
             id, duplicate_id, name, code, completion, created_at, private, duplicate_name, \
             duplicate_code",
            &self.invalid_entries,
        )?;
        metric(
            to,
            "translation_exporter_state_writes_total",
            "Attempts to write the state file",
            &self.state_writes,
        )?;
        metric(
            to,
            "translation_exporter_state_write_failures_total",
            "Attempts to write the state file that failed",
            &self.state_write_failures,
        )?;
        metric(
            to,
            "translation_exporter_tls_handshake_failures_total",
            "TLS handshakes with clients that failed, by reason: timeout, not_tls, protocol, \
             no_certificate, bad_certificate, closed",
            &self.tls_handshake_failures,
        )?;
        metric(
            to,
            "translation_exporter_http_requests_total",
            "Requests that this exporter answered, by path and status",
            &self.http_requests,
        )
    }

    fn encode_facts(&self, to: &mut DescriptorEncoder<'_>, now: Moment) -> fmt::Result {
        let facts = self.facts();
        let build = [
            ("version", env!("CARGO_PKG_VERSION")),
            ("revision", env!("TRANSLATION_EXPORTER_REVISION")),
            ("rustc", env!("TRANSLATION_EXPORTER_RUSTC")),
        ];
        gauges(
            to,
            "translation_exporter_build_info",
            "Version, source revision and compiler of this exporter; always 1",
            [(build, 1_u64)],
            Some,
        )?;
        gauge(
            to,
            "translation_exporter_start_time_seconds",
            "Time at which this exporter started",
            self.started.map(|at| at.seen_from(now).as_seconds()),
        )?;
        let kinds = ProblemKind::ALL.iter().flat_map(|kind| {
            kind.severities().map(|severity| {
                let labels = [("kind", kind.label()), ("severity", severity.label())];
                (labels, facts.problems.get(kind) == Some(&severity))
            })
        });
        gauges(
            to,
            "translation_exporter_problem",
            "1 while the exporter finds a problem of this kind, 0 otherwise; judged at least every \
             15 s",
            kinds,
            |is_found| Some(u64::from(is_found)),
        )?;
        gauge(
            to,
            "translation_exporter_state_discarded",
            "1 if the state file was set aside at startup because it was damaged or belonged to \
             another API; 0 if not",
            Some(u64::from(facts.state_discarded.is_some())),
        )?;
        metric(
            to,
            "translation_exporter_log_lines_dropped_total",
            "Log lines that were dropped because stderr was not read",
            &ConstCounter::new(facts.log_lines_dropped.map_or(0, |(lines, _)| lines)),
        )?;
        let is_refused = facts.reload_refused.is_some();
        gauge(
            to,
            "translation_exporter_config_last_reload_successful",
            "1 if the last configuration that was read is active, 0 if it was refused",
            self.started.map(|_| u64::from(!is_refused)),
        )?;
        gauge(
            to,
            "translation_exporter_config_last_reload_success_timestamp_seconds",
            "Time at which the active configuration was loaded",
            (facts.loaded_at.or(self.started)).map(|at| at.seen_from(now).as_seconds()),
        )?;
        gauge(
            to,
            "translation_exporter_tls_certificate_expiry_timestamp_seconds",
            "Time at which the served TLS certificate expires; absent without TLS",
            facts.certificate_expires_at.map(Timestamp::as_seconds),
        )
    }
}

impl Collector for Instruments {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let now = Clock::system().moment();
        self.encode_facts(&mut encoder, now)?;
        self.encode_counters(&mut encoder)?;
        self.started.map_or(Ok(()), |started| {
            process::encode(started.seen_from(now), &mut encoder)
        })
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
