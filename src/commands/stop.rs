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

fn listen(kind: SignalKind) -> anyhow::Result<Signal> {
    signal(kind).context("cannot listen for signals")
}

/// Handles SIGXFSZ, which would kill the process when a file reaches its limit (`LimitFSIZE`,
/// `ulimit -f`). The write then fails with an error instead.
pub fn survive_large_files() -> anyhow::Result<()> {
    // tokio keeps the handler after the listener is dropped.
    listen(SignalKind::from_raw(Number::XFSZ.as_raw())).map(drop)
}
