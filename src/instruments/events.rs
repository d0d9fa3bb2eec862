//! What happened: the instruments that polls, reloads and the state file add to, and nothing else does.
//!
//! While nothing happens their exposition stays the same, so that a scrape can send again what an earlier one encoded.

use super::{Labels, code_label, family::Family, reload::Reload};
use crate::model::{Defect, Operation, Reason};
use prometheus_client::{
    metrics::{
        counter::Counter,
        gauge::{ConstGauge, Gauge},
        histogram::Histogram,
    },
    registry::{Metric, Registry, Unit},
};
use std::sync::atomic::{AtomicU64, Ordering};

/// Upper bounds in seconds, up to the default of `api.timeout`.
const REQUEST_BUCKETS: [f64; 12] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0];

/// Something whose changes are counted, since it can be reached in no other way than to change it.
#[derive(Debug)]
pub(super) struct Changes<T> {
    value: T,
    count: AtomicU64,
}

impl<T> Changes<T> {
    pub(super) fn new(value: T) -> Self {
        Self { value, count: AtomicU64::new(0) }
    }

    /// Counts the change after it is made: who sees the count sees the change too.
    pub(super) fn change<R>(&self, change: impl FnOnce(&T) -> R) {
        change(&self.value);
        self.count.fetch_add(1, Ordering::Release);
    }

    pub(super) fn count(&self) -> u64 {
        self.count.load(Ordering::Acquire)
    }
}

#[derive(Debug)]
pub(super) struct Events {
    pub polls: Counter,
    pub poll_failures: Counter,
    pub poll_overruns: Counter,
    pub api_requests: Family<Labels<2>, Counter>,
    pub api_failures: Family<Labels<2>, Counter>,
    pub api_durations: Family<Labels<1>, Histogram>,
    pub api_retries: Family<Labels<1>, Counter>,
    pub invalid_entries: Family<Labels<2>, Counter>,
    pub state_writes: Counter,
    pub state_write_failures: Counter,
    pub state_discarded: Gauge,
    pub reload: Reload,
}

impl Events {
    pub(super) fn new() -> Self {
        Self {
            polls: Counter::default(),
            poll_failures: Counter::default(),
            poll_overruns: Counter::default(),
            api_requests: Family::new(
                per_operation(|operation| [Some(200), None].map(|code| request_labels(operation, code))),
                Counter::default,
            ),
            api_failures: Family::new(
                per_operation(|operation| {
                    Reason::ALL.iter().map(move |reason| reason_labels(operation, reason.label()))
                }),
                Counter::default,
            ),
            api_durations: Family::new(per_operation(|operation| [operation_labels(operation)]), || {
                Histogram::new(REQUEST_BUCKETS)
            }),
            api_retries: Family::new(per_operation(|operation| [operation_labels(operation)]), Counter::default),
            invalid_entries: Family::new(
                per_operation(|operation| {
                    Defect::ALL.iter().map(move |defect| reason_labels(operation, defect.label()))
                }),
                Counter::default,
            ),
            state_writes: Counter::default(),
            state_write_failures: Counter::default(),
            state_discarded: Gauge::default(),
            reload: Reload::default(),
        }
    }

    /// All of them, and the build's info, which changes even less.
    pub(super) fn register(&self, registry: &mut Registry) {
        let build_info = Family::new([build_labels()], || ConstGauge::new(1_u64));
        register(
            registry,
            "build_info",
            "Version, source revision and compiler of this exporter; always 1",
            build_info,
        );
        register(registry, "polls", "Polls of the API that have ended", self.polls.clone());
        register(
            registry,
            "poll_failures",
            "Polls that did not read everything they wanted",
            self.poll_failures.clone(),
        );
        register(registry, "poll_overruns", "Polls that took longer than poll.interval", self.poll_overruns.clone());
        register(registry, "state_writes", "Attempts to write the state file", self.state_writes.clone());
        let help = "Attempts to write the state file that failed";
        register(registry, "state_write_failures", help, self.state_write_failures.clone());
        let help = "1 if the state file was damaged or of another API at the start and was set aside, 0 if not";
        register(registry, "state_discarded", help, self.state_discarded.clone());
        let help = "Requests to the API, retries included, by status; the code is error where no answer came";
        register(registry, "api_requests", help, self.api_requests.clone());
        let help = "Requests to the API that failed, retries included, by reason";
        register(registry, "api_request_failures", help, self.api_failures.clone());
        registry.register_with_unit(
            "translation_exporter_api_request_duration",
            "Time that one request to the API took, the whole body included",
            Unit::Seconds,
            self.api_durations.clone(),
        );
        let help = "Requests to the API that were made again after a failure";
        register(registry, "api_retries", help, self.api_retries.clone());
        let help = "Entries or fields in answers of the API that could not be used, by what was wrong";
        register(registry, "invalid_entries", help, self.invalid_entries.clone());
        registry.register_collector(Box::new(self.reload.clone()));
    }
}

/// `name` without what all of the exporter's names begin with.
fn register(registry: &mut Registry, name: &str, help: &str, metric: impl Metric) {
    registry.register(format!("translation_exporter_{name}"), help, metric);
}

fn per_operation<I: IntoIterator>(labels: impl Fn(Operation) -> I) -> impl Iterator<Item = I::Item> {
    Operation::ALL.iter().flat_map(move |operation| labels(*operation))
}

pub(super) fn operation_labels(operation: Operation) -> Labels<1> {
    [("operation", operation.label().into())]
}

pub(super) fn reason_labels(operation: Operation, reason: &'static str) -> Labels<2> {
    [("operation", operation.label().into()), ("reason", reason.into())]
}

pub(super) fn request_labels(operation: Operation, code: Option<u16>) -> Labels<2> {
    [("operation", operation.label().into()), ("code", code.map_or("error".into(), code_label))]
}

fn build_labels() -> Labels<3> {
    [
        ("version", env!("CARGO_PKG_VERSION").into()),
        ("revision", env!("TRANSLATION_EXPORTER_REVISION").into()),
        ("rustc", env!("TRANSLATION_EXPORTER_RUSTC").into()),
    ]
}
