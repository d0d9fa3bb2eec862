//! Notifications to systemd (`sd_notify`): ready, stopping, and heartbeats. Without
//! `NOTIFY_SOCKET` the functions do nothing.

use sd_notify::NotifyState;
use tokio::{sync::watch, time::Instant};

/// Reports that the exporter serves.
pub fn ready() {
    send(&[NotifyState::Ready]);
}

/// Reports that the exporter is stopping.
pub fn stopping() {
    send(&[NotifyState::Stopping]);
}

/// Feeds systemd's watchdog with the poll loop's heartbeats, which change `alive`, until polling
/// ends. Runs on the threads of the web side, so that a stuck web side starves the watchdog, too.
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
        tracing::warn!(
            %error,
            "cannot notify systemd through NOTIFY_SOCKET; it may consider the service hung"
        );
    }
}
