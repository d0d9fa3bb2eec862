//! How the last loading of the configuration went.

use crate::{model::Timestamp, sync::lock};
use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeMetric},
    metrics::gauge::ConstGauge,
    registry::Unit,
};
use std::{
    fmt,
    sync::{Arc, Mutex},
};

/// Clones share what they know. Tells nothing until a configuration was loaded.
#[derive(Debug, Clone, Default)]
pub(super) struct Reload(Arc<Mutex<Option<Outcome>>>);

#[derive(Debug, Clone, Copy, Default)]
struct Outcome {
    /// Whether the last reload was refused, and the last change of the web configuration's files: each is told until it
    /// is mended itself.
    refused: bool,
    web_refused: bool,
    last_success: Option<Timestamp>,
}

impl Reload {
    /// The whole configuration was read, the web configuration file with it.
    pub(super) fn loaded(&self, success: bool, at: Timestamp) {
        self.change(at, |outcome| {
            outcome.refused = !success;
            outcome.web_refused &= !success;
        });
    }

    /// The web configuration's files were read because they had changed.
    pub(super) fn web_loaded(&self, success: bool, at: Timestamp) {
        self.change(at, |outcome| outcome.web_refused = !success);
    }

    fn change(&self, at: Timestamp, change: impl FnOnce(&mut Outcome)) {
        let mut known = lock(&self.0);
        let mut outcome = known.unwrap_or_default();
        change(&mut outcome);
        if outcome.is_good() {
            outcome.last_success = Some(at);
        }
        *known = Some(outcome);
    }
}

impl Outcome {
    fn is_good(self) -> bool {
        !self.refused && !self.web_refused
    }
}

impl Collector for Reload {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let Some(outcome) = *lock(&self.0) else { return Ok(()) };
        let successful = ConstGauge::new(u64::from(outcome.is_good()));
        successful.encode(encoder.encode_descriptor(
            "translation_exporter_config_last_reload_successful",
            "1 if the last configuration that was read is in force, 0 if it was refused.",
            None,
            successful.metric_type(),
        )?)?;
        if let Some(at) = outcome.last_success {
            let timestamp = ConstGauge::new(at.as_seconds());
            timestamp.encode(encoder.encode_descriptor(
                "translation_exporter_config_last_reload_success_timestamp",
                "When the configuration in force was loaded.",
                Some(&Unit::Seconds),
                timestamp.metric_type(),
            )?)?;
        }
        Ok(())
    }
}
