//! What the exporter knows about itself: its configuration, state file, clock and certificate.

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

/// What may need attention and is not shown by polls. Each failure lasts until the same thing succeeds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// Why the last configuration that was read is not in force.
    pub reload_refused: Option<Lasting>,
    /// Why the state file could not be written.
    pub state_not_saved: Option<Lasting>,
    /// Why the state file was set aside at the start; lasts until the next start.
    pub state_discarded: Option<Lasting>,
    /// That the machine's clock is behind what is known.
    pub clock_behind: Option<Lasting>,
    /// How many lines of the log were dropped because nobody read stderr.
    pub log_lines_dropped: u64,
    /// `None` if no certificate is served.
    pub certificate_expires_at: Option<Timestamp>,
    /// When more than half of the repositories last left the listing.
    pub repositories_dropped: Option<Dropped>,
    /// How often each way of deviating from the specification was seen.
    pub shapes: BTreeMap<Shape, u64>,
    /// What the last judgement remembered.
    pub history: History,
    /// When the configuration in force was loaded.
    pub(super) loaded_at: Option<Timestamp>,
}

/// A listing, confirmed by the next one, that lacked more than half of the known repositories.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dropped {
    pub at: Timestamp,
    /// How many repositories were listed before.
    pub before: usize,
}

/// Encodes what the facts are at the scrape.
#[derive(Debug)]
pub struct FactsCollector(pub Arc<Mutex<Facts>>);

/// The facts of this moment.
pub fn current(facts: &Mutex<Facts>) -> Facts {
    Facts {
        log_lines_dropped: logging::lines_dropped(),
        ..lock(facts).clone()
    }
}

/// Notes whether something fails at `now`; `since` stays if it failed before.
pub fn note(known: &mut Option<Lasting>, failure: Option<Failure>, now: Timestamp) {
    *known = failure.map(|failure| failure.lasting(known.as_ref(), now));
}

/// What is not known is absent.
impl Collector for FactsCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let facts = current(&self.0);
        let refused = facts.reload_refused.is_some();
        gauge(
            &mut encoder,
            "translation_exporter_state_discarded",
            "1 if the state file was damaged, or of another API, at the start and was set aside, 0 if not.",
            Some(u64::from(facts.state_discarded.is_some())),
        )?;
        let dropped = encoder.encode_descriptor(
            "translation_exporter_log_lines_dropped",
            "Lines of the log that were dropped because nobody read stderr.",
            None,
            MetricType::Counter,
        )?;
        ConstCounter::new(facts.log_lines_dropped).encode(dropped)?;
        gauge(
            &mut encoder,
            "translation_exporter_config_last_reload_successful",
            "1 if the last configuration that was read is in force, 0 if it was refused.",
            facts.loaded_at.map(|_| u64::from(!refused)),
        )?;
        gauge(
            &mut encoder,
            "translation_exporter_config_last_reload_success_timestamp_seconds",
            "When the configuration in force was loaded.",
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
