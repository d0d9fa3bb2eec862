//! The rate limit of the web configuration file: a token bucket over all listeners and clients.

use crate::sync::lock;
use std::{fmt, sync::Mutex, time::Duration};
use tokio::time::Instant;

/// Lets one request through every interval, and a burst of them after a pause.
#[derive(Debug)]
pub struct Limiter {
    interval: Duration,
    burst: u32,
    bucket: Mutex<Bucket>,
}

#[derive(Debug)]
struct Bucket {
    tokens: f64,
    filled_at: Instant,
}

impl Limiter {
    /// `interval` and `burst` are above 0.
    pub fn new(interval: Duration, burst: u32) -> Self {
        let bucket = Bucket { tokens: f64::from(burst), filled_at: Instant::now() };
        Self { interval, burst, bucket: Mutex::new(bucket) }
    }

    /// Lets a request through, or says how long until the next may come.
    pub fn admit(&self) -> Result<(), Duration> {
        let mut bucket = lock(&self.bucket);
        let now = Instant::now();
        let earned = (now - bucket.filled_at).as_secs_f64() / self.interval.as_secs_f64();
        bucket.tokens = (bucket.tokens + earned).min(f64::from(self.burst));
        bucket.filled_at = now;
        if bucket.tokens >= 1.0 {
            bucket.tokens -= 1.0;
            return Ok(());
        }
        Err(self.interval.mul_f64(1.0 - bucket.tokens))
    }

    /// Whether the other limits in the same way.
    pub fn is_like(&self, other: &Self) -> bool {
        (self.interval, self.burst) == (other.interval, other.burst)
    }

    /// Goes on where the other is.
    pub fn take_over(&self, other: &Self) {
        let tokens = lock(&other.bucket).tokens;
        lock(&self.bucket).tokens = tokens;
    }
}

impl fmt::Display for Limiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rate limit: a request every {:?}, bursts of {}", self.interval, self.burst)
    }
}

const UNITS: [(&str, f64); 8] = [
    // "ms" before "m" and "s", so that the longest name is tried first.
    ("ns", 1e-9),
    ("us", 1e-6),
    ("\u{b5}s", 1e-6),
    ("\u{3bc}s", 1e-6),
    ("ms", 1e-3),
    ("s", 1.0),
    ("m", 60.0),
    ("h", 3600.0),
];

/// A duration as Go writes it: `300ms`, `1.5h`, `2h45m`; 0 needs no unit.
pub fn parse_interval(text: &str) -> Result<Duration, String> {
    let malformed = || format!("{text:?} is no duration; write one such as 1s, 500ms or 1m30s, or 0 for no limit");
    if text == "0" {
        return Ok(Duration::ZERO);
    }
    let mut rest = text;
    let mut seconds = 0.0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').ok_or_else(malformed)?;
        let number: f64 = rest[..digits].parse().map_err(|_| malformed())?;
        rest = &rest[digits..];
        let (unit, factor) = UNITS.iter().find(|(unit, _)| rest.starts_with(unit)).ok_or_else(malformed)?;
        rest = &rest[unit.len()..];
        seconds += number * factor;
    }
    if text.is_empty() {
        return Err(malformed());
    }
    Duration::try_from_secs_f64(seconds).map_err(|_| malformed())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_burst_passes_then_one_request_every_interval() {
        let limiter = Limiter::new(Duration::from_secs(10), 2);
        assert_eq!(limiter.admit(), Ok(()));
        assert_eq!(limiter.admit(), Ok(()));
        assert_eq!(limiter.admit(), Err(Duration::from_secs(10)));
        tokio::time::advance(Duration::from_secs(10)).await;
        assert_eq!(limiter.admit(), Ok(()));
        assert!(limiter.admit().is_err());
        tokio::time::advance(Duration::from_secs(3600)).await;
        assert_eq!(
            [(); 3].map(|()| limiter.admit().is_ok()),
            [true, true, false],
            "no more than the burst is saved up"
        );
    }

    #[test]
    fn durations_are_read_as_go_reads_them() {
        for (text, seconds) in [
            ("1s", 1.0),
            ("0", 0.0),
            ("0s", 0.0),
            ("500ms", 0.5),
            ("1m30s", 90.0),
            ("1.5h", 5400.0),
            ("20\u{b5}s", 2e-5),
        ] {
            assert_eq!(parse_interval(text), Ok(Duration::from_secs_f64(seconds)), "{text}");
        }
        for text in ["", "1", "s", "1 s", "-1s", "1d", "1s1", "1..5s", "\u{661}s", "9e9h", "999999999999999999999h"] {
            assert!(parse_interval(text).is_err(), "{text}");
        }
    }
}
