//! Snapshot and instruments to bytes, through prometheus-client.
//!
//! What a publication fixes is encoded once, off the runtime's threads, and only kept compressed, in a fraction of the
//! space. A scrape sends that, or inflates it for a client without gzip, and adds what the exporter counts.

mod compressed;
mod text_format;
mod translations;

pub use self::compressed::Uncompressed;
use self::{compressed::CompressedText, translations::Translations};
use crate::{
    domain::snapshot::{PollStatus, Snapshot},
    metrics::instruments::{Instruments, Polling},
};
use bytes::Bytes;
use prometheus_client::registry::Registry;
use std::{
    io::{self, Write},
    sync::Arc,
};

/// Which text format a scrape asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// Text 0.0.4.
    Text,
    /// OpenMetrics 1.0.0.
    OpenMetrics,
}

/// What is served until the next publication.
#[derive(Debug)]
pub struct Published {
    /// A random number, which no other publication of this or another process has.
    pub id: u64,
    pub snapshot: Arc<Snapshot>,
    pub status: PollStatus,
    text: CompressedText,
}

impl Published {
    /// Encodes `snapshot` and `status` for all later scrapes. Costs CPU: call it off the runtime's threads.
    pub fn new(snapshot: Arc<Snapshot>, status: PollStatus) -> Self {
        let mut registry = Registry::default();
        registry.register_collector(Box::new(Translations(Arc::clone(&snapshot))));
        registry.register_collector(Box::new(Polling {
            snapshot: Arc::clone(&snapshot),
            status: status.clone(),
        }));
        Self {
            id: fastrand::u64(..),
            snapshot,
            status,
            text: CompressedText::new(&registry),
        }
    }

    /// Returns the bytes that all bodies of this publication share.
    pub fn shared(&self) -> &Bytes {
        self.text.shared()
    }

    /// The body of a scrape as one gzip member, in the parts to send one after another.
    pub fn gzip(&self, format: Format, instruments: &Instruments) -> [Bytes; 2] {
        self.text.gzip(&own(format, instruments))
    }

    /// The uncompressed body of a scrape, in parts of at most 64 KiB that are inflated on demand, followed by the exporter's
    /// own metrics.
    pub fn uncompressed(&self, format: Format, instruments: &Instruments) -> Uncompressed {
        self.text.uncompressed(own(format, instruments))
    }

    /// Prints what a scrape would get.
    ///
    /// # Errors
    /// Those of `out`.
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

/// What the exporter counts, up to the end of the exposition.
fn own(format: Format, instruments: &Instruments) -> String {
    let open_metrics = instruments.encode();
    match format {
        Format::OpenMetrics => open_metrics + "# EOF\n",
        Format::Text => text_format::from_open_metrics(&open_metrics),
    }
}

#[cfg(test)]
mod tests;
