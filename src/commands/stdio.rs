//! Printing on stdout.

use anyhow::Context as _;
use std::io::{self, Write as _};

/// Prints on stdout. Ignores a closed pipe: a reader such as `head` has seen enough.
pub fn print(text: &str) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush())
    {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        printed => printed.context("cannot print the result"),
    }
}
