//! The signals that end the program.

use anyhow::Context as _;
use rustix::process::Signal as Number;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// The signals that ask the process to stop. They no longer end it by themselves once this exists.
#[derive(Debug)]
pub struct StopSignals {
    terminate: Signal,
    interrupt: Signal,
}

impl StopSignals {
    pub fn listen() -> anyhow::Result<Self> {
        Ok(Self {
            terminate: listen(SignalKind::terminate())?,
            interrupt: listen(SignalKind::interrupt())?,
        })
    }

    /// Waits for a signal, and returns its name. Cancel-safe: a signal that nobody waits for is kept.
    pub async fn received(&mut self) -> &'static str {
        let signal = tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
        };
        tracing::info!(signal, "stopping");
        signal
    }
}

pub fn listen(kind: SignalKind) -> anyhow::Result<Signal> {
    signal(kind).context("cannot listen for signals")
}

/// Makes a file that may not grow any further (`LimitFSIZE`, `ulimit -f`) an error of the write, where
/// the signal SIGXFSZ would end the process.
pub fn survive_large_files() -> anyhow::Result<()> {
    // The handler stays when what it would notify is dropped.
    listen(SignalKind::from_raw(Number::XFSZ.as_raw())).map(drop)
}
