//! The exporter's own facts, which polls do not determine: configuration, state file, clock and
//! certificate.

use crate::{
    domain::Failure,
    metrics::{
        definition,
        encode::{counter, gauge},
    },
    support::{
        clock::{Clock, Moment, Timestamp},
        lock::lock,
        logging,
    },
};
use prometheus_client::{collector::Collector, encoding::DescriptorEncoder};
use std::{
    fmt,
    sync::{Arc, Mutex},
};

/// The facts that may need attention. A failure lasts until the same operation succeeds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// The failure of the last reload; the active configuration is older.
    pub reload_refused: Option<Failure>,
    /// The failure of the last write of the state file.
    pub state_not_saved: Option<Failure>,
    /// The reason why the state file was set aside at the start. It lasts until the next start.
    pub state_discarded: Option<Failure>,
    /// Log lines dropped because stderr was not read.
    pub log_lines_dropped: u64,
    /// The time of the last dropped line.
    pub log_lines_dropped_at: Option<Timestamp>,
    /// The expiry of the served certificate; `None` without one.
    pub certificate_expires_at: Option<Timestamp>,
    /// The time at which the active configuration was loaded.
    pub(super) loaded_at: Option<Moment>,
}

/// The collector of the facts. It reads them at each scrape.
#[derive(Debug)]
pub struct FactsCollector(pub Arc<Mutex<Facts>>);

/// Returns a copy of the facts, with the current count of dropped log lines.
pub fn current(facts: &Mutex<Facts>) -> Facts {
    let mut facts = Facts {
        log_lines_dropped: logging::lines_dropped(),
        log_lines_dropped_at: logging::last_line_dropped_at(),
        ..lock(facts).clone()
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

/// Records the outcome of an operation. A repeated failure keeps the time of the first.
pub fn note(known: &mut Option<Failure>, failure: Option<Failure>) {
    *known = failure.map(|failure| failure.continuing(known.as_ref()));
}

/// Encodes the facts, without unknown values.
impl Collector for FactsCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let facts = current(&self.0);
        let refused = facts.reload_refused.is_some();
        gauge(
            &mut encoder,
            &definition::STATE_DISCARDED,
            Some(u64::from(facts.state_discarded.is_some())),
        )?;
        counter(
            &mut encoder,
            &definition::LOG_LINES_DROPPED,
            facts.log_lines_dropped,
        )?;
        gauge(
            &mut encoder,
            &definition::CONFIG_LAST_RELOAD_SUCCESSFUL,
            facts.loaded_at.map(|_| u64::from(!refused)),
        )?;
        gauge(
            &mut encoder,
            &definition::CONFIG_LAST_RELOAD_SUCCESS,
            facts
                .loaded_at
                .map(|at| at.seen_from(Clock::system().moment()).as_seconds()),
        )?;
        gauge(
            &mut encoder,
            &definition::TLS_CERTIFICATE_EXPIRY,
            facts.certificate_expires_at.map(Timestamp::as_seconds),
        )
    }
}
