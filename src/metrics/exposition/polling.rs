//! The exporter's own gauges that change only with a publication: the state of polling and totals.
//!
//! Unknown values are absent. `translation_up` appears with the end of the first poll, and the
//! totals with the first data.

use crate::{
    domain::{
        polling::{PollOutcome, PollStatus},
        snapshot::{Snapshot, is_scale_suspect, out_of_scale},
    },
    metrics::{
        definition,
        encode::{descriptor, gauge},
    },
    support::clock::Timestamp,
};
use prometheus_client::{
    encoding::{DescriptorEncoder, EncodeMetric as _},
    metrics::gauge::ConstGauge,
};
use std::fmt;

/// Encodes the status of polling and the totals of a publication.
pub fn encode(
    snapshot: &Snapshot,
    status: &PollStatus,
    encoder: &mut DescriptorEncoder<'_>,
) -> fmt::Result {
    if let Some(last) = &status.last {
        encode_last(last, encoder)?;
    }
    gauge(
        encoder,
        &definition::LAST_SUCCESS,
        status.last_success_at.map(Timestamp::as_seconds),
    )?;
    gauge(
        encoder,
        &definition::POLL_INTERVAL,
        Some(status.interval.as_secs_f64()),
    )?;
    gauge(
        encoder,
        &definition::POLL_STARTED,
        status.running().map(|running| running.since.as_seconds()),
    )?;
    gauge(
        encoder,
        &definition::API_HELD_UNTIL,
        status.held_until.map(Timestamp::as_seconds),
    )?;
    gauge(
        encoder,
        &definition::COMPLETION_SCALE,
        Some(snapshot.completion_scale),
    )?;
    if status.has_data || snapshot.filtered > 0 || !snapshot.repositories.is_empty() {
        encode_totals(encoder, snapshot)?;
    }
    Ok(())
}

fn encode_last(last: &PollOutcome, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    // Two gauges have this value: `translation_up` follows the convention of exporters
    // (`mysql_up`), and `listing_complete` says what it means.
    let listed = Some(u64::from(last.listing_failure.is_none()));
    gauge(encoder, &definition::UP, listed)?;
    gauge(
        encoder,
        &definition::LAST_POLL,
        Some(last.ended_at.as_seconds()),
    )?;
    gauge(
        encoder,
        &definition::LAST_POLL_DURATION,
        Some(last.duration.as_secs_f64()),
    )?;
    gauge(encoder, &definition::LISTING_COMPLETE, listed)
}

/// Encodes the totals over all repositories.
fn encode_totals(encoder: &mut DescriptorEncoder<'_>, snapshot: &Snapshot) -> fmt::Result {
    let mut family = descriptor(encoder, &definition::REPOSITORIES)?;
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
        .map(|shown| shown.records().len());
    gauge(
        encoder,
        &definition::LANGUAGES,
        Some(languages.sum::<usize>()),
    )?;
    gauge(
        encoder,
        &definition::COMPLETION_OUT_OF_SCALE,
        Some(out_of_scale(
            snapshot.completion_scale,
            snapshot.completions(),
        )),
    )?;
    gauge(
        encoder,
        &definition::COMPLETION_SCALE_SUSPECT,
        Some(u64::from(is_scale_suspect(
            snapshot.completion_scale,
            snapshot.completions(),
        ))),
    )
}
