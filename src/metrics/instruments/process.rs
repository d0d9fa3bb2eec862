//! The process metrics that the official client libraries expose on Linux, under their names.
//!
//! See <https://prometheus.io/docs/instrumenting/writing_clientlibs/#process-metrics>. Values that
//! the system does not provide are omitted.

use crate::metrics::{
    definition,
    encode::{counter, gauge},
};
use procfs::process::{Process, Stat};
use prometheus_client::{collector::Collector, encoding::DescriptorEncoder};
use rustix::process::{Resource, getrlimit};
use std::fmt;

/// The collector of the process metrics. It reads /proc at each scrape.
#[derive(Debug)]
pub struct ProcessCollector {
    /// The boot time, in seconds since the Unix epoch. It is read once: it never changes and is
    /// slow to read.
    booted_at: Option<u64>,
}

impl ProcessCollector {
    pub fn new() -> Self {
        Self {
            booted_at: procfs::boot_time_secs().ok(),
        }
    }

    fn encode_stat(&self, stat: &Stat, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        counter(
            encoder,
            &definition::PROCESS_CPU,
            seconds(stat.utime + stat.stime),
        )?;
        gauge(
            encoder,
            &definition::PROCESS_VIRTUAL_MEMORY,
            Some(stat.vsize),
        )?;
        gauge(
            encoder,
            &definition::PROCESS_RESIDENT_MEMORY,
            Some(stat.rss * procfs::page_size()),
        )?;
        gauge(
            encoder,
            &definition::PROCESS_THREADS,
            Some(stat.num_threads.unsigned_abs()),
        )?;
        let ticks = |booted_at| booted_at * procfs::ticks_per_second() + stat.starttime;
        let started = self.booted_at.map(|booted_at| seconds(ticks(booted_at)));
        gauge(encoder, &definition::PROCESS_START_TIME, started)?;
        gauge(encoder, &definition::START_TIME, started)
    }
}

impl Collector for ProcessCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        if let Ok(stat) = Process::myself().and_then(|process| process.stat()) {
            self.encode_stat(&stat, &mut encoder)?;
        }
        let open = std::fs::read_dir("/proc/self/fd").ok();
        gauge(
            &mut encoder,
            &definition::PROCESS_OPEN_FDS,
            // Listing the descriptors opened one more.
            open.map(|open| open.count().saturating_sub(1)),
        )?;
        gauge(
            &mut encoder,
            &definition::PROCESS_MAX_FDS,
            Some(limit(Resource::Nofile)),
        )?;
        gauge(
            &mut encoder,
            &definition::PROCESS_VIRTUAL_MEMORY_MAX,
            Some(limit(Resource::As)),
        )
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "ticks since 1970 and ticks per second stay below 2^53"
)]
fn seconds(ticks: u64) -> f64 {
    ticks as f64 / procfs::ticks_per_second() as f64
}

/// Returns a limit; as in the Go client, the largest number stands for none.
fn limit(resource: Resource) -> u64 {
    getrlimit(resource).current.unwrap_or(u64::MAX)
}
