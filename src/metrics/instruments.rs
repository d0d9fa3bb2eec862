//! The exporter's own instruments, held by prometheus-client.
//!
//! Counters with known labels start at 0: without that, `rate` would miss their first event.

mod facts;
mod process;

pub use self::facts::Facts;
use self::{
    facts::{FactsCollector, note},
    process::ProcessCollector,
};
/// The metrics that [`Instruments::count`] counts.
pub(crate) use super::definition;
use crate::{
    domain::{Defect, Failure, Operation, PollFailure, ProblemKind, Reason, Severity},
    metrics::{definition::MetricDefinition, encode::stem_and_unit},
    support::{
        clock::{Moment, Timestamp},
        lock::lock,
    },
};
use prometheus_client::{
    encoding::text::encode_registry,
    metrics::{
        MetricType,
        counter::Counter,
        family::{Family, MetricConstructor},
        gauge::Gauge,
        histogram::Histogram,
    },
    registry::{Metric, Registry},
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
type Durations = Family<Labels, Histogram, fn() -> Histogram>;

/// All of the exporter's own instruments.
#[derive(Debug)]
pub struct Instruments {
    /// By their names.
    counters: BTreeMap<&'static str, Counters>,
    request_durations: Durations,
    problems: Family<Labels, Gauge>,
    /// Locked for each change and each read.
    facts: Arc<Mutex<Facts>>,
    registry: Registry,
}

/// The counter of a definition, or one for each combination of its labels.
#[derive(Debug)]
enum Counters {
    One(Counter),
    Labelled(Family<Labels, Counter>),
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
                instruments.counter(&definition::HTTP_REQUESTS, &[path, code]);
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
            instruments.counter(&definition::TLS_HANDSHAKE_FAILURES, &[reason]);
        }
        instruments
    }

    /// Returns the instruments of a single poll whose metrics are printed. They have no web side
    /// and no `process_*`: these would collide with the metrics of the program that exposes the
    /// text, such as the node exporter. Of the counters, they show those without labels, and those
    /// whose labels [`Self::start_at_0`] creates.
    pub(crate) fn of_one_poll() -> Self {
        let mut registry = Registry::default();
        let r = &mut registry;
        register_build_info(r);
        let facts = Arc::default();
        r.register_collector(Box::new(FactsCollector(Arc::clone(&facts))));
        let is_counter = |definition: &&MetricDefinition| {
            // The log counts its dropped lines, and `facts` reads their number.
            matches!(definition.kind, MetricType::Counter)
                && definition.name != definition::LOG_LINES_DROPPED.name
        };
        let mut counters = BTreeMap::new();
        for definition in definition::EXPORTER.iter().filter(is_counter) {
            let counter = if definition.labels.is_empty() {
                Counters::One(add(r, definition))
            } else {
                Counters::Labelled(add(r, definition))
            };
            counters.insert(definition.name, counter);
        }
        Self {
            counters,
            request_durations: register_durations(r),
            problems: add(r, &definition::PROBLEM),
            facts,
            registry,
        }
        .start_at_0()
    }

    /// Creates the known labels of polls and requests.
    fn start_at_0(self) -> Self {
        self.judged(&BTreeMap::new());
        for reason in PollFailure::ALL {
            self.counter(&definition::POLL_FAILURES, &[reason.label()]);
        }
        for operation in Operation::ALL {
            let label = operation.label();
            for code in ["200", "error"] {
                self.counter(&definition::API_REQUESTS, &[label, code]);
            }
            let reasons = Reason::ALL
                .iter()
                .filter(|reason| reason.can_end(*operation));
            for reason in reasons {
                self.counter(&definition::API_REQUEST_FAILURES, &[label, reason.label()]);
            }
            for defect in Defect::ALL.iter().filter(|defect| defect.is_of(*operation)) {
                self.counter(&definition::INVALID_ENTRIES, &[label, defect.label()]);
            }
            self.counter(&definition::API_RETRIES, &[label]);
            self.request_duration(*operation);
        }
        self
    }

    /// Counts an event, with the values of the labels in the order of the definition.
    pub(crate) fn count(&self, definition: &MetricDefinition, labels: &[&str]) {
        self.counter(definition, labels).inc();
    }

    /// Returns a counter, which begins at 0.
    fn counter(&self, definition: &MetricDefinition, labels: &[&str]) -> Counter {
        match &self.counters[definition.name] {
            Counters::One(counter) => counter.clone(),
            Counters::Labelled(family) => at(family, definition, labels),
        }
    }

    fn request_duration(&self, operation: Operation) -> Histogram {
        let labels = [operation.label()];
        at(
            &self.request_durations,
            &definition::API_REQUEST_DURATION,
            &labels,
        )
    }

    /// Counts a poll that has ended, and its failure if it did not read everything.
    pub(crate) fn poll_ended(&self, failure: Option<PollFailure>) {
        self.count(&definition::POLLS, &[]);
        if let Some(failure) = failure {
            self.count(&definition::POLL_FAILURES, &[failure.label()]);
        }
    }

    /// Counts a request to the API. `code` is `None` if it failed before it had a status.
    pub(crate) fn api_request(&self, operation: Operation, code: Option<u16>, took: Duration) {
        let code = code.map_or_else(|| "error".to_owned(), |code| code.to_string());
        self.count(&definition::API_REQUESTS, &[operation.label(), &code]);
        self.request_duration(operation).observe(took.as_secs_f64());
    }

    /// Counts a write of the state file and records its outcome.
    pub(crate) fn state_written(&self, result: Result<(), Failure>) {
        self.count(&definition::STATE_WRITES, &[]);
        if result.is_err() {
            self.count(&definition::STATE_WRITE_FAILURES, &[]);
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
    pub(crate) fn config_loaded(&self, result: Result<(), Failure>, at: Moment) {
        let mut facts = lock(&self.facts);
        if result.is_ok() {
            facts.loaded_at = Some(at);
        }
        note(&mut facts.reload_refused, result.err());
    }

    /// Records the kinds of problems that the diagnosis has found, with their severities.
    pub(crate) fn judged(&self, problems: &BTreeMap<ProblemKind, Severity>) {
        for kind in ProblemKind::ALL {
            for severity in kind.severities() {
                let labels = [kind.label(), severity.label()];
                let is_found = problems.get(kind) == Some(&severity);
                at(&self.problems, &definition::PROBLEM, &labels).set(is_found.into());
            }
        }
    }

    /// Returns the current facts.
    pub(crate) fn facts(&self) -> Facts {
        facts::current(&self.facts)
    }

    /// Records the expiry of the served certificate; `None` without one.
    pub(crate) fn certificate_expires(&self, at: Option<Timestamp>) {
        lock(&self.facts).certificate_expires_at = at;
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
    let build_info: Family<Labels, Gauge> = add(registry, &definition::BUILD_INFO);
    let build = [
        env!("CARGO_PKG_VERSION"),
        env!("TRANSLATION_EXPORTER_REVISION"),
        env!("TRANSLATION_EXPORTER_RUSTC"),
    ];
    at(&build_info, &definition::BUILD_INFO, &build).set(1);
}

fn register_durations(registry: &mut Registry) -> Durations {
    let durations = Durations::new_with_constructor(|| Histogram::new(REQUEST_BUCKETS));
    register(registry, &definition::API_REQUEST_DURATION, durations)
}

/// Returns the metric with these labels, and creates it at its first use.
fn at<M: Clone, C: MetricConstructor<M>>(
    family: &Family<Labels, M, C>,
    definition: &MetricDefinition,
    labels: &[&str],
) -> M {
    debug_assert_eq!(labels.len(), definition.labels.len(), "{}", definition.name);
    let values = labels.iter().map(ToString::to_string);
    family.get_or_create_owned(&definition.labels.iter().copied().zip(values).collect())
}

#[cfg(test)]
mod tests;
