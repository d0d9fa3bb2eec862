//! The exporter's own facts, which polls do not determine: configuration, state file, clock and
//! certificate.

use super::gauge;
use crate::{
    domain::{Failure, History, Lasting, Shape},
    support::{clock::Timestamp, lock::lock, logging},
};
use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeMetric as _},
    metrics::{MetricType, counter::ConstCounter},
};
use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex},
};

/// The facts that may need attention. A failure lasts until the same operation succeeds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// The failure of the last reload; the active configuration is older.
    pub reload_refused: Option<Lasting>,
    /// The failure of the last write of the state file.
    pub state_not_saved: Option<Lasting>,
    /// The reason why the state file was set aside at the start. It lasts until the next start.
    pub state_discarded: Option<Lasting>,
    /// The wall clock is behind a recorded timestamp.
    pub clock_behind: Option<Lasting>,
    /// The log lines that were dropped because stderr was not read.
    pub log_lines_dropped: u64,
    /// The expiry of the served certificate; `None` without one.
    pub certificate_expires_at: Option<Timestamp>,
    /// The last listing that lacked more than half of the repositories.
    pub repositories_dropped: Option<Dropped>,
    /// A count for each deviation of the API from its specification.
    pub shapes: BTreeMap<Shape, u64>,
    /// The history that the last diagnosis left for the next one.
    pub history: History,
    /// The time at which the active configuration was loaded.
    pub(super) loaded_at: Option<Timestamp>,
}

/// A listing, confirmed by the next one, that lacked more than half of the known repositories.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dropped {
    pub at: Timestamp,
    /// The number of repositories in the listing before.
    pub before: usize,
}

/// The collector of the facts. It reads them at each scrape.
#[derive(Debug)]
pub struct FactsCollector(pub Arc<Mutex<Facts>>);

/// Returns a copy of the facts, with the current count of dropped log lines.
pub fn current(facts: &Mutex<Facts>) -> Facts {
    Facts {
        log_lines_dropped: logging::lines_dropped(),
        ..lock(facts).clone()
    }
}

/// Records the outcome of an operation at `now`. A repeated failure keeps the time of the first.
pub fn note(known: &mut Option<Lasting>, failure: Option<Failure>, now: Timestamp) {
    *known = failure.map(|failure| failure.lasting(known.as_ref(), now));
}

/// Omits unknown values.
impl Collector for FactsCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let facts = current(&self.0);
        let refused = facts.reload_refused.is_some();
        gauge(
            &mut encoder,
            "translation_exporter_state_discarded",
            "1 if the state file was set aside at the start, because it was damaged or of another \
             API; 0 if not.",
            Some(u64::from(facts.state_discarded.is_some())),
        )?;
        let dropped = encoder.encode_descriptor(
            "translation_exporter_log_lines_dropped",
            "Log lines that were dropped because stderr was not read.",
            None,
            MetricType::Counter,
        )?;
        ConstCounter::new(facts.log_lines_dropped).encode(dropped)?;
        gauge(
            &mut encoder,
            "translation_exporter_config_last_reload_successful",
            "1 if the last configuration that was read is active, 0 if it was refused.",
            facts.loaded_at.map(|_| u64::from(!refused)),
        )?;
        gauge(
            &mut encoder,
            "translation_exporter_config_last_reload_success_timestamp_seconds",
            "When the active configuration was loaded.",
            facts.loaded_at.map(Timestamp::as_seconds),
        )?;
        gauge(
            &mut encoder,
            "translation_exporter_tls_certificate_expiry_timestamp_seconds",
            "When the served TLS certificate expires.",
            facts.certificate_expires_at.map(Timestamp::as_seconds),
        )
    }
}
