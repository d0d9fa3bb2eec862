//! What systemd is notified of (`sd_notify`): ready, reloading, stopping. Without a `NOTIFY_SOCKET` nothing is sent.

use sd_notify::NotifyState;

/// The exporter serves.
pub(super) fn ready() {
    send(&[NotifyState::Ready]);
}

/// The configuration is being read again; [`ready`] must follow, whether it is accepted or refused.
pub(super) fn reloading() {
    // Type=notify-reload needs to know which reload this answers.
    match NotifyState::monotonic_usec_now() {
        Ok(now) => send(&[NotifyState::Reloading, now]),
        Err(error) => {
            tracing::warn!(%error, "cannot notify systemd of the reload: no monotonic clock");
        }
    }
}

/// The exporter is stopping.
pub(super) fn stopping() {
    send(&[NotifyState::Stopping]);
}

fn send(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        tracing::warn!(%error, "cannot notify systemd (NOTIFY_SOCKET); it may consider the service hung");
    }
}
