//! The exporter's own instruments, held by prometheus-client.
//!
//! Counters with known labels start at 0: without that, `rate` would miss their first event.

mod facts;
mod polling;
mod process;

pub use self::facts::Facts;
pub(crate) use self::polling::Polling;
use self::{
    facts::{FactsCollector, note},
    process::ProcessCollector,
};
use crate::{
    domain::{Defect, Failure, Operation, PollFailure, ProblemKind, Reason},
    metrics::definition::{self, MetricDefinition, Type},
    support::{clock::Timestamp, handshake::HandshakeFailure, lock::lock},
};
use prometheus_client::{
    encoding::{
        DescriptorEncoder, EncodeCounterValue, EncodeGaugeValue, EncodeMetric as _, MetricEncoder,
        text::encode_registry,
    },
    metrics::{
        MetricType,
        counter::{ConstCounter, Counter},
        family::{Family, MetricConstructor},
        gauge::{ConstGauge, Gauge},
        histogram::Histogram,
    },
    registry::{Metric, Registry, Unit},
};
use std::{
    collections::BTreeSet,
    fmt,
    sync::{Arc, LazyLock, Mutex},
    time::Duration,
};

/// The upper bounds of the buckets in seconds, up to the default of `api.timeout`.
const REQUEST_BUCKETS: [f64; 12] = [
    0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0,
];

