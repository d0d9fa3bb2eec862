//! The process metrics that the official client libraries expose on Linux, under their names.
//!
//! See <https://prometheus.io/docs/instrumenting/writing_clientlibs/#process-metrics>. What the system does not say is
//! left out.

use super::gauge;
use procfs::process::{LimitValue, Limits, Process, Stat};
use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeMetric as _},
    metrics::{MetricType, counter::ConstCounter},
    registry::Unit,
};
use std::fmt;

/// Reads what the system knows about this process at each scrape.
#[derive(Debug)]
pub(super) struct ProcessCollector {
    /// When the system was started, in seconds since the Unix epoch: it never changes, and is slow to read.
    booted_at: Option<u64>,
}

impl ProcessCollector {
    pub(super) fn new() -> Self {
        Self {
            booted_at: procfs::boot_time_secs().ok(),
        }
    }
}

impl Collector for ProcessCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        // Without the descriptor that lists them.
        if let Ok(open) = std::fs::read_dir("/proc/self/fd") {
            gauge(
                &mut encoder,
                "process_open_fds",
                "Number of open file descriptors.",
                open.count().saturating_sub(1),
            )?;
        }
        let Ok(process) = Process::myself() else {
            return Ok(());
        };
        if let Ok(limits) = process.limits() {
            encode_limits(&mut encoder, &limits)?;
        }
        match process.stat() {
            Ok(stat) => self.encode_stat(&mut encoder, &stat),
            Err(_) => Ok(()),
        }
    }
}

impl ProcessCollector {
    fn encode_stat(&self, encoder: &mut DescriptorEncoder<'_>, stat: &Stat) -> fmt::Result {
        let help = "Total user and system CPU time spent in seconds.";
        let unit = Some(&Unit::Seconds);
        let cpu = encoder.encode_descriptor("process_cpu", help, unit, MetricType::Counter)?;
        ConstCounter::new(seconds(stat.utime + stat.stime)).encode(cpu)?;
        gauge(
            encoder,
            "process_virtual_memory_bytes",
            "Virtual memory size in bytes.",
            stat.vsize,
        )?;
        gauge(
            encoder,
            "process_resident_memory_bytes",
            "Resident memory size in bytes.",
            stat.rss * procfs::page_size(),
        )?;
        gauge(
            encoder,
            "process_threads",
            "Number of operating system threads.",
            stat.num_threads,
        )?;
        let Some(booted_at) = self.booted_at else {
            return Ok(());
        };
        gauge(
            encoder,
            "process_start_time_seconds",
            "Start time of the process since unix epoch in seconds.",
            seconds(booted_at * procfs::ticks_per_second() + stat.starttime),
        )
    }
}

fn encode_limits(encoder: &mut DescriptorEncoder<'_>, limits: &Limits) -> fmt::Result {
    gauge(
        encoder,
        "process_max_fds",
        "Maximum number of open file descriptors.",
        value(limits.max_open_files.soft_limit),
    )?;
    gauge(
        encoder,
        "process_virtual_memory_max_bytes",
        "Maximum amount of virtual memory available in bytes.",
        value(limits.max_address_space.soft_limit),
    )
}

#[expect(
    clippy::cast_precision_loss,
    reason = "ticks since 1970 and ticks per second stay below 2^53"
)]
fn seconds(ticks: u64) -> f64 {
    ticks as f64 / procfs::ticks_per_second() as f64
}

/// No limit is the largest number, as in the Go client.
fn value(limit: LimitValue) -> u64 {
    match limit {
        LimitValue::Unlimited => u64::MAX,
        LimitValue::Value(value) => value,
    }
}
