//! The process metrics that the official client libraries expose on Linux, under their names.
//!
//! See <https://prometheus.io/docs/instrumenting/writing_clientlibs/#process-metrics>. What the system does not say is
//! left out.

use super::gauge;
use procfs::process::{LimitValue, Process};
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
        let encoder = &mut encoder;
        // Without the descriptor that lists them.
        if let Ok(open) =
            std::fs::read_dir("/proc/self/fd").map(|fds| fds.count().saturating_sub(1))
        {
            gauge(
                encoder,
                "process_open_fds",
                "Number of open file descriptors.",
                open,
            )?;
        }
        let Ok(process) = Process::myself() else {
            return Ok(());
        };
        if let Ok(limits) = process.limits() {
            let most = value(limits.max_open_files.soft_limit);
            gauge(
                encoder,
                "process_max_fds",
                "Maximum number of open file descriptors.",
                most,
            )?;
            let most = value(limits.max_address_space.soft_limit);
            let help = "Maximum amount of virtual memory available in bytes.";
            gauge(encoder, "process_virtual_memory_max_bytes", help, most)?;
        }
        let Ok(stat) = process.stat() else {
            return Ok(());
        };
        let help = "Total user and system CPU time spent in seconds.";
        let cpu = encoder.encode_descriptor(
            "process_cpu",
            help,
            Some(&Unit::Seconds),
            MetricType::Counter,
        )?;
        ConstCounter::new(seconds(stat.utime + stat.stime)).encode(cpu)?;
        gauge(
            encoder,
            "process_virtual_memory_bytes",
            "Virtual memory size in bytes.",
            stat.vsize,
        )?;
        let resident = stat.rss * procfs::page_size();
        gauge(
            encoder,
            "process_resident_memory_bytes",
            "Resident memory size in bytes.",
            resident,
        )?;
        gauge(
            encoder,
            "process_threads",
            "Number of operating system threads.",
            stat.num_threads,
        )?;
        if let Some(booted_at) = self.booted_at {
            let started_at = seconds(booted_at * procfs::ticks_per_second() + stat.starttime);
            let help = "Start time of the process since unix epoch in seconds.";
            gauge(encoder, "process_start_time_seconds", help, started_at)?;
        }
        Ok(())
    }
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