type Labels<const N: usize> = [(&'static str, String); N];
/// A counter for each combination of its `N` labels.
type Labelled<const N: usize> = Family<Labels<N>, Counter>;

type Durations = Family<Labels<1>, Histogram, fn() -> Histogram>;

/// All of the exporter's own instruments.
#[derive(Debug)]
pub struct Instruments {
    polls: Counter,
    poll_failures: Labelled<1>,
    poll_overruns: Counter,
    api: ApiInstruments,
    state_writes: Counter,
    state_write_failures: Counter,
    problems: Family<Labels<2>, Gauge>,
    /// Counters of the web side. Only [`Instruments::new`] creates their labels, so `once` does not
    /// show them; it shows every counter without labels.
    http_requests: Labelled<2>,
    tls_handshake_failures: Labelled<1>,
    /// Locked for each change and each read.
    facts: Arc<Mutex<Facts>>,
    registry: Registry,
}

/// The instruments of the requests to the API.
#[derive(Debug)]
struct ApiInstruments {
    requests: Labelled<2>,
    failures: Labelled<2>,
    durations: Durations,
    retries: Labelled<1>,
    invalid_entries: Labelled<2>,
}

impl ApiInstruments {
    fn register(r: &mut Registry) -> Self {
        Self {
            requests: add(r, &definition::API_REQUESTS),
            failures: add(r, &definition::API_REQUEST_FAILURES),
            durations: register_durations(r),
            retries: add(r, &definition::API_RETRIES),
            invalid_entries: add(r, &definition::INVALID_ENTRIES),
        }
    }

    /// Creates the labels of all operations.
    fn start_at_0(&self) {
        for operation in Operation::ALL {
            let label = ("operation", operation.label());
            for code in ["200", "error"] {
                at(&self.requests, [label, ("code", code)]);
            }
            for reason in Reason::ALL
                .iter()
                .filter(|reason| reason.can_end(*operation))
            {
                at(&self.failures, [label, ("reason", reason.label())]);
            }
            for defect in Defect::ALL.iter().filter(|defect| defect.is_of(*operation)) {
                at(&self.invalid_entries, [label, ("reason", defect.label())]);
            }
            at(&self.durations, [label]);
            at(&self.retries, [label]);
        }
    }
}

impl Instruments {
    /// Returns the instruments of a daemon that is scraped at `telemetry_path`.
    pub fn new(telemetry_path: &str) -> Self {
        let mut instruments = Self::of_one_poll();
        let process = ProcessCollector::new();
        instruments.registry.register_collector(Box::new(process));
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
                at(&instruments.http_requests, [("path", path), ("code", code)]);
            }
        }
        for failure in HandshakeFailure::ALL {
            at(
                &instruments.tls_handshake_failures,
                [("reason", failure.label())],
            );
        }
        instruments
    }

    /// Returns the instruments of a single poll whose metrics are printed. They have no web side
    /// and no `process_*`: these would collide with the metrics of the program that exposes the
    /// text, such as the node exporter.
    pub(crate) fn of_one_poll() -> Self {
        let mut registry = Registry::default();
        let r = &mut registry;
        register_build_info(r);
        let facts = Arc::default();
        r.register_collector(Box::new(FactsCollector(Arc::clone(&facts))));
        Self {
            polls: add(r, &definition::POLLS),
            poll_failures: add(r, &definition::POLL_FAILURES),
            poll_overruns: add(r, &definition::POLL_OVERRUNS),
            api: ApiInstruments::register(r),
            state_writes: add(r, &definition::STATE_WRITES),
            state_write_failures: add(r, &definition::STATE_WRITE_FAILURES),
            problems: add(r, &definition::PROBLEM),
            http_requests: add(r, &definition::HTTP_REQUESTS),
            tls_handshake_failures: add(r, &definition::TLS_HANDSHAKE_FAILURES),
            facts,
            registry,
        }
        .start_at_0()
    }

    /// Creates the known labels of polls and requests.
    fn start_at_0(self) -> Self {
        for kind in ProblemKind::ALL {
            self.problem(*kind).set(0);
        }
        for reason in PollFailure::ALL {
            at(&self.poll_failures, [("reason", reason.label())]);
        }
        self.api.start_at_0();
        self
    }

    /// Counts a poll that has ended, and its failure if it did not read everything.
    pub(crate) fn poll_ended(&self, failure: Option<PollFailure>) {
        self.polls.inc();
        if let Some(failure) = failure {
            at(&self.poll_failures, [("reason", failure.label())]).inc();
        }
    }

    /// Counts a poll that took longer than the interval.
    pub(crate) fn poll_overran(&self) {
        self.poll_overruns.inc();
    }

    /// Counts a request to the API. `code` is `None` if it failed before it had a status.
    pub(crate) fn api_request(&self, operation: Operation, code: Option<u16>, took: Duration) {
        let operation = ("operation", operation.label());
        let code = code.map_or_else(|| "error".to_owned(), |code| code.to_string());
        at(&self.api.durations, [operation]).observe(took.as_secs_f64());
        at(&self.api.requests, [operation, ("code", &code)]).inc();
    }

    /// Counts a failed request to the API.
    pub(crate) fn api_failure(&self, operation: Operation, reason: Reason) {
        at(
            &self.api.failures,
            [("operation", operation.label()), ("reason", reason.label())],
        )
        .inc();
    }

    /// Counts a retry of a request to the API.
    pub(crate) fn api_retry(&self, operation: Operation) {
        at(&self.api.retries, [("operation", operation.label())]).inc();
    }

    /// Counts an entry or a field in a response that could not be used.
    pub(crate) fn invalid_entry(&self, operation: Operation, defect: Defect) {
        at(
            &self.api.invalid_entries,
            [("operation", operation.label()), ("reason", defect.label())],
        )
        .inc();
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

    /// Records that a configuration was loaded or refused at `at`: at the start, by a reload, or
    /// because a file changed.
    pub(crate) fn config_loaded(&self, result: Result<(), Failure>, at: Timestamp) {
        let mut facts = lock(&self.facts);
        if result.is_ok() {
            facts.loaded_at = Some(at);
        }
        note(&mut facts.reload_refused, result.err());
    }

    /// Records the kinds of problems that the diagnosis has found.
    pub(crate) fn judged(&self, problems: &BTreeSet<ProblemKind>) {
        for kind in ProblemKind::ALL {
            self.problem(*kind).set(problems.contains(kind).into());
        }
    }

    fn problem(&self, kind: ProblemKind) -> Gauge {
        let labels = [("kind", kind.label()), ("severity", kind.severity_label())];
        at(&self.problems, labels)
    }

    /// Returns the current facts.
    pub(crate) fn facts(&self) -> Facts {
        facts::current(&self.facts)
    }

    /// Counts a failed TLS handshake.
    pub(crate) fn tls_handshake_failed(&self, failure: HandshakeFailure) {
        at(&self.tls_handshake_failures, [("reason", failure.label())]).inc();
    }

    /// Records the expiry of the served certificate; `None` without one.
    pub(crate) fn certificate_expires(&self, at: Option<Timestamp>) {
        lock(&self.facts).certificate_expires_at = at;
    }

    /// Counts a response to a client. `path` is the path of a route, or "other".
    pub(crate) fn http_request(&self, path: &str, code: u16) {
        at(
            &self.http_requests,
            [("path", path), ("code", &code.to_string())],
        )
        .inc();
    }

    /// Encodes all instruments in OpenMetrics, without the closing `# EOF`.
    pub(crate) fn encode(&self) -> String {
        let mut out = String::with_capacity(32 * 1024);
        encode_registry(&mut out, &self.registry).expect("writes to a String cannot fail");
        out
    }
}

/// Registers a new metric.
fn add<M: Metric + Clone + Default>(registry: &mut Registry, definition: &MetricDefinition) -> M {
    register(registry, definition, M::default())
}

/// Registers `metric`. The registry appends a full stop to HELP, and the encoder appends `_total`
/// to the name of a counter.
fn register<M: Metric + Clone>(
    registry: &mut Registry,
    definition: &MetricDefinition,
    metric: M,
) -> M {
    let (stem, unit) = stem_and_unit(definition.name);
    match unit {
        Some(unit) => {
            registry.register_with_unit(stem, definition.help(), unit.clone(), metric.clone());
        }
        None => registry.register(stem, definition.help(), metric.clone()),
    }
    metric
}

fn register_build_info(registry: &mut Registry) {
    let build_info: Family<Labels<3>, Gauge> = add(registry, &definition::BUILD_INFO);
    let build = [
        ("version", env!("CARGO_PKG_VERSION")),
        ("revision", env!("TRANSLATION_EXPORTER_REVISION")),
        ("rustc", env!("TRANSLATION_EXPORTER_RUSTC")),
    ];
    at(&build_info, build).set(1);
}

fn register_durations(registry: &mut Registry) -> Durations {
    let durations = Durations::new_with_constructor(|| Histogram::new(REQUEST_BUCKETS));
    register(registry, &definition::API_REQUEST_DURATION, durations)
}

/// Returns the metric with these labels, and creates it at its first use.
fn at<const N: usize, M: Clone, C: MetricConstructor<M>>(
    family: &Family<Labels<N>, M, C>,
    labels: [(&'static str, &str); N],
) -> M {
    family.get_or_create_owned(&labels.map(|(name, value)| (name, value.to_owned())))
}

/// Encodes a gauge without labels; without a value, it is omitted.
fn gauge(
    encoder: &mut DescriptorEncoder<'_>,
    definition: &MetricDefinition,
    value: Option<impl EncodeGaugeValue>,
) -> fmt::Result {
    let Some(value) = value else {
        return Ok(());
    };
    ConstGauge::new(value).encode(descriptor(encoder, definition)?)
}

/// Encodes a counter without labels.
fn counter(
    encoder: &mut DescriptorEncoder<'_>,
    definition: &MetricDefinition,
    value: impl EncodeCounterValue,
) -> fmt::Result {
    ConstCounter::new(value).encode(descriptor(encoder, definition)?)
}

/// Encodes the lines HELP, TYPE and UNIT of a metric that a collector encodes.
pub(crate) fn descriptor<'a>(
    encoder: &'a mut DescriptorEncoder<'_>,
    definition: &MetricDefinition,
) -> Result<MetricEncoder<'a>, fmt::Error> {
    let (stem, unit) = stem_and_unit(definition.name);
    let kind = match definition.kind {
        Type::Gauge => MetricType::Gauge,
        Type::Counter => MetricType::Counter,
        Type::Histogram => MetricType::Histogram,
    };
    // The registry appends a full stop as well.
    let help = definition.help() + ".";
    encoder.encode_descriptor(stem, &help, unit, kind)
}

/// The unit of the metrics whose names end with `_ratio`.
static RATIO: LazyLock<Unit> = LazyLock::new(|| Unit::Other("ratio".to_owned()));

/// Splits a name into the parts that prometheus-client joins again. With this, the source contains
/// the names that users know.
fn stem_and_unit(name: &str) -> (&str, Option<&'static Unit>) {
    let name = name.strip_suffix("_total").unwrap_or(name);
    match name.rsplit_once('_') {
        Some((stem, "seconds")) => (stem, Some(&Unit::Seconds)),
        Some((stem, "bytes")) => (stem, Some(&Unit::Bytes)),
        Some((stem, "ratio")) => (stem, Some(&RATIO)),
        _ => (name, None),
    }
}

#[cfg(test)]
mod tests;
