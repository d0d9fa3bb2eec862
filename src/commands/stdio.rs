//! Printing on stdout and stderr.

use anyhow::Context as _;
use std::io::{self, StdoutLock, Write as _};

/// Prints on stdout. Ignores a closed pipe: a reader such as `head` has seen enough.
pub fn print(write: impl FnOnce(&mut StdoutLock<'_>) -> io::Result<()>) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    match write(&mut stdout).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        printed => printed.context("cannot print the result"),
    }
}
