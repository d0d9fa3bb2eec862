//! The rate limit of the web configuration file: a token bucket over all listeners and clients.

use crate::support::lock::lock;
use std::{sync::Mutex, time::Duration};
use tokio::time::Instant;

/// Lets one request through every interval, and a burst of them after a pause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateLimit {
    /// Above 0.
    pub interval: Duration,
    /// Above 0.
    pub burst: u32,
}

/// What is left of the burst, and when that was counted; the burst is whole before. It outlives reloads, so that a reload
/// grants no new burst.
#[derive(Debug, Default)]
pub struct Bucket(Mutex<Option<(f64, Instant)>>);

impl Bucket {
    /// Lets a request through, or returns how long until the next is allowed.
    pub fn admit(&self, limit: RateLimit) -> Result<(), Duration> {
        let mut counted = lock(&self.0);
        let (now, burst) = (Instant::now(), f64::from(limit.burst));
        let left = counted.map_or(burst, |(left, at)| {
            let earned = (now - at).as_secs_f64() / limit.interval.as_secs_f64();
            burst.min(left + earned)
        });
        if left < 1.0 {
            return Err(limit.interval.mul_f64(1.0 - left));
        }
        *counted = Some((left - 1.0, now));
        Ok(())
    }
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
}
