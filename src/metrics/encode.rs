//! Encoding by collectors, which name each metric where they encode it.

use prometheus_client::{
    encoding::{DescriptorEncoder, EncodeGaugeValue, EncodeLabelSet, EncodeMetric},
    metrics::{MetricType, gauge::ConstGauge},
};
use std::fmt;

/// Encodes a metric; one without samples is omitted. `help` is a sentence without its full stop,
/// quotes and backslashes.
pub(super) fn metric(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    metric: &impl EncodeMetric,
) -> fmt::Result {
    if metric.is_empty() {
        return Ok(());
    }
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

/// Encodes a gauge with a sample for each item that has a value. Without samples, it is omitted.
pub(super) fn gauges<T, L: EncodeLabelSet, N: EncodeGaugeValue>(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    items: impl IntoIterator<Item = (L, T)>,
    value: impl Fn(T) -> Option<N>,
) -> fmt::Result {
    let samples = items.into_iter();
    let samples = samples.filter_map(|(labels, item)| Some((labels, value(item)?)));
    let mut samples = samples.peekable();
    if samples.peek().is_none() {
        return Ok(());
    }
    let help = format!("{help}.");
    let mut family = encoder.encode_descriptor(name, &help, None, MetricType::Gauge)?;
    for (labels, value) in samples {
        ConstGauge::new(value).encode(family.encode_family(&labels)?)?;
    }
    Ok(())
}
