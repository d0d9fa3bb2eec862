//! When the certificate that is served expires.

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

/// Clones share what they know. Without TLS there is no such metric.
#[derive(Debug, Clone, Default)]
pub(super) struct Expiry(Arc<Mutex<Option<Timestamp>>>);

impl Expiry {
    pub(super) fn set(&self, at: Option<Timestamp>) {
        *lock(&self.0) = at;
    }
}

impl Collector for Expiry {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let Some(at) = *lock(&self.0) else { return Ok(()) };
        let gauge = ConstGauge::new(at.as_seconds());
        gauge.encode(encoder.encode_descriptor(
            "translation_exporter_tls_certificate_expiry_timestamp",
            "When the certificate that is served expires.",
            Some(&Unit::Seconds),
            gauge.metric_type(),
        )?)
    }
}
