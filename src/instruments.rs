//! The exporter's own counters and histograms: what happened, as opposed to what is known.
//!
//! Counters whose labels are known in advance are there from the start, at 0, so that a rate over the first event is
//! right. Series come in the order of their labels. What the exporter knows of the world is in [`crate::exposition`].

mod events;
mod expiry;
mod family;
mod process;
mod reload;
mod text;

use self::{
    events::{Changes, Events, operation_labels, reason_labels, request_labels},
    expiry::Expiry,
    family::Family,
    process::ProcessCollector,
};
use crate::model::{Defect, HandshakeFailure, Operation, Reason, Timestamp};
use prometheus_client::{metrics::counter::Counter, registry::Registry};
use std::{borrow::Cow, time::Duration};

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
    http_requests: Family<Labels<2>, Counter>,
    handshake_failures: Family<Labels<1>, Counter>,
    expiry: Expiry,
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
        instruments.live_registry.register(
            "translation_exporter_tls_handshake_failures",
            "TLS handshakes with clients that failed, by reason",
            instruments.handshake_failures.clone(),
        );
        instruments.live_registry.register_collector(Box::new(instruments.expiry.clone()));
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
            ("/", 200),
            (telemetry_path, 200),
            (telemetry_path, 401),
            (telemetry_path, 429),
            (telemetry_path, 503),
            ("/-/healthy", 200),
            ("/-/ready", 200),
            ("/-/ready", 503),
            ("/-/reload", 200),
            ("/-/reload", 403),
            ("/-/reload", 500),
            ("other", 404),
        ];
        let events = Events::new();
        let mut event_registry = Registry::default();
        events.register(&mut event_registry);
        Self {
            events: Changes::new(events),
            event_registry,
            live_registry: Registry::default(),
            http_requests: Family::new(http_at_start.map(|(path, code)| http_labels(path, code)), Counter::default),
            handshake_failures: Family::new(
                HandshakeFailure::ALL.iter().map(|reason| handshake_labels(*reason)),
                Counter::default,
            ),
            expiry: Expiry::default(),
        }
    }

    /// A poll has ended; it is a failure where it did not read everything.
    pub fn poll_ended(&self, success: bool) {
        self.events.change(|events| {
            events.polls.inc();
            if !success {
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

    /// A request was answered with status `code`. `path` is the route that matched, or "other".
    pub fn http_request(&self, path: &str, code: u16) {
        self.http_requests.get(&http_labels(path, code)).inc();
    }

    /// A TLS handshake with a client failed.
    pub fn tls_handshake_failed(&self, reason: HandshakeFailure) {
        self.handshake_failures.get(&handshake_labels(reason)).inc();
    }

    /// The certificate that is served from now on expires then; `None` without TLS.
    pub fn certificate_expires(&self, at: Option<Timestamp>) {
        self.expiry.set(at);
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

fn http_labels(path: &str, code: u16) -> Labels<2> {
    [("path", path.to_owned().into()), ("code", code_label(code))]
}

fn handshake_labels(reason: HandshakeFailure) -> Labels<1> {
    [("reason", reason.label().into())]
}

/// Without an allocation for the code of nearly all answers.
fn code_label(code: u16) -> Cow<'static, str> {
    if code == 200 { "200".into() } else { code.to_string().into() }
}

#[cfg(test)]
mod tests;
