//! The metrics of the moment of a scrape: facts, dropped lines of the log, and the process metrics
//! that the official client libraries expose on Linux, under their names.
//!
//! See <https://prometheus.io/docs/instrumenting/writing_clientlibs/#process-metrics>. Without
//! /proc they are omitted.

use super::{
    encode::{gauge, metric},
    facts::Facts,
};
use crate::support::{
    clock::{Clock, Timestamp},
    lock::lock,
    logging,
};
use procfs::process::Process;
use prometheus_client::{
    collector::Collector, encoding::DescriptorEncoder, metrics::counter::ConstCounter,
};
use rustix::process::{Resource, getrlimit};
use std::{
    fmt,
    sync::{Arc, Mutex},
};

#[derive(Debug)]
pub struct AtScrape {
    facts: Arc<Mutex<Facts>>,
    /// The start of the process; `None` for a single poll, which has no series of a process.
    started: Option<Timestamp>,
}

impl AtScrape {
    pub fn new(facts: Arc<Mutex<Facts>>, is_daemon: bool) -> Self {
        let started = is_daemon.then(|| Clock::system().now());
        Self { facts, started }
    }
}

impl Collector for AtScrape {
    fn encode(&self, mut to: DescriptorEncoder<'_>) -> fmt::Result {
        let expires_at = lock(&self.facts).certificate_expires_at;
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
        let started = self.started;
        started.map_or(Ok(()), |started| encode_process(started, &mut to))
    }
}

/// Encodes the process metrics. It reads /proc.
fn encode_process(started: Timestamp, to: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let read = Process::myself().and_then(|process| Ok((process.stat()?, process.fd_count()?)));
    let Ok((stat, open)) = read else {
        return Ok(());
    };
    metric(
        to,
        "process_cpu_seconds_total",
        "Total user and system CPU time spent in seconds",
        &ConstCounter::new(seconds(stat.utime + stat.stime)),
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
            stat.vsize,
        ),
        (
            "process_virtual_memory_max_bytes",
            "Maximum amount of virtual memory available in bytes",
            limit(Resource::As),
        ),
        (
            "process_resident_memory_bytes",
            "Resident memory size in bytes",
            stat.rss * procfs::page_size(),
        ),
        (
            "process_threads",
            "Number of operating system threads",
            stat.num_threads.unsigned_abs(),
        ),
        (
            "process_open_fds",
            "Number of open file descriptors",
            open as u64,
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
    ticks as f64 / procfs::ticks_per_second() as f64
}

/// Returns a limit; as in the Go client, the largest number stands for none.
fn limit(resource: Resource) -> u64 {
    getrlimit(resource).current.unwrap_or(u64::MAX)
}
