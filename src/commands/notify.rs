//! Notifications to systemd (`sd_notify(3)`): ready, stopping, and heartbeats. Without
//! `NOTIFY_SOCKET` nothing is sent.

use std::{env::var_os, os::unix::net::UnixDatagram};
use tokio::{sync::watch, time::Instant};

/// Feeds systemd's watchdog with the poll loop's heartbeats, which change `alive`, until polling
/// ends. Runs on the threads of the web side, so that a stuck web side starves the watchdog, too.
pub async fn feed_watchdog(mut alive: watch::Receiver<Instant>) {
    while alive.changed().await.is_ok() {
        send("WATCHDOG=1");
    }
}

/// Sends a state such as `READY=1`.
pub fn send(state: &str) {
    let Some(path) = var_os("NOTIFY_SOCKET") else {
        return;
    };
    let sent = UnixDatagram::unbound().and_then(|socket| socket.send_to(state.as_bytes(), path));
    if let Err(error) = sent {
        tracing::warn!(
            %error,
            "cannot notify systemd through NOTIFY_SOCKET; it may consider the service hung"
        );
    }
}
