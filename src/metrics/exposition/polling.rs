//! The exporter's own gauges that change only with a publication: the state of polling and totals.
//!
//! Unknown values are absent. `translation_up` appears with the end of the first poll, and the
//! totals with the first data.

use crate::{
    domain::{Standing, State, document::Document},
    metrics::encode::{gauge, gauges},
    support::clock::Timestamp,
};
use prometheus_client::encoding::DescriptorEncoder;
use std::{fmt, iter::once};

/// Encodes the status of polling and the totals of a publication.
pub fn encode(document: &Document, to: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let (status, last) = (&document.status, document.last_poll());
    gauge(
        to,
        "translation_up",
        "1 if the last poll could list all repositories and read one of them, 0 if not",
        last.map(|last| u64::from(last.is_up())),
    )?;
    for (name, help, value) in [
        (
            "translation_exporter_last_poll_timestamp_seconds",
            "Time at which the last poll ended",
            last.map(|last| last.ended_at.as_seconds()),
        ),
        (
            "translation_exporter_last_poll_duration_seconds",
            "Duration of the last poll",
            last.map(|last| last.duration.as_secs_f64()),
        ),
        (
            "translation_exporter_last_success_timestamp_seconds",
            "Time at which a poll last read everything, apart from a few repositories: fewer than 5, or \
             than a tenth",
            status.last_success_at.map(Timestamp::as_seconds),
        ),
        (
            "translation_exporter_poll_interval_seconds",
            "poll.interval: time from the start of a poll to the start of the next",
            Some(document.settings.interval.as_secs_f64()),
        ),
        (
            "translation_exporter_api_held_until_timestamp_seconds",
            "Time at which a hold demanded by Retry-After ends; absent without one",
            status.held_until.map(Timestamp::as_seconds),
        ),
    ] {
        gauge(to, name, help, value)?;
    }
    if status.has_data || document.is_listed() {
        encode_totals(document, to)?;
    }
    Ok(())
}

/// Encodes the totals over all repositories.
fn encode_totals(document: &Document, to: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let states = State::ALL.iter().map(|state| {
        let count = document.count(|row| row.state == *state);
        ([("state", state.label())], count)
    });
    let filtered = ([("state", "filtered")], document.filtered.len());
    gauges(
        to,
        "translation_exporter_repositories",
        "Repositories of the listing, each in one state: filtered, pending (not read yet by this \
         process), fresh, failing (not read by the last poll, data still served) or stale (data \
         gone)",
        once(filtered).chain(states),
        Some,
    )?;
    gauges(
        to,
        "translation_exporter_translations",
        "Shown translations (languages of repositories) by due date, which is empty without one, \
         each in one state: ready, expected (in time), at_risk, overdue, behind (otherwise), \
         unknown (no completion is known) or resting (a target of 0)",
        document.dates().flat_map(|(day, totals)| {
            let due = day.map_or_else(String::new, |day| day.strftime("%F"));
            Standing::ALL.iter().map(move |standing| {
                let labels = [("state", standing.label().to_owned()), ("due", due.clone())];
                (labels, totals.standing(*standing))
            })
        }),
        Some,
    )?;
    gauge(
        to,
        "translation_exporter_completion_out_of_scale",
        "Languages whose reported completion is below 0 or above api.completion_scale",
        Some(document.out_of_scale()),
    )
}
