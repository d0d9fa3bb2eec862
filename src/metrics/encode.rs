//! Encoding by definition: name, unit, type and help come from a [`MetricDefinition`].

use super::definition::MetricDefinition;
use prometheus_client::{
    encoding::{
        DescriptorEncoder, EncodeCounterValue, EncodeGaugeValue, EncodeMetric as _, MetricEncoder,
    },
    metrics::{counter::ConstCounter, gauge::ConstGauge},
    registry::Unit,
};
use std::{fmt, sync::LazyLock};

/// Encodes a gauge without labels; without a value, it is omitted.
pub(super) fn gauge(
    encoder: &mut DescriptorEncoder<'_>,
    definition: &MetricDefinition,
    value: Option<impl EncodeGaugeValue>,
) -> fmt::Result {
    let Some(value) = value else {
        return Ok(());
    };
    ConstGauge::new(value).encode(descriptor(encoder, definition)?)
}

/// Encodes a counter without labels.
pub(super) fn counter(
    encoder: &mut DescriptorEncoder<'_>,
    definition: &MetricDefinition,
    value: impl EncodeCounterValue,
) -> fmt::Result {
    ConstCounter::new(value).encode(descriptor(encoder, definition)?)
}

/// Encodes the lines HELP, TYPE and UNIT of a metric that a collector encodes.
pub(super) fn descriptor<'a>(
    encoder: &'a mut DescriptorEncoder<'_>,
    definition: &MetricDefinition,
) -> Result<MetricEncoder<'a>, fmt::Error> {
    let (stem, unit) = stem_and_unit(definition.name);
    // The registry appends a full stop as well.
    let help = definition.help() + ".";
    encoder.encode_descriptor(stem, &help, unit, definition.kind)
}

/// The unit of the metrics whose names end with `_ratio`.
static RATIO: LazyLock<Unit> = LazyLock::new(|| Unit::Other("ratio".to_owned()));

/// Splits a name into the parts that prometheus-client joins again. With this, the source contains
/// the names that users know.
pub(super) fn stem_and_unit(name: &str) -> (&str, Option<&'static Unit>) {
    let name = name.strip_suffix("_total").unwrap_or(name);
    match name.rsplit_once('_') {
        Some((stem, "seconds")) => (stem, Some(&Unit::Seconds)),
        Some((stem, "bytes")) => (stem, Some(&Unit::Bytes)),
        Some((stem, "ratio")) => (stem, Some(&RATIO)),
        _ => (name, None),
    }
}
