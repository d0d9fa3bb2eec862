//! A metric for each set of labels, told in the order of the labels.
//!
//! The library's own family is a hash map: its order changes with each process, which compresses worse and reads worse.

use crate::sync::{read, write};
use prometheus_client::{
    encoding::{EncodeLabelSet, EncodeMetric, MetricEncoder},
    metrics::{MetricType, TypedMetric},
};
use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, RwLock},
};

/// Metrics of one name. Clones share them.
#[derive(Debug, Clone)]
pub(super) struct Family<L, M> {
    metrics: Arc<RwLock<BTreeMap<L, M>>>,
    make: fn() -> M,
}

impl<L: Ord, M> Family<L, M> {
    /// A family that holds a metric for each of `known` from the start.
    pub(super) fn new(known: impl IntoIterator<Item = L>, make: fn() -> M) -> Self {
        let metrics = known.into_iter().map(|labels| (labels, make())).collect();
        Self { metrics: Arc::new(RwLock::new(metrics)), make }
    }
}

impl<L: Ord + Clone, M: Clone> Family<L, M> {
    /// The metric of `labels`, made where there is none yet.
    pub(super) fn get(&self, labels: &L) -> M {
        if let Some(metric) = read(&self.metrics).get(labels) {
            return metric.clone();
        }
        let mut metrics = write(&self.metrics);
        metrics.entry(labels.clone()).or_insert_with(self.make).clone()
    }
}

impl<L, M> EncodeMetric for Family<L, M>
where
    L: EncodeLabelSet,
    M: EncodeMetric + TypedMetric,
{
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        for (labels, metric) in read(&self.metrics).iter() {
            metric.encode(encoder.encode_family(labels)?)?;
        }
        Ok(())
    }

    fn metric_type(&self) -> MetricType {
        M::TYPE
    }

    fn is_empty(&self) -> bool {
        read(&self.metrics).is_empty()
    }
}
