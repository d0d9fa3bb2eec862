//! Metrics of one name by their labels.

use crate::sync::lock;
use prometheus_client::{
    encoding::{EncodeMetric, MetricEncoder},
    metrics::{MetricType, TypedMetric},
};
use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex},
};

type Labels = Vec<(&'static str, String)>;

/// Like the library's `Family`, but samples are in the order of their labels: `Family` is a hash map, and would show the
/// reasons of failures in another order after each start. Clones share the metrics.
#[derive(Debug, Clone)]
pub(super) struct ByLabels<M> {
    metrics: Arc<Mutex<BTreeMap<Labels, M>>>,
    make: fn() -> M,
}

impl<M: Default> Default for ByLabels<M> {
    fn default() -> Self {
        Self {
            metrics: Arc::default(),
            make: M::default,
        }
    }
}

impl<M: Clone> ByLabels<M> {
    pub fn new(make: fn() -> M) -> Self {
        Self {
            metrics: Arc::default(),
            make,
        }
    }

    /// The metric with these labels, created if there is none yet.
    pub fn at<const N: usize>(&self, labels: [(&'static str, &str); N]) -> M {
        let labels = labels
            .map(|(name, value)| (name, value.to_owned()))
            .to_vec();
        lock(&self.metrics)
            .entry(labels)
            .or_insert_with(self.make)
            .clone()
    }
}

impl<M: EncodeMetric + TypedMetric> EncodeMetric for ByLabels<M> {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        lock(&self.metrics)
            .iter()
            .try_for_each(|(labels, metric)| metric.encode(encoder.encode_family(labels)?))
    }

    fn metric_type(&self) -> MetricType {
        M::TYPE
    }
}
