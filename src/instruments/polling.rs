//! The state of polling and how much is known: the exporter's own gauges that a publication fixes.
//!
//! What is not known is absent: before the first poll has ended there is no `translation_up`, and nothing is counted
//! before anything is known.

use super::gauge;
use crate::snapshot::{PollStatus, Snapshot};
use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeMetric as _},
    metrics::{MetricType, gauge::ConstGauge},
};
use std::{fmt, sync::Arc};

/// What is published about polls besides the translations.
#[derive(Debug)]
pub(crate) struct Polling {
    pub snapshot: Arc<Snapshot>,
    pub status: PollStatus,
}

impl Collector for Polling {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let encoder = &mut encoder;
        let Self { snapshot, status } = self;
        if let Some(last) = &status.last {
            let listed = u64::from(last.listing.is_none());
            gauge(
                encoder,
                "translation_up",
                "1 if the last poll could list all repositories, 0 if not.",
                listed,
            )?;
            let name = "translation_exporter_last_poll_timestamp_seconds";
            gauge(
                encoder,
                name,
                "When the last poll ended.",
                last.ended_at.as_seconds(),
            )?;
            let name = "translation_exporter_last_poll_duration_seconds";
            gauge(
                encoder,
                name,
                "Time that the last poll took.",
                last.duration.as_secs_f64(),
            )?;
            let help = "1 if the last listing of the repositories reached its end, 0 if not.";
            gauge(
                encoder,
                "translation_exporter_listing_complete",
                help,
                listed,
            )?;
        }
        if let Some(at) = status.last_success_at {
            let name = "translation_exporter_last_success_timestamp_seconds";
            gauge(
                encoder,
                name,
                "When a poll last read everything.",
                at.as_seconds(),
            )?;
        }
        let help = "poll.interval: time from the start of a poll to the start of the next.";
        gauge(
            encoder,
            "translation_exporter_poll_interval_seconds",
            help,
            status.interval.as_secs_f64(),
        )?;
        if let Some(until) = status.held_until {
            let name = "translation_exporter_api_held_until_timestamp_seconds";
            let help = "Until when Retry-After holds all requests; absent while it does not.";
            gauge(encoder, name, help, until.as_seconds())?;
        }
        let help = "api.completion_scale: the reported completion that means finished.";
        gauge(
            encoder,
            "translation_exporter_completion_scale",
            help,
            snapshot.completion_scale,
        )?;
        if status.has_data() || snapshot.filtered > 0 || !snapshot.repositories.is_empty() {
            encode_totals(encoder, snapshot)?;
        }
        Ok(())
    }
}

/// What is counted over all repositories.
fn encode_totals(encoder: &mut DescriptorEncoder<'_>, snapshot: &Snapshot) -> fmt::Result {
    let help = "Repositories of the listing, each in one state.";
    let mut family = encoder.encode_descriptor(
        "translation_exporter_repositories",
        help,
        None,
        MetricType::Gauge,
    )?;
    let filtered = ("filtered", snapshot.filtered);
    let counted = ["pending", "fresh", "failing", "stale"].map(|state| {
        (
            state,
            snapshot.count(|condition| condition.label() == state),
        )
    });
    for (state, count) in [filtered].into_iter().chain(counted) {
        ConstGauge::new(count).encode(family.encode_family(&[("state", state)])?)?;
    }

    let languages = || {
        snapshot
            .repositories
            .iter()
            .filter_map(|shown| shown.condition.languages())
    };
    let readings = || languages().flat_map(|languages| languages.readings.iter());
    let help = "Languages that are served, over all repositories.";
    gauge(
        encoder,
        "translation_exporter_languages",
        help,
        readings().count(),
    )?;
    let help = "Languages whose reported completion is below 0 or above api.completion_scale.";
    gauge(
        encoder,
        "translation_exporter_completion_out_of_scale",
        help,
        snapshot.out_of_scale(),
    )?;
    let help = "1 while a reported completion is above 0 and none is above 1, though api.completion_scale is: the API may report 0 to 1.";
    let is_suspect = snapshot.is_scale_suspect();
    gauge(
        encoder,
        "translation_exporter_completion_scale_suspect",
        help,
        u64::from(is_suspect),
    )
}
