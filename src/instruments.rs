//! The exporter's own counters and histograms: what happened, as opposed to what is known.
//!
//! Counters whose labels are known in advance are there from the start, at 0, so that a rate over the first event is
//! right. Series come in the order of their labels. What the exporter knows of the world is in [`crate::exposition`].

mod family;
mod process;
mod reload;
mod text;

use self::{family::Family, process::ProcessCollector, reload::Reload};
use crate::{
    model::{Defect, Endpoint, Reason, Timestamp},
    route::Route,
};
use prometheus_client::{
    metrics::{counter::Counter, gauge::ConstGauge, histogram::Histogram},
    registry::{Registry, Unit},
};
use std::{
    borrow::Cow,
    sync::{PoisonError, RwLock},
    time::Duration,
};

/// Upper bounds in seconds, up to the default of `api.timeout`.
const REQUEST_BUCKETS: [f64; 12] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0];

/// Which text format a scrape asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// Text 0.0.4.
    Text,
    /// OpenMetrics 1.0.0.
    OpenMetrics,
}

type Labels<const N: usize> = [(&'static str, Cow<'static, str>); N];

/// All of the exporter's own instruments.
#[derive(Debug)]
pub struct Instruments {
    registry: Registry,
    telemetry_path: RwLock<String>,
    polls: Counter,
    poll_failures: Counter,
    poll_overruns: Counter,
    api_requests: Family<Labels<2>, Counter>,
    api_failures: Family<Labels<2>, Counter>,
    api_durations: Family<Labels<1>, Histogram>,
    api_retries: Family<Labels<1>, Counter>,
    invalid_entries: Family<Labels<2>, Counter>,
    state_writes: Counter,
    state_write_failures: Counter,
    reload: Reload,
    http_requests: Family<Labels<2>, Counter>,
}

impl Instruments {
    /// Those of a daemon; `telemetry_path` is the value of the label `path` for scrapes.
    #[must_use]
    pub fn new(telemetry_path: &str) -> Self {
        let mut instruments = Self::of_one_poll(telemetry_path);
        instruments.register_daemon();
        instruments
    }

    /// Those of a poll whose result is printed: nothing of the process, whose `process_*` would collide with those of
    /// whoever exposes that text, and nothing of HTTP.
    #[must_use]
    pub fn of_one_poll(telemetry_path: &str) -> Self {
        let http_at_start = [
            (Route::Page, 200),
            (Route::Metrics, 200),
            (Route::Metrics, 401),
            (Route::Metrics, 429),
            (Route::Metrics, 503),
            (Route::Healthy, 200),
            (Route::Ready, 200),
            (Route::Ready, 503),
            (Route::Reload, 200),
            (Route::Reload, 403),
            (Route::Reload, 500),
            (Route::Other, 404),
        ];
        let mut instruments = Self {
            registry: Registry::default(),
            telemetry_path: RwLock::new(telemetry_path.to_owned()),
            polls: Counter::default(),
            poll_failures: Counter::default(),
            poll_overruns: Counter::default(),
            api_requests: Family::new(
                per_endpoint(|endpoint| [Some(200), None].map(|code| request_labels(endpoint, code))),
                Counter::default,
            ),
            api_failures: Family::new(
                per_endpoint(|endpoint| Reason::ALL.iter().map(move |reason| reason_labels(endpoint, reason.label()))),
                Counter::default,
            ),
            api_durations: Family::new(per_endpoint(|endpoint| [endpoint_labels(endpoint)]), || {
                Histogram::new(REQUEST_BUCKETS)
            }),
            api_retries: Family::new(per_endpoint(|endpoint| [endpoint_labels(endpoint)]), Counter::default),
            invalid_entries: Family::new(
                per_endpoint(|endpoint| Defect::ALL.iter().map(move |defect| reason_labels(endpoint, defect.label()))),
                Counter::default,
            ),
            state_writes: Counter::default(),
            state_write_failures: Counter::default(),
            reload: Reload::default(),
            http_requests: Family::new(
                http_at_start.map(|(route, code)| http_labels(telemetry_path, route, code)),
                Counter::default,
            ),
        };
        instruments.register();
        instruments
    }

    fn register(&mut self) {
        let registry = &mut self.registry;
        registry.register(
            "translation_exporter_build_info",
            "Version, source revision and compiler of this exporter; always 1",
            Family::new([build_labels()], || ConstGauge::new(1_u64)),
        );
        let mut counter = |name: &str, help: &str, counter: &Counter| {
            registry.register(format!("translation_exporter_{name}"), help, counter.clone());
        };
        counter("polls", "Polls of the API that have ended", &self.polls);
        counter("poll_failures", "Polls that did not read everything they wanted", &self.poll_failures);
        counter("poll_overruns", "Polls that took longer than poll.interval", &self.poll_overruns);
        counter("state_writes", "Attempts to write the state file", &self.state_writes);
        counter("state_write_failures", "Attempts to write the state file that failed", &self.state_write_failures);
        registry.register(
            "translation_exporter_api_requests",
            "Requests to the API, retries included, by status; the code is error where no answer came",
            self.api_requests.clone(),
        );
        registry.register(
            "translation_exporter_api_request_failures",
            "Requests to the API that failed, retries included, by reason",
            self.api_failures.clone(),
        );
        registry.register_with_unit(
            "translation_exporter_api_request_duration",
            "Time that one request to the API took, the whole body included",
            Unit::Seconds,
            self.api_durations.clone(),
        );
        registry.register(
            "translation_exporter_api_retries",
            "Requests to the API that were made again after a failure",
            self.api_retries.clone(),
        );
        registry.register(
            "translation_exporter_invalid_entries",
            "Entries or fields in answers of the API that could not be used, by what was wrong",
            self.invalid_entries.clone(),
        );
        registry.register_collector(Box::new(self.reload.clone()));
    }

