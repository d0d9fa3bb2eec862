//! Prints on stdout and stderr.

use crate::support::escape::printable;
use anyhow::Context as _;
use std::io::{self, StdoutLock, Write as _};

/// Prints on stdout. A reader that has seen enough, such as `head`, is no error.
pub fn print(write: impl FnOnce(&mut StdoutLock<'_>) -> io::Result<()>) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    match write(&mut stdout).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        printed => printed.context("cannot print the result"),
    }
}

pub fn print_on_stderr(text: &str) {
    // If stderr is closed, there is nowhere to report it.
    let _ = writeln!(io::stderr(), "translation-exporter: {}", printable(text));
}
