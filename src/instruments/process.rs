//! The process metrics that the official client libraries expose on Linux, under their names.
//!
//! See <https://prometheus.io/docs/instrumenting/writing_clientlibs/#process-metrics>. What the system does not tell is
//! left out.

use procfs::{FromRead as _, process::Stat};
use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeCounterValue, EncodeGaugeValue, EncodeMetric},
    metrics::{counter::ConstCounter, gauge::ConstGauge},
    registry::Unit,
};
use rustix::process::{Resource, getrlimit};
use std::{fmt, fs::File, os::unix::fs::FileExt as _};

/// Reads the system's account of this process at each scrape.
#[derive(Debug)]
pub(super) struct ProcessCollector {
    /// Kept open: reading it anew is all that a scrape pays for.
    stat: File,
    /// Seconds since the Unix epoch; never changes.
    started_at: Option<f64>,
    ticks_per_second: u64,
    page_size: u64,
}

impl ProcessCollector {
    /// `None` where there is no /proc.
    pub(super) fn new() -> Option<Self> {
        let file = File::open("/proc/self/stat").ok()?;
        let started = read_stat(&file)?.starttime;
        let ticks_per_second = procfs::ticks_per_second();
        let started_at =
            procfs::boot_time_secs().ok().map(|boot| seconds(boot * ticks_per_second + started, ticks_per_second));
        Some(Self { stat: file, started_at, ticks_per_second, page_size: procfs::page_size() })
    }
}

fn read_stat(file: &File) -> Option<Stat> {
    // Some 50 numbers and a name of at most 64 bytes.
    let mut line = [0; 2048];
    let read = file.read_at(&mut line, 0).ok()?;
    Stat::from_read(&line[..read]).ok()
}

#[expect(clippy::cast_precision_loss, reason = "ticks since 1970 and ticks per second stay below 2^53")]
fn seconds(ticks: u64, ticks_per_second: u64) -> f64 {
    ticks as f64 / ticks_per_second as f64
}

/// How many file descriptors are open; `None` where the system does not tell.
fn open_fds() -> Option<u64> {
    // Since Linux 6.2 the size of the directory is their number.
    let told = std::fs::metadata("/proc/self/fd").ok()?.len();
    if told > 0 {
        return Some(told);
    }
    let listed = std::fs::read_dir("/proc/self/fd").ok()?.count();
    // The listing itself holds one.
    u64::try_from(listed.saturating_sub(1)).ok()
}

/// As the Go client tells it: no limit is the largest number.
fn limit(resource: Resource) -> u64 {
    getrlimit(resource).current.unwrap_or(u64::MAX)
}

impl Collector for ProcessCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        if let Some(stat) = read_stat(&self.stat) {
            counter(
                &mut encoder,
                "process_cpu",
                "Total user and system CPU time spent in seconds.",
                Some(&Unit::Seconds),
                seconds(stat.utime + stat.stime, self.ticks_per_second),
            )?;
            gauge(
                &mut encoder,
                "process_virtual_memory",
                "Virtual memory size in bytes.",
                Some(&Unit::Bytes),
                stat.vsize,
            )?;
            let resident = stat.rss * self.page_size;
            gauge(
                &mut encoder,
                "process_resident_memory",
                "Resident memory size in bytes.",
                Some(&Unit::Bytes),
                resident,
            )?;
            gauge(&mut encoder, "process_threads", "Number of operating system threads.", None, stat.num_threads)?;
        }
        if let Some(started_at) = self.started_at {
            gauge(
                &mut encoder,
                "process_start_time",
                "Start time of the process since unix epoch in seconds.",
                Some(&Unit::Seconds),
                started_at,
            )?;
        }
        if let Some(open) = open_fds() {
            gauge(&mut encoder, "process_open_fds", "Number of open file descriptors.", None, open)?;
        }
        let most = limit(Resource::Nofile);
        gauge(&mut encoder, "process_max_fds", "Maximum number of open file descriptors.", None, most)?;
        gauge(
            &mut encoder,
            "process_virtual_memory_max",
            "Maximum amount of virtual memory available in bytes.",
            Some(&Unit::Bytes),
            limit(Resource::As),
        )?;
        Ok(())
    }
}

fn gauge<N: EncodeGaugeValue>(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    unit: Option<&Unit>,
    value: N,
) -> fmt::Result {
    let gauge = ConstGauge::new(value);
    gauge.encode(encoder.encode_descriptor(name, help, unit, gauge.metric_type())?)
}

fn counter<N: EncodeCounterValue>(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    unit: Option<&Unit>,
    value: N,
) -> fmt::Result {
    let counter = ConstCounter::new(value);
    counter.encode(encoder.encode_descriptor(name, help, unit, counter.metric_type())?)
}
