//! When a request may be sent: the steady rate, which a reload may change, and the hold that Retry-After asks for. The
//! time of the last request and the hold outlive polls and reloads.
//!
//! An exporter that hammers a failing API gets its key revoked, so every request, including retries, waits here.

use crate::support::lock::lock;
use std::{sync::Mutex, time::Duration};
use tokio::{
    sync::watch,
    time::{Instant, sleep_until},
};

/// How much lateness of a permit the next ones may catch up: more than the timer's granularity, but no burst.
const CATCH_UP: Duration = Duration::from_millis(10);

/// Spaces all requests out, and holds them while the API asks for it.
#[derive(Debug)]
pub struct Pacer {
    /// The time from one request to the next.
    spacing: watch::Sender<Duration>,
    /// When the last request was due. Requests queue for this lock; a cancelled one leaves the queue and takes no permit.
    last_permit: tokio::sync::Mutex<Option<Instant>>,
    held_until: Mutex<Option<Instant>>,
}

impl Pacer {
    pub fn new(spacing: Duration) -> Self {
        Self {
            spacing: watch::Sender::new(spacing),
            last_permit: tokio::sync::Mutex::default(),
            held_until: Mutex::default(),
        }
    }

    /// Changes the rate, also for requests that are already waiting.
    pub fn set_spacing(&self, spacing: Duration) {
        self.spacing.send_replace(spacing);
    }

    /// Until when no request is sent; `None` if there is no hold.
    pub fn held_until(&self) -> Option<Instant> {
        lock(&self.held_until).filter(|until| *until > Instant::now())
    }

    /// Holds all requests for that long. A hold can be extended, not shortened.
    pub fn hold(&self, duration: Duration) {
        let until = Instant::now() + duration;
        let mut held_until = lock(&self.held_until);
        *held_until = held_until.max(Some(until));
    }

    /// Waits until earlier requests have their permits, the spacing has passed, and there is no hold.
    pub async fn permit(&self) {
        let mut last_permit = self.last_permit.lock().await;
        let mut spacing = self.spacing.subscribe();
        loop {
            let due = last_permit
                .map(|last| last + *spacing.borrow_and_update())
                .max(self.held_until());
            // The timer counts milliseconds, and would sleep up to one for a moment that has passed.
            let Some(due) = due.filter(|due| *due > Instant::now()) else {
                break;
            };
            tokio::select! {
                () = sleep_until(due) => {}
                // A reload; the sender lives as long as this.
                _ = spacing.changed() => {}
            }
        }
        let now = Instant::now();
        let due = last_permit.map(|last| last + *spacing.borrow());
        let earliest = now.checked_sub(CATCH_UP).unwrap_or(now);
        *last_permit = Some(due.unwrap_or(now).max(earliest));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn requests_are_spaced_and_held() {
        let pacer = Pacer::new(Duration::from_millis(100));
        let start = Instant::now();
        for _ in 0..3 {
            pacer.permit().await;
        }
        assert_eq!(start.elapsed().as_millis(), 200);
        pacer.hold(Duration::from_secs(10));
        pacer.permit().await;
        assert_eq!(start.elapsed().as_millis(), 10_200);
        assert_eq!(pacer.held_until(), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_hold_that_begins_while_some_wait_holds_them_all() {
        let pacer = Pacer::new(Duration::from_millis(100));
        let start = Instant::now();
        pacer.hold(Duration::from_secs(10));
        let first = async {
            pacer.permit().await;
            pacer.hold(Duration::from_secs(10));
        };
        let second = async {
            pacer.permit().await;
            start.elapsed().as_millis()
        };
        assert_eq!(tokio::join!(first, second).1, 20_000);
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_that_is_given_up_takes_no_permit() {
        let pacer = Pacer::new(Duration::from_secs(1));
        let start = Instant::now();
        pacer.permit().await;
        let waiting = futures_util::future::join_all((0..100).map(|_| pacer.permit()));
        assert!(
            tokio::time::timeout(Duration::from_millis(500), waiting)
                .await
                .is_err()
        );
        pacer.permit().await;
        assert_eq!(start.elapsed().as_millis(), 1000);
    }

    #[tokio::test(start_paused = true)]
    async fn after_a_reload_no_request_waits_for_the_rate_before_it() {
        let pacer = Pacer::new(Duration::from_secs(1000));
        let start = Instant::now();
        pacer.permit().await;
        let reload = async {
            tokio::time::sleep(Duration::from_secs(5)).await;
            pacer.set_spacing(Duration::from_secs(1));
        };
        let waiting = async {
            pacer.permit().await;
            start.elapsed().as_secs()
        };
        assert_eq!(tokio::join!(waiting, reload).0, 5, "that which waited");
        pacer.permit().await;
        let later = start.elapsed();
        assert!(
            (Duration::from_millis(5990)..=Duration::from_secs(6)).contains(&later),
            "{later:?}"
        );
    }
}
