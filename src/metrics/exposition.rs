//! The exposition: document and instruments as bytes, encoded by prometheus-client.
//!
//! Each publication is encoded once, off the runtime's threads, and kept compressed only, in a
//! fraction of the memory. A scrape sends the compressed bytes, or inflates them for a client
//! without gzip, and appends the exporter's own instruments.

mod compressed;
mod polling;
mod text_format;
mod translations;

pub use self::compressed::Uncompressed;
use self::{compressed::CompressedText, translations::Gauges};
use crate::{domain::document::Document, metrics::instruments::Instruments};
use bytes::Bytes;
use prometheus_client::registry::Registry;
use std::{
    io::{self, Write},
    sync::Arc,
};

/// The text format of a scrape.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// Prometheus' text format 0.0.4.
    Text,
    /// OpenMetrics 1.0.0.
    OpenMetrics,
}

/// The gauges of a document, which are served until the next publication.
#[derive(Debug)]
pub struct Exposition(CompressedText);

impl Exposition {
    /// Encodes `document` for all scrapes. This is CPU work: call it off the runtime's threads.
    pub fn new(document: Arc<Document>) -> Self {
        let mut registry = Registry::default();
        registry.register_collector(Box::new(Gauges(document)));
        Self(CompressedText::new(&registry))
    }

    /// Returns the body of a scrape as one gzip member, in two parts to send in order.
    pub fn gzip(&self, format: Format, instruments: &Instruments) -> [Bytes; 2] {
        self.0.gzip(&own(format, instruments))
    }

    /// Returns the uncompressed body of a scrape: parts of at most 64 KiB that are inflated on
    /// demand, and then the exporter's own metrics.
    pub fn uncompressed(&self, format: Format, instruments: &Instruments) -> Uncompressed {
        self.0.uncompressed(own(format, instruments))
    }

    /// Writes the uncompressed body of a scrape to `out`.
    ///
    /// # Errors
    /// Returns the errors of `out`.
    pub fn print(
        &self,
        format: Format,
        instruments: &Instruments,
        out: &mut impl Write,
    ) -> io::Result<()> {
        let mut parts = self.uncompressed(format, instruments);
        parts.try_for_each(|part| out.write_all(&part))
    }
}

/// Encodes the instruments, which end the exposition.
fn own(format: Format, instruments: &Instruments) -> String {
    let open_metrics = instruments.encode();
    match format {
        Format::OpenMetrics => open_metrics + "# EOF\n",
        Format::Text => text_format::from_open_metrics(&open_metrics),
    }
}

#[cfg(test)]
mod tests;
