//! The exporter's own gauges that change only with a publication: the state of polling and totals.
//!
//! Unknown values are absent. `translation_up` appears with the end of the first poll, and the
//! totals with the first data.

use super::gauge;
use crate::{
    domain::snapshot::{PollOutcome, PollStatus, Snapshot, is_scale_suspect, out_of_scale},
    support::clock::Timestamp,
};
use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeMetric as _},
    metrics::{MetricType, gauge::ConstGauge},
};
use std::{fmt, sync::Arc};

/// The collector of a publication's poll status and totals.
#[derive(Debug)]
pub struct Polling {
    pub snapshot: Arc<Snapshot>,
    pub status: PollStatus,
}

impl Collector for Polling {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let Self { snapshot, status } = self;
        if let Some(last) = &status.last {
            encode_last(last, &mut encoder)?;
        }
        gauge(
            &mut encoder,
            "translation_exporter_last_success_timestamp_seconds",
            "When a poll last read everything.",
            status.last_success_at.map(Timestamp::as_seconds),
        )?;
        gauge(
            &mut encoder,
            "translation_exporter_poll_interval_seconds",
            "poll.interval: time from the start of a poll to the start of the next.",
            Some(status.interval.as_secs_f64()),
        )?;
        gauge(
            &mut encoder,
            "translation_exporter_poll_started_timestamp_seconds",
            "When the poll under way began; absent while there is none.",
            status.running().map(|running| running.since.as_seconds()),
        )?;
        gauge(
            &mut encoder,
            "translation_exporter_api_held_until_timestamp_seconds",
            "When the hold that Retry-After demanded ends; absent without a hold.",
            status.held_until.map(Timestamp::as_seconds),
        )?;
        gauge(
            &mut encoder,
            "translation_exporter_completion_scale",
            "api.completion_scale: the reported completion that means finished.",
            Some(snapshot.completion_scale),
        )?;
        if status.has_data || snapshot.filtered > 0 || !snapshot.repositories.is_empty() {
            encode_totals(&mut encoder, snapshot)?;
        }
        Ok(())
    }
}

fn encode_last(last: &PollOutcome, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    // Two gauges have this value: `translation_up` follows the convention of exporters
    // (`mysql_up`), and `listing_complete` says what it means.
    let listed = Some(u64::from(last.listing_failure.is_none()));
    gauge(
        encoder,
        "translation_up",
        "1 if the last poll could list all repositories, 0 if not.",
        listed,
    )?;
    gauge(
        encoder,
        "translation_exporter_last_poll_timestamp_seconds",
        "When the last poll ended.",
        Some(last.ended_at.as_seconds()),
    )?;
    gauge(
        encoder,
        "translation_exporter_last_poll_duration_seconds",
        "Time that the last poll took.",
        Some(last.duration.as_secs_f64()),
    )?;
    gauge(
        encoder,
        "translation_exporter_listing_complete",
        "1 if the last listing of the repositories reached its end, 0 if not.",
        listed,
    )
}

/// Encodes the totals over all repositories.
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

    let languages = snapshot
        .repositories
        .iter()
        .map(|shown| shown.readings().len());
    gauge(
        encoder,
        "translation_exporter_languages",
        "Languages over all repositories.",
        Some(languages.sum::<usize>()),
    )?;
    gauge(
        encoder,
        "translation_exporter_completion_out_of_scale",
        "Languages whose reported completion is below 0 or above api.completion_scale.",
        Some(out_of_scale(
            snapshot.completion_scale,
            snapshot.completions(),
        )),
    )?;
    gauge(
        encoder,
        "translation_exporter_completion_scale_suspect",
        "1 while a reported completion is above 0 and none is above 1, though \
         api.completion_scale is: the API may report 0 to 1.",
        Some(u64::from(is_scale_suspect(
            snapshot.completion_scale,
            snapshot.completions(),
        ))),
    )
}
