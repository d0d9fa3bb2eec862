//! What systemd is notified of (`sd_notify`): ready, reloading, stopping, and that it works. Without a `NOTIFY_SOCKET`
//! nothing is sent.

use sd_notify::NotifyState;
use tokio::{sync::watch, time::Instant};

/// The exporter serves.
pub fn ready() {
    send(&[NotifyState::Ready]);
}

/// The configuration is being read again; [`ready`] must follow, whether it is accepted or refused.
pub fn reloading() {
    // Type=notify-reload needs to know which reload this answers. Linux always has a monotonic clock.
    if let Ok(now) = NotifyState::monotonic_usec_now() {
        send(&[NotifyState::Reloading, now]);
    }
}

/// The exporter is stopping.
pub fn stopping() {
    send(&[NotifyState::Stopping]);
}

/// Passes each sign of life of the task that polls, which changes `alive`, on to systemd's watchdog if there is one. To run
/// on the threads of the web side, which have to live for that. Ends when polling does.
pub async fn feed_watchdog(mut alive: watch::Receiver<Instant>) {
    let has_watchdog = sd_notify::watchdog_enabled().is_some();
    while alive.changed().await.is_ok() {
        if has_watchdog {
            send(&[NotifyState::Watchdog]);
        }
    }
}

fn send(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        tracing::warn!(%error, "cannot notify systemd (NOTIFY_SOCKET); it may consider the service hung");
    }
}
