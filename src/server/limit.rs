//! The rate limit of the web configuration file, over all listeners and clients.

use crate::support::lock::lock;
use serde::{Deserialize, Deserializer, de::Error as _};
use std::{sync::Mutex, time::Duration};
use tokio::time::Instant;

/// A limit of one request per interval, with a burst after a pause. An interval of 0 limits
/// nothing.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RateLimit {
    #[serde(deserialize_with = "go_duration")]
    pub interval: Duration,
    /// Maximum number of requests that may follow a pause at once; 0 counts as 1.
    pub burst: u32,
    /// The time at which a whole burst is allowed again. Locked while a request is admitted.
    #[serde(skip)]
    recovered: Mutex<Option<Instant>>,
}

/// Reads a duration as Go writes it, such as `300ms` or `1m30s`; 0 needs no unit.
fn go_duration<'de, D: Deserializer<'de>>(yaml: D) -> Result<Duration, D::Error> {
    humantime::parse_duration(&String::deserialize(yaml)?)
        .map_err(|_| D::Error::custom("not a duration; write one such as 1s, 500ms or 1m30s"))
}

impl RateLimit {
    /// Admits a request, or returns the wait until there may be one.
    pub fn admit(&self) -> Result<(), Duration> {
        let (mut recovered, now) = (lock(&self.recovered), Instant::now());
        let at = recovered.map_or(now, |at| at.max(now));
        let burst = self.interval.saturating_mul(self.burst.saturating_sub(1));
        let wait = (at - now).saturating_sub(burst);
        if !wait.is_zero() {
            return Err(wait);
        }
        *recovered = at.checked_add(self.interval);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_burst_passes_then_one_request_every_interval() {
        let limit = RateLimit {
            interval: Duration::from_secs(10),
            burst: 2,
            recovered: Mutex::default(),
        };
        assert_eq!(limit.admit(), Ok(()));
        assert_eq!(limit.admit(), Ok(()));
        assert_eq!(limit.admit(), Err(Duration::from_secs(10)));
        tokio::time::advance(Duration::from_secs(4)).await;
        assert_eq!(limit.admit(), Err(Duration::from_secs(6)));
        tokio::time::advance(Duration::from_secs(6)).await;
        assert_eq!(limit.admit(), Ok(()));
        assert!(limit.admit().is_err());
        tokio::time::advance(Duration::from_secs(3600)).await;
        let admitted = [(); 3].map(|()| limit.admit().is_ok());
        assert_eq!(
            admitted,
            [true, true, false],
            "no more than the burst is saved up"
        );
    }
}
