//! How the last loading of the configuration went.

use crate::model::Timestamp;
use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeMetric},
    metrics::gauge::ConstGauge,
    registry::Unit,
};
use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

/// Clones share what they know. Tells nothing until a configuration was loaded.
#[derive(Debug, Clone, Default)]
pub(super) struct Reload(Arc<Mutex<Option<Outcome>>>);

#[derive(Debug, Clone, Copy)]
struct Outcome {
    success: bool,
    last_success: Option<Timestamp>,
}

impl Reload {
    pub(super) fn loaded(&self, success: bool, at: Timestamp) {
        let mut outcome = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = outcome.and_then(|outcome| outcome.last_success);
        *outcome = Some(Outcome { success, last_success: if success { Some(at) } else { before } });
    }
}

impl Collector for Reload {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let Some(Outcome { success, last_success }) = *self.0.lock().unwrap_or_else(PoisonError::into_inner) else {
            return Ok(());
        };
        let successful = ConstGauge::new(u64::from(success));
        successful.encode(encoder.encode_descriptor(
            "translation_exporter_config_last_reload_successful",
            "1 if the last configuration that was read is in force, 0 if it was refused.",
            None,
            successful.metric_type(),
        )?)?;
        if let Some(at) = last_success {
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
