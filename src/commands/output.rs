//! The result of `once` in the requested format.

use super::stdio::print;
use crate::{
    cli::Output,
    diagnosis::Finding,
    domain::{excerpt::Excerpt, snapshot::PollOutcome},
    metrics::{
        exposition::{Format, Published},
        instruments::Instruments,
    },
    report::{self, Terminal},
    support::replace::replace_file,
};
use anyhow::Context as _;
use std::{
    io::{self, Write},
    path::Path,
    sync::Arc,
};

/// The layout of a table in a file: the width that a pipe has without `COLUMNS`.
const IN_A_FILE: Terminal = Terminal {
    width: 80,
    color: false,
};

/// Writes the result to `file`, or to stdout if there is none.
pub fn output(
    format: Output,
    file: Option<&Path>,
    published: &Published,
    instruments: &Instruments,
    poll: &PollOutcome,
    findings: &[Finding],
) -> anyhow::Result<()> {
    // The terminal of stdout says nothing about the readers of a file.
    let terminal = file.map_or_else(Terminal::of_stdout, |_| IN_A_FILE);
    let write = |out: &mut dyn Write| {
        write(
            format,
            terminal,
            published,
            instruments,
            poll,
            findings,
            out,
        )
    };
    match file {
        None => print(|stdout| write(stdout)),
        Some(path) => replace_file(path, write)
            .with_context(|| format!("cannot write the result to {}", path.display())),
    }
}

fn write(
    format: Output,
    terminal: Terminal,
    published: &Published,
    instruments: &Instruments,
    poll: &PollOutcome,
    findings: &[Finding],
    mut out: &mut dyn Write,
) -> io::Result<()> {
    let snapshot = &published.snapshot;
    match format {
        Output::Text => published.print(Format::Text, instruments, &mut out),
        Output::Openmetrics => published.print(Format::OpenMetrics, instruments, &mut out),
        Output::Table => out.write_all(report::table(snapshot, poll, terminal).as_bytes()),
        Output::Markdown => out.write_all(report::markdown(snapshot, poll).as_bytes()),
        Output::Csv => report::csv(snapshot, &mut out),
        Output::Json => {
            for piece in report::json(Arc::clone(snapshot), Some(poll), Excerpt::default()) {
                out.write_all(piece.as_bytes())?;
            }
            Ok(())
        }
        Output::Html => {
            let page = report::html::page(snapshot, &published.status, findings)?;
            out.write_all(page.as_bytes())
        }
    }
}