    fn register_daemon(&mut self) {
        self.registry.register(
            "translation_exporter_http_requests",
            "Requests that this exporter answered, by path and status",
            self.http_requests.clone(),
        );
        if let Some(process) = ProcessCollector::new() {
            self.registry.register_collector(Box::new(process));
        }
    }

    /// A poll has ended; it is a failure where it did not read everything.
    pub fn poll_ended(&self, success: bool) {
        self.polls.inc();
        if !success {
            self.poll_failures.inc();
        }
    }

    /// A poll took longer than the interval.
    pub fn poll_overran(&self) {
        self.poll_overruns.inc();
    }

    /// One request was answered with status `code`, or failed before it had one.
    pub fn api_request(&self, endpoint: Endpoint, code: Option<u16>, took: Duration) {
        self.api_requests.get(&request_labels(endpoint, code)).inc();
        self.api_durations.get(&endpoint_labels(endpoint)).observe(took.as_secs_f64());
    }

    /// One request failed, for `reason`.
    pub fn api_failure(&self, endpoint: Endpoint, reason: Reason) {
        self.api_failures.get(&reason_labels(endpoint, reason.label())).inc();
    }

    /// One request is made again.
    pub fn api_retry(&self, endpoint: Endpoint) {
        self.api_retries.get(&endpoint_labels(endpoint)).inc();
    }

    /// An entry, or a field of it, could not be used.
    pub fn invalid_entry(&self, endpoint: Endpoint, defect: Defect) {
        self.invalid_entries.get(&reason_labels(endpoint, defect.label())).inc();
    }

    /// The state file was written, or could not be.
    pub fn state_written(&self, success: bool) {
        self.state_writes.inc();
        if !success {
            self.state_write_failures.inc();
        }
    }

    /// A configuration was loaded (at the start or by a reload), or was refused.
    pub fn config_loaded(&self, success: bool, at: Timestamp) {
        self.reload.loaded(success, at);
    }

    /// The web configuration's files were read because they had changed, and taken or refused. It does not make a
    /// refused configuration good.
    pub fn web_config_loaded(&self, success: bool, at: Timestamp) {
        self.reload.web_loaded(success, at);
    }

    /// A request was answered with status `code`.
    pub fn http_request(&self, route: Route, code: u16) {
        let telemetry_path = self.telemetry_path.read().unwrap_or_else(PoisonError::into_inner);
        self.http_requests.get(&http_labels(&telemetry_path, route, code)).inc();
    }

    /// Scrapes are answered at this path from now on.
    pub fn telemetry_path_changed(&self, telemetry_path: &str) {
        telemetry_path.clone_into(&mut self.telemetry_path.write().unwrap_or_else(PoisonError::into_inner));
    }

    /// Appends the exposition of all own metrics; the closing `# EOF` is not among it.
    pub fn encode(&self, format: Format, out: &mut String) {
        // Nothing here fails to encode, and a String takes all that is written to it.
        let _: std::fmt::Result = match format {
            Format::OpenMetrics => prometheus_client::encoding::text::encode_registry(out, &self.registry),
            Format::Text => {
                let mut open_metrics = String::with_capacity(16 * 1024);
                let written = prometheus_client::encoding::text::encode_registry(&mut open_metrics, &self.registry);
                text::from_open_metrics(&open_metrics, out);
                written
            }
        };
    }
}

fn per_endpoint<I: IntoIterator>(labels: impl Fn(Endpoint) -> I) -> impl Iterator<Item = I::Item> {
    Endpoint::ALL.iter().flat_map(move |endpoint| labels(*endpoint))
}

fn endpoint_labels(endpoint: Endpoint) -> Labels<1> {
    [("endpoint", endpoint.label().into())]
}

fn reason_labels(endpoint: Endpoint, reason: &'static str) -> Labels<2> {
    [("endpoint", endpoint.label().into()), ("reason", reason.into())]
}

fn request_labels(endpoint: Endpoint, code: Option<u16>) -> Labels<2> {
    [("endpoint", endpoint.label().into()), ("code", code.map_or("error".into(), code_label))]
}

fn http_labels(telemetry_path: &str, route: Route, code: u16) -> Labels<2> {
    let path = route.label().map_or_else(|| telemetry_path.to_owned().into(), Cow::Borrowed);
    [("path", path), ("code", code_label(code))]
}

/// Without an allocation for the code of nearly all answers.
fn code_label(code: u16) -> Cow<'static, str> {
    if code == 200 { "200".into() } else { code.to_string().into() }
}

fn build_labels() -> Labels<3> {
    [
        ("version", env!("CARGO_PKG_VERSION").into()),
        ("revision", env!("TRANSLATION_EXPORTER_REVISION").into()),
        ("rustc", env!("TRANSLATION_EXPORTER_RUSTC").into()),
    ]
}

#[cfg(test)]
mod tests;
