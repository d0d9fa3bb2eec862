//! The exporter's own counters and histograms: what happened, as opposed to what is known.
//!
//! Counters whose labels are known in advance are there from the start, at 0, so that a rate over the first event is
//! right. Series come in the order of their labels. What the exporter knows of the world is in [`crate::exposition`].

mod events;
mod family;
mod process;
mod reload;
mod text;

use self::{
    events::{Changes, Events, operation_labels, reason_labels, request_labels},
    family::Family,
    process::ProcessCollector,
};
use crate::{
    model::{Defect, Operation, PollFailure, Reason, Timestamp},
    route::Route,
    sync::{read, write},
};
use prometheus_client::{metrics::counter::Counter, registry::Registry};
use std::{borrow::Cow, sync::RwLock, time::Duration};

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
///
/// They are told in two parts, the events and after them the rest, so that a scrape need not encode the events anew
/// while there are none.
#[derive(Debug)]
pub struct Instruments {
    /// What polls, reloads and the state file add to.
    events: Changes<Events>,
    event_registry: Registry,
    /// What every scrape finds changed: the process, and the scrapes themselves.
    live_registry: Registry,
    telemetry_path: RwLock<String>,
    http_requests: Family<Labels<2>, Counter>,
}

impl Instruments {
    /// Those of a daemon; `telemetry_path` is the value of the label `path` for scrapes.
    #[must_use]
    pub fn new(telemetry_path: &str) -> Self {
        let mut instruments = Self::of_one_poll(telemetry_path);
        instruments.live_registry.register(
            "translation_exporter_http_requests",
            "Requests that this exporter answered, by path and status",
            instruments.http_requests.clone(),
        );
        if let Some(process) = ProcessCollector::new() {
            instruments.live_registry.register_collector(Box::new(process));
        }
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
        let events = Events::new();
        let mut event_registry = Registry::default();
        events.register(&mut event_registry);
        Self {
            events: Changes::new(events),
            event_registry,
            live_registry: Registry::default(),
            telemetry_path: RwLock::new(telemetry_path.to_owned()),
            http_requests: Family::new(
                http_at_start.map(|(route, code)| http_labels(telemetry_path, route, code)),
                Counter::default,
            ),
        }
    }

    /// A poll has ended; `failure` is why it did not read everything, if it did not.
    pub fn poll_ended(&self, failure: Option<PollFailure>) {
        self.events.change(|events| {
            events.polls.inc();
            if failure.is_some() {
                events.poll_failures.inc();
            }
        });
    }

    /// A poll took longer than the interval.
    pub fn poll_overran(&self) {
        self.events.change(|events| events.poll_overruns.inc());
    }

    /// One request was answered with status `code`, or failed before it had one.
    pub fn api_request(&self, operation: Operation, code: Option<u16>, took: Duration) {
        self.events.change(|events| {
            events.api_requests.get(&request_labels(operation, code)).inc();
            events.api_durations.get(&operation_labels(operation)).observe(took.as_secs_f64());
        });
    }

    /// One request failed, for `reason`.
    pub fn api_failure(&self, operation: Operation, reason: Reason) {
        self.events.change(|events| events.api_failures.get(&reason_labels(operation, reason.label())).inc());
    }

    /// One request is made again.
    pub fn api_retry(&self, operation: Operation) {
        self.events.change(|events| events.api_retries.get(&operation_labels(operation)).inc());
    }

    /// An entry, or a field of it, could not be used.
    pub fn invalid_entry(&self, operation: Operation, defect: Defect) {
        self.events.change(|events| events.invalid_entries.get(&reason_labels(operation, defect.label())).inc());
    }

    /// The state file was written, or could not be.
    pub fn state_written(&self, success: bool) {
        self.events.change(|events| {
            events.state_writes.inc();
            if !success {
                events.state_write_failures.inc();
            }
        });
    }

    /// A configuration was loaded (at the start or by a reload), or was refused.
    pub fn config_loaded(&self, success: bool, at: Timestamp) {
        self.events.change(|events| events.reload.loaded(success, at));
    }

    /// The web configuration's files were read because they had changed, and taken or refused. It does not make a
    /// refused configuration good.
    pub fn web_config_loaded(&self, success: bool, at: Timestamp) {
        self.events.change(|events| events.reload.web_loaded(success, at));
    }

    /// A request was answered with status `code`.
    pub fn http_request(&self, route: Route, code: u16) {
        let telemetry_path = read(&self.telemetry_path);
        self.http_requests.get(&http_labels(&telemetry_path, route, code)).inc();
    }

    /// Scrapes are answered at this path from now on.
    pub fn telemetry_path_changed(&self, telemetry_path: &str) {
        telemetry_path.clone_into(&mut write(&self.telemetry_path));
    }

    /// A number that is another one after each event.
    #[must_use]
    pub fn events_version(&self) -> u64 {
        self.events.count()
    }

    /// Appends the exposition of the events, at least of those that [`Self::events_version`] had counted before.
    pub fn encode_events(&self, format: Format, out: &mut String) {
        encode(&self.event_registry, format, out);
    }

    /// Appends the exposition of what follows the events; the closing `# EOF` is not among it.
    pub fn encode_live(&self, format: Format, out: &mut String) {
        encode(&self.live_registry, format, out);
    }
}

fn encode(registry: &Registry, format: Format, out: &mut String) {
    // Nothing here fails to encode, and a String takes all that is written to it.
    let _: std::fmt::Result = match format {
        Format::OpenMetrics => prometheus_client::encoding::text::encode_registry(out, registry),
        Format::Text => {
            let mut open_metrics = String::with_capacity(16 * 1024);
            let written = prometheus_client::encoding::text::encode_registry(&mut open_metrics, registry);
            text::from_open_metrics(&open_metrics, out);
            written
        }
    };
}

fn http_labels(telemetry_path: &str, route: Route, code: u16) -> Labels<2> {
    let path = route.label().map_or_else(|| telemetry_path.to_owned().into(), Cow::Borrowed);
    [("path", path), ("code", code_label(code))]
}

/// Without an allocation for the code of nearly all answers.
fn code_label(code: u16) -> Cow<'static, str> {
    if code == 200 { "200".into() } else { code.to_string().into() }
}

#[cfg(test)]
mod tests;
