//! The signals that end the program.

use anyhow::Context as _;
use rustix::process::Signal as Number;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Listeners for the signals that end the program. Once they exist, none kills the process.
#[derive(Debug)]
pub struct StopSignals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
}

impl StopSignals {
    pub fn listen() -> anyhow::Result<Self> {
        let listen = |kind| signal(kind).context("cannot listen for signals");
        // SIGXFSZ would kill the process when a file reaches its limit (`LimitFSIZE`). tokio keeps
        // the handler of a dropped listener, so that the write fails instead.
        drop(listen(SignalKind::from_raw(Number::XFSZ.as_raw()))?);
        Ok(Self {
            terminate: listen(SignalKind::terminate())?,
            interrupt: listen(SignalKind::interrupt())?,
            hangup: listen(SignalKind::hangup())?,
        })
    }

    /// Waits for a signal and returns its name.
    ///
    /// Cancel safety: a signal that arrives while no task waits is kept for the next call.
    pub async fn received(&mut self) -> &'static str {
        let signal = tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
            _ = self.hangup.recv() => "SIGHUP",
        };
        tracing::info!(signal, "stopping");
        signal
    }
}
