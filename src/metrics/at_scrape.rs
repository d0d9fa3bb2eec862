//! The metrics of the moment of a scrape: facts, dropped lines of the log, and the process metrics
//! that the official client libraries expose on Linux, under their names.
//!
//! See <https://prometheus.io/docs/instrumenting/writing_clientlibs/#process-metrics>. Without
//! /proc they are omitted.

use super::{
    encode::{gauge, metric},
    facts::Facts,
};
use crate::support::{clock::Timestamp, lock::lock, logging};
use prometheus_client::{
    collector::Collector, encoding::DescriptorEncoder, metrics::counter::ConstCounter,
};
use rustix::{
    param::{clock_ticks_per_second, page_size},
    process::{Resource, getrlimit},
};
use std::{
    fmt,
    fs::{read_dir, read_to_string},
    sync::{Arc, Mutex},
};

#[derive(Debug)]
pub struct AtScrape(pub Arc<Mutex<Facts>>);

impl Collector for AtScrape {
    fn encode(&self, mut to: DescriptorEncoder<'_>) -> fmt::Result {
        let (started_at, expires_at) = {
            let facts = lock(&self.0);
            (facts.started_at, facts.certificate_expires_at)
        };
        gauge(
            &mut to,
            "translation_exporter_tls_certificate_expiry_timestamp_seconds",
            "Time at which the served TLS certificate expires; absent without TLS",
            expires_at.map(Timestamp::as_seconds),
        )?;
        metric(
            &mut to,
            "translation_exporter_log_lines_dropped_total",
            "Log lines that were dropped because stderr was not read",
            &ConstCounter::new(logging::lines_dropped()),
        )?;
        started_at.map_or(Ok(()), |started| encode_process(started, &mut to))
    }
}

/// Encodes the process metrics. It reads /proc.
fn encode_process(started: Timestamp, to: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let (stat, files) = (read_to_string("/proc/self/stat"), read_dir("/proc/self/fd"));
    let (Ok(stat), Ok(files)) = (stat, files) else {
        return Ok(());
    };
    // The third field follows the name of the program, which may hold spaces (proc_pid_stat(5)).
    let fields = stat.rsplit(") ").next().unwrap_or_default();
    let fields: Vec<_> = fields.split(' ').map(str::parse).collect();
    let field = |number: usize| match fields.get(number - 3) {
        Some(Ok(value)) => *value,
        _ => 0,
    };
    metric(
        to,
        "process_cpu_seconds_total",
        "Total user and system CPU time spent in seconds",
        &ConstCounter::new(seconds(field(14) + field(15))),
    )?;
    gauge(
        to,
        "process_start_time_seconds",
        "Start time of the process since unix epoch in seconds",
        Some(started.as_seconds()),
    )?;
    for (name, help, value) in [
        (
            "process_virtual_memory_bytes",
            "Virtual memory size in bytes",
            field(23),
        ),
        (
            "process_virtual_memory_max_bytes",
            "Maximum amount of virtual memory available in bytes",
            limit(Resource::As),
        ),
        (
            "process_resident_memory_bytes",
            "Resident memory size in bytes",
            field(24) * page_size() as u64,
        ),
        (
            "process_threads",
            "Number of operating system threads",
            field(20),
        ),
        (
            "process_open_fds",
            "Number of open file descriptors",
            files.count() as u64,
        ),
        (
            "process_max_fds",
            "Maximum number of open file descriptors",
            limit(Resource::Nofile),
        ),
    ] {
        gauge(to, name, help, Some(value))?;
    }
    Ok(())
}

#[expect(
    clippy::cast_precision_loss,
    reason = "the ticks of a process stay below 2^53"
)]
fn seconds(ticks: u64) -> f64 {
    ticks as f64 / clock_ticks_per_second() as f64
}

/// Returns a limit; as in the Go client, the largest number stands for none.
fn limit(resource: Resource) -> u64 {
    getrlimit(resource).current.unwrap_or(u64::MAX)
}
