//! Encoding by collectors, which name each metric where they encode it.

use prometheus_client::{
    encoding::{DescriptorEncoder, EncodeGaugeValue, EncodeLabelSet, EncodeMetric},
    metrics::{MetricType, gauge::ConstGauge},
};
use std::fmt;

/// Encodes a metric. `help` is a sentence without its full stop, quotes and backslashes.
pub(super) fn metric(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    metric: &impl EncodeMetric,
) -> fmt::Result {
    // The encoder appends the suffix again.
    let stem = name.trim_end_matches("_total");
    let kind = metric.metric_type();
    metric.encode(encoder.encode_descriptor(stem, &format!("{help}."), None, kind)?)
}

/// Encodes a gauge without labels; without a value, it is omitted.
pub(super) fn gauge(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    value: Option<impl EncodeGaugeValue>,
) -> fmt::Result {
    value.map_or(Ok(()), |value| {
        metric(encoder, name, help, &ConstGauge::new(value))
    })
}

/// Encodes a gauge that changes only with a read of the API, with a sample for each item that has a
/// value.
pub(super) fn gauges<T, L: EncodeLabelSet, N: EncodeGaugeValue>(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    items: impl IntoIterator<Item = (L, T)>,
    value: impl Fn(T) -> Option<N>,
) -> fmt::Result {
    let help = format!("{help}; read from the API every poll.interval, not at the scrape.");
    let mut family = encoder.encode_descriptor(name, &help, None, MetricType::Gauge)?;
    for (labels, item) in items {
        if let Some(value) = value(item) {
            ConstGauge::new(value).encode(family.encode_family(&labels)?)?;
        }
    }
    Ok(())
}
