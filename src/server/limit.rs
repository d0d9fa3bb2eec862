//! The rate limit of the web configuration file: a token bucket over all listeners and clients.

use crate::support::lock::lock;
use std::{sync::Mutex, time::Duration};
use tokio::time::Instant;

/// A limit of one request per interval, with a burst after a pause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateLimit {
    /// The time in which one request is earned; above 0.
    pub interval: Duration,
    /// Maximum number of requests that may follow a pause at once; above 0.
    pub burst: u32,
}

/// The token bucket. It outlives reloads: a reload grants no new burst.
#[derive(Debug, Default)]
pub struct Bucket {
    /// The last count; `None` while the bucket is still full. Locked while a request is admitted.
    counted: Mutex<Option<Count>>,
}

/// The tokens in the bucket at one moment.
#[derive(Debug, Clone, Copy)]
struct Count {
    tokens: f64,
    at: Instant,
}

impl Bucket {
    /// Takes a token for a request, or returns the wait until there is one.
    pub fn admit(&self, limit: RateLimit) -> Result<(), Duration> {
        let mut counted = lock(&self.counted);
        let (now, burst) = (Instant::now(), f64::from(limit.burst));
        let tokens = counted.map_or(burst, |Count { tokens, at }| {
            let earned = (now - at).as_secs_f64() / limit.interval.as_secs_f64();
            burst.min(tokens + earned)
        });
        if tokens < 1.0 {
            return Err(limit.interval.mul_f64(1.0 - tokens));
        }
        *counted = Some(Count {
            tokens: tokens - 1.0,
            at: now,
        });
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
    async fn a_new_limit_keeps_the_tokens_that_are_left() {
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
