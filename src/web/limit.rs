//! The rate limit of the web configuration file: a token bucket over all listeners and clients.

use crate::sync::lock;
use jiff::SignedDuration;
use std::{fmt, sync::Mutex, time::Duration};
use tokio::time::Instant;

/// Lets one request through every interval, and a burst of them after a pause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateLimit {
    /// Above 0.
    pub interval: Duration,
    /// Above 0.
    pub burst: u32,
}

impl fmt::Display for RateLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "rate limit: a request every {:?}, bursts of {}",
            self.interval, self.burst
        )
    }
}

/// What is left of the burst. It outlives reloads, so that a reload grants no new burst.
#[derive(Debug)]
pub struct Bucket(Mutex<Tokens>);

#[derive(Debug)]
struct Tokens {
    /// May exceed the burst of the limit in force, which cuts it.
    left: f64,
    counted_at: Instant,
}

impl Default for Bucket {
    /// Full, whatever the burst.
    fn default() -> Self {
        Self(Mutex::new(Tokens {
            left: f64::MAX,
            counted_at: Instant::now(),
        }))
    }
}

impl Bucket {
    /// Lets a request through, or returns how long until the next is allowed.
    pub fn admit(&self, limit: RateLimit) -> Result<(), Duration> {
        let mut tokens = lock(&self.0);
        let now = Instant::now();
        let earned = (now - tokens.counted_at).as_secs_f64() / limit.interval.as_secs_f64();
        tokens.left = (tokens.left + earned).min(f64::from(limit.burst));
        tokens.counted_at = now;
        if tokens.left >= 1.0 {
            tokens.left -= 1.0;
            return Ok(());
        }
        Err(limit.interval.mul_f64(1.0 - tokens.left))
    }
}

/// A duration as Go writes it: `300ms`, `1.5h`, `2h45m`; 0 needs no unit.
pub fn parse_interval(text: &str) -> Result<Duration, String> {
    // jiff also knows other spellings, which Go does not.
    let in_go = |text: &&str| {
        text.chars()
            .all(|c| c.is_ascii_digit() || ".hmsnu\u{b5}\u{3bc}".contains(c))
    };
    let parsed = if text == "0" {
        Some(SignedDuration::ZERO)
    } else {
        Some(text).filter(in_go).and_then(|text| text.parse().ok())
    };
    parsed
        .and_then(|duration| duration.try_into().ok())
        .ok_or_else(|| format!("{text:?} is not a duration; write one such as 1s, 500ms or 1m30s, or 0 for no limit"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_burst_passes_then_one_request_every_interval() {
        let (bucket, limit) = (
            Bucket::default(),
            RateLimit {
                interval: Duration::from_secs(10),
                burst: 2,
            },
        );
        assert_eq!(bucket.admit(limit), Ok(()));
        assert_eq!(bucket.admit(limit), Ok(()));
        assert_eq!(bucket.admit(limit), Err(Duration::from_secs(10)));
        tokio::time::advance(Duration::from_secs(4)).await;
        assert_eq!(bucket.admit(limit), Err(Duration::from_secs(6)));
        tokio::time::advance(Duration::from_secs(6)).await;
        assert_eq!(bucket.admit(limit), Ok(()));
        assert!(bucket.admit(limit).is_err());
        tokio::time::advance(Duration::from_secs(3600)).await;
        let admitted = [(); 3].map(|()| bucket.admit(limit).is_ok());
        assert_eq!(
            admitted,
            [true, true, false],
            "no more than the burst is saved up"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn another_limit_goes_on_with_what_is_left() {
        let (bucket, limit) = (
            Bucket::default(),
            RateLimit {
                interval: Duration::from_secs(10),
                burst: 2,
            },
        );
        assert_eq!(
            [(); 3].map(|()| bucket.admit(limit).is_ok()),
            [true, true, false]
        );
        let wider = RateLimit { burst: 20, ..limit };
        assert!(bucket.admit(wider).is_err(), "a reload gives no new burst");
        let narrower = RateLimit { burst: 1, ..limit };
        tokio::time::advance(Duration::from_secs(3600)).await;
        assert_eq!(
            [(); 2].map(|()| bucket.admit(narrower).is_ok()),
            [true, false]
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
            assert_eq!(
                parse_interval(text),
                Ok(Duration::from_secs_f64(seconds)),
                "{text}"
            );
        }
        for text in [
            "",
            "1",
            "s",
            "1 s",
            "-1s",
            "1d",
            "1s1",
            "1..5s",
            "\u{661}s",
            "9e9h",
            "999999999999999999999h",
        ] {
            assert!(parse_interval(text).is_err(), "{text}");
        }
    }
}
