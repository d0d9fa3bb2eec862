//! The result of `once` in the requested format.

use super::stdio::print;
use crate::{
    cli::{Once, Output},
    metrics::{
        exposition::{Exposition, ExpositionFormat},
        instruments::Instruments,
    },
    report::{self, Report},
    support::{escape::printable, files::replace_file, hint::Failure},
};
use console::{Term, colors_enabled};
use std::{
    io::{self, IsTerminal as _},
    path::Path,
    sync::Arc,
};

/// The width of a table in a file or a pipe.
const NO_TERMINAL: usize = 80;

/// The result of a poll, in every form that an output needs.
#[derive(Debug)]
pub struct Results {
    pub arguments: Once,
    pub report: Report,
    pub instruments: Arc<Instruments>,
}

impl Results {
    /// Writes every output, even if another one cannot be written. Returns the first error.
    pub fn print(&self) -> anyhow::Result<()> {
        let outputs = self.arguments.outputs.iter();
        outputs
            .map(|(format, path)| self.output(*format, path.as_deref()))
            .fold(Ok(()), Result::and)
    }

    /// Writes the result in one format to a file or stdout.
    fn output(&self, format: Output, path: Option<&Path>) -> anyhow::Result<()> {
        let mut text = self.render(format, path.is_none());
        let Some(path) = path else {
            // The table has colours, and replaces such characters itself.
            if format != Output::Table && io::stdout().is_terminal() {
                // CSV begins with a byte order mark, and its lines end in CRLF.
                text = printable(text.replace("\r\n", "\n").trim_start_matches('\u{feff}'));
            }
            return print(&text);
        };
        replace_file(path, text.as_bytes()).map_err(|error| {
            let what = format!("cannot write the result to {}: {error}", path.display());
            Failure::new(
                what,
                "give a file that can be replaced, and mount its folder, not it alone",
            )
            .into()
        })
    }

    fn render(&self, format: Output, is_for_stdout: bool) -> String {
        let (report, since) = (&self.report, self.report.since);
        let document = Arc::clone(&report.document);
        let selection = document.selection.clone();
        match format {
            Output::Text => self.exposition(ExpositionFormat::Text),
            Output::Openmetrics => self.exposition(ExpositionFormat::OpenMetrics),
            Output::Table if is_for_stdout => {
                let size = Term::stdout().size_checked();
                let width = size.map_or(NO_TERMINAL, |(_, width)| width.into());
                report::table(report, width, colors_enabled())
            }
            // The terminal of stdout says nothing about the readers of a file.
            Output::Table => report::table(report, NO_TERMINAL, false),
            Output::Markdown => report::markdown(report),
            Output::Csv => report::csv(document, selection, since).collect(),
            Output::Json => report::json(document, selection, since).collect(),
            Output::Languages => report::languages(report),
            Output::Badge => report::badge(report),
            Output::Html => report::html::file(report),
        }
    }

    fn exposition(&self, format: ExpositionFormat) -> String {
        let exposition = Exposition::new(Arc::clone(&self.report.document));
        let (_, parts) = exposition.uncompressed(format, &self.instruments);
        let bytes: Vec<_> = parts.flatten().collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}
