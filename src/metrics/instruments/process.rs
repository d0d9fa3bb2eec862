//! The process metrics that the official client libraries expose on Linux, under their names.
//!
//! See <https://prometheus.io/docs/instrumenting/writing_clientlibs/#process-metrics>. Without
//! /proc they are omitted.

use crate::{
    metrics::encode::{gauge, metric},
    support::clock::Timestamp,
};
use procfs::process::Process;
use prometheus_client::{encoding::DescriptorEncoder, metrics::counter::ConstCounter};
use rustix::process::{Resource, getrlimit};
use std::fmt;

/// Encodes the process metrics. It reads /proc at each scrape.
pub fn encode(started: Timestamp, to: &mut DescriptorEncoder<'_>) -> fmt::Result {
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
        "process_virtual_memory_bytes",
        "Virtual memory size in bytes",
        Some(stat.vsize),
    )?;
    gauge(
        to,
        "process_resident_memory_bytes",
        "Resident memory size in bytes",
        Some(stat.rss * procfs::page_size()),
    )?;
    gauge(
        to,
        "process_threads",
        "Number of operating system threads",
        Some(stat.num_threads),
    )?;
    gauge(
        to,
        "process_start_time_seconds",
        "Start time of the process since unix epoch in seconds",
        Some(started.as_seconds()),
    )?;
    gauge(
        to,
        "process_open_fds",
        "Number of open file descriptors",
        Some(open),
    )?;
    gauge(
        to,
        "process_max_fds",
        "Maximum number of open file descriptors",
        Some(limit(Resource::Nofile)),
    )?;
    gauge(
        to,
        "process_virtual_memory_max_bytes",
        "Maximum amount of virtual memory available in bytes",
        Some(limit(Resource::As)),
    )
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
