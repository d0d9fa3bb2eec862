//! The result of `once` in the requested format.

use super::stdio::print;
use crate::{
    cli::{Destination, Output},
    diagnosis::Finding,
    domain::document::{Document, Selection},
    metrics::{
        exposition::{Exposition, Format},
        instruments::Instruments,
    },
    report::{self, Report, Since, Terminal},
    support::{
        escape::printable,
        hint::SetupError,
        replace::{check_replace, is_same_file, replace_file},
    },
};
use anyhow::Context as _;
use std::{
    io::{self, IsTerminal as _, Write},
    path::Path,
    sync::Arc,
};

/// The result of a poll, in every form that an output needs.
#[derive(Debug)]
pub struct Results {
    pub document: Arc<Document>,
    /// What was chosen of the document.
    pub selection: Selection,
    /// The findings of the poll, sorted by kind.
    pub findings: Vec<Finding>,
    /// The host of the API.
    pub api: Arc<str>,
    /// The earlier data to compare with.
    pub since: Option<Arc<Since>>,
    /// The maximum size of the Markdown in bytes.
    pub max_size: usize,
    pub instruments: Arc<Instruments>,
}

/// Checks that each output can be written, before anything is read for it. None may be one of the
/// files that the run uses, or another output.
pub fn check(outputs: &[Destination], used: &[&Path]) -> Result<(), SetupError> {
    let paths = outputs.iter().filter_map(|output| output.path.as_deref());
    for (place, path) in paths.clone().enumerate() {
        let checked = if used.iter().any(|used| is_same_file(used, path)) {
            Err(io::Error::other("the run itself uses this file"))
        } else if paths
            .clone()
            .take(place)
            .any(|other| is_same_file(other, path))
        {
            Err(io::Error::other("another --output writes to it"))
        } else {
            check_replace(path)
        };
        checked.map_err(|error| {
            let what = format!("--output to {}: cannot be written: {error}", path.display());
            SetupError::new(
                what,
                "give a path of its own, in a folder that exists and can be written",
            )
        })?;
    }
    Ok(())
}

impl Results {
    /// Returns what was chosen.
    pub fn report(&self) -> Report<'_> {
        Report {
            view: self.selection.of(&self.document),
            findings: &self.findings,
            api: &self.api,
            since: self.since.clone(),
            max_size: self.max_size,
        }
    }

    /// Writes the result in one format to a file or stdout.
    pub fn output(&self, Destination { format, path }: &Destination) -> anyhow::Result<()> {
        // The terminal of stdout says nothing about the readers of a file.
        let terminal = path
            .as_ref()
            .map_or_else(Terminal::of_stdout, |_| Terminal::NONE);
        let write = |out: &mut dyn Write| self.write(*format, terminal, out);
        match path {
            // The table has colours, and replaces such characters itself.
            None if *format != Output::Table && io::stdout().is_terminal() => {
                let mut text = Vec::new();
                write(&mut text)?;
                // CSV begins with a byte order mark, and its lines end in CRLF.
                let text = String::from_utf8_lossy(&text).replace("\r\n", "\n");
                let text = printable(text.trim_start_matches('\u{feff}'));
                print(|stdout| stdout.write_all(text.as_bytes()))
            }
            None => print(|stdout| write(stdout)),
            Some(path) => replace_file(path, write)
                .with_context(|| format!("cannot write the result to {}", path.display())),
        }
    }

    fn write(&self, format: Output, terminal: Terminal, out: &mut dyn Write) -> io::Result<()> {
        let report = &self.report();
        match format {
            Output::Text => self.print(Format::Text, out),
            Output::Openmetrics => self.print(Format::OpenMetrics, out),
            Output::Table => out.write_all(report::table(report, terminal).as_bytes()),
            Output::Markdown => out.write_all(report::markdown(report).as_bytes()),
            Output::Csv => self.write_pieces(report::csv, out),
            Output::Json => self.write_pieces(report::json, out),
            Output::Languages => out.write_all(report::languages(report).as_bytes()),
            Output::Badge => out.write_all(report::badge(report).as_bytes()),
            Output::Html => out.write_all(report::html::page(report).as_bytes()),
        }
    }

    fn write_pieces<P: Iterator<Item = String>>(
        &self,
        encode: impl Fn(Arc<Document>, Selection, Option<Arc<Since>>) -> P,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let (document, since) = (Arc::clone(&self.document), self.since.clone());
        let mut pieces = encode(document, self.selection.clone(), since);
        pieces.try_for_each(|piece| out.write_all(piece.as_bytes()))
    }

    fn print(&self, format: Format, out: &mut dyn Write) -> io::Result<()> {
        let exposition = Exposition::new(Arc::new(self.report().view.to_document()));
        let (_, mut parts) = exposition.uncompressed(format, &self.instruments);
        parts.try_for_each(|part| out.write_all(&part))
    }
}
