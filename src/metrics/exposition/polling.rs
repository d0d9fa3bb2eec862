//! The exporter's own gauges that change only with a publication: the state of polling and totals.
//!
//! Unknown values are absent. `translation_up` appears with the end of the first poll, and the
//! totals with the first data.

use crate::{
    domain::{
        document::{Document, Row},
        polling::PollOutcome,
        snapshot::out_of_scale,
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
pub fn encode(document: &Document, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let status = &document.status;
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
        status
            .running
            .as_ref()
            .map(|running| running.since.as_seconds()),
    )?;
    gauge(
        encoder,
        &definition::API_HELD_UNTIL,
        status.held_until.map(Timestamp::as_seconds),
    )?;
    gauge(
        encoder,
        &definition::COMPLETION_SCALE,
        Some(document.completion_scale),
    )?;
    if status.has_data || document.filtered > 0 || !document.rows.is_empty() {
        encode_totals(encoder, document)?;
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
fn encode_totals(encoder: &mut DescriptorEncoder<'_>, document: &Document) -> fmt::Result {
    let mut family = descriptor(encoder, &definition::REPOSITORIES)?;
    let filtered = ("filtered", document.filtered);
    let counted = ["pending", "fresh", "failing", "stale"].map(|state| {
        (
            state,
            document.count(|condition| condition.label() == state),
        )
    });
    for (state, count) in [filtered].into_iter().chain(counted) {
        ConstGauge::new(count).encode(family.encode_family(&[("state", state)])?)?;
    }

    let languages = document.rows.iter().filter_map(Row::listed);
    gauge(
        encoder,
        &definition::LANGUAGES,
        Some(languages.sum::<usize>()),
    )?;
    gauge(
        encoder,
        &definition::COMPLETION_OUT_OF_SCALE,
        Some(out_of_scale(
            document.completion_scale,
            document.completions(),
        )),
    )?;
    gauge(
        encoder,
        &definition::COMPLETION_SCALE_SUSPECT,
        Some(u64::from(document.is_scale_suspect)),
    )
}
