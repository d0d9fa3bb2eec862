//! The encoding of the instruments at a scrape: facts first, then counters, then the process.

use super::{Facts, Instruments, process};
use crate::{
    domain::ProblemKind,
    metrics::encode::{gauge, gauges, metric},
    support::{clock::Timestamp, logging},
};
use prometheus_client::{
    collector::Collector, encoding::DescriptorEncoder, metrics::counter::ConstCounter,
};
use std::fmt;

impl Collector for Instruments {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let facts = self.facts();
        encode_start(&facts, &mut encoder)?;
        encode_facts(&facts, &mut encoder)?;
        self.encode_polls(&mut encoder)?;
        self.encode_requests(&mut encoder)?;
        self.encode_state_writes(&mut encoder)?;
        self.encode_web(&mut encoder)?;
        let started = facts.started;
        started.map_or(Ok(()), |started| process::encode(started, &mut encoder))
    }
}

impl Instruments {
    fn encode_polls(&self, to: &mut DescriptorEncoder<'_>) -> fmt::Result {
        metric(
            to,
            "translation_exporter_polls_total",
            "Polls of the API that have ended",
            &self.polls,
        )?;
        metric(
            to,
            "translation_exporter_poll_failures_total",
            "Polls that did not read everything, by reason: key_file, ca_file, unauthorized, held (by \
             Retry-After), unavailable (the API fails as a whole), listing, repositories",
            &self.poll_failures,
        )?;
        metric(
            to,
            "translation_exporter_poll_overruns_total",
            "Polls that took longer than poll.interval",
            &self.poll_overruns,
        )
    }

    fn encode_requests(&self, to: &mut DescriptorEncoder<'_>) -> fmt::Result {
        metric(
            to,
            "translation_exporter_api_requests_total",
            "Requests to the API, retries included, by status or error",
            &self.api_requests,
        )?;
        metric(
            to,
            "translation_exporter_api_request_failures_total",
            "Requests to the API that failed, by reason: timeout, connect, tls, redirect, \
             unauthorized, forbidden, not_found, rate_limited, client_error, server_error, \
             too_large, truncated, decode, not_json, cursor",
            &self.api_request_failures,
        )?;
        metric(
            to,
            "translation_exporter_api_request_duration_seconds",
            "Duration of API requests, bodies included",
            &self.api_request_duration,
        )?;
        metric(
            to,
            "translation_exporter_api_retries_total",
            "Requests to the API that were retries after a failure",
            &self.api_retries,
        )?;
        metric(
            to,
            "translation_exporter_invalid_entries_total",
            "Entries or fields in API responses that could not be used, by reason: not_an_object, \
             id, duplicate_id, name, code, completion, created_at, private, duplicate_name, \
             duplicate_code",
            &self.invalid_entries,
        )
    }

    fn encode_state_writes(&self, to: &mut DescriptorEncoder<'_>) -> fmt::Result {
        metric(
            to,
            "translation_exporter_state_writes_total",
            "Attempts to write the state file",
            &self.state_writes,
        )?;
        metric(
            to,
            "translation_exporter_state_write_failures_total",
            "Attempts to write the state file that failed",
            &self.state_write_failures,
        )
    }

    fn encode_web(&self, to: &mut DescriptorEncoder<'_>) -> fmt::Result {
        metric(
            to,
            "translation_exporter_tls_handshake_failures_total",
            "TLS handshakes with clients that failed, by reason: timeout, not_tls, protocol, \
             no_certificate, bad_certificate, closed",
            &self.tls_handshake_failures,
        )?;
        metric(
            to,
            "translation_exporter_http_requests_total",
            "Requests that this exporter answered, by path and status",
            &self.http_requests,
        )
    }
}

fn encode_start(facts: &Facts, to: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let build = [
        ("version", env!("CARGO_PKG_VERSION")),
        ("revision", env!("TRANSLATION_EXPORTER_REVISION")),
        ("rustc", env!("TRANSLATION_EXPORTER_RUSTC")),
    ];
    gauges(
        to,
        "translation_exporter_build_info",
        "Version, source revision and compiler of this exporter; always 1",
        [(build, 1_u64)],
        Some,
    )?;
    gauge(
        to,
        "translation_exporter_start_time_seconds",
        "Time at which this exporter started",
        facts.started.map(Timestamp::as_seconds),
    )
}

/// Encodes the facts that may need attention.
fn encode_facts(facts: &Facts, to: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let kinds = ProblemKind::ALL.iter().flat_map(|kind| {
        kind.severities().map(|severity| {
            let labels = [("kind", kind.label()), ("severity", severity.label())];
            (labels, facts.problems.get(kind) == Some(&severity))
        })
    });
    gauges(
        to,
        "translation_exporter_problem",
        "1 while the exporter finds a problem of this kind, 0 otherwise; judged at least every \
         15 s",
        kinds,
        |is_found| Some(u64::from(is_found)),
    )?;
    gauge(
        to,
        "translation_exporter_state_discarded",
        "1 if the state file was set aside at startup because it was damaged or belonged to \
         another API; 0 if not",
        Some(u64::from(facts.state_discarded.is_some())),
    )?;
    metric(
        to,
        "translation_exporter_log_lines_dropped_total",
        "Log lines that were dropped because stderr was not read",
        &ConstCounter::new(logging::lines_dropped().map_or(0, |(lines, _)| lines)),
    )?;
    gauge(
        to,
        "translation_exporter_tls_certificate_expiry_timestamp_seconds",
        "Time at which the served TLS certificate expires; absent without TLS",
        facts.certificate_expires_at.map(Timestamp::as_seconds),
    )
}
