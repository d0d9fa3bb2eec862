//! The exposition: document and instruments as bytes, encoded by prometheus-client.
//!
//! Each publication is encoded once, off the runtime's threads, and kept compressed only, in a
//! fraction of the memory. A scrape sends the compressed bytes, or inflates them for a client
//! without gzip, and appends the exporter's own instruments.
//!
//! RFC 1952 allows several gzip members in a body, but curl and browsers stop after the first.
//! [`Exposition`] therefore holds the beginning of a single member: the header, and deflate blocks
//! up to a sync flush, which ends at a byte boundary. A scrape appends blocks of its own, and then
//! the checksum and the length of the whole text. The appended blocks come from a new compressor,
//! so they refer to no earlier bytes (RFC 1951).

mod polling;
mod translations;

use crate::{domain::document::Document, metrics::instruments::Instruments};
use flate2::{Compression, Crc, CrcWriter, bufread::DeflateDecoder, write::DeflateEncoder};
use hyper::body::{Buf as _, Bytes};
use prometheus_client::{encoding::text::encode_registry, registry::Registry};
use std::{
    fmt,
    io::{BufWriter, Read, Write as _},
    iter, mem,
    sync::Arc,
};

/// The gzip header: deflate, no flags, no modification time, fastest algorithm, Unix.
const HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 3];
/// The end of a sync flush: the length of an empty block and its complement (RFC 1951, 3.2.4).
const SYNC: [u8; 4] = [0, 0, 0xff, 0xff];
/// The compression level of publications. Level 2 is nearly a third smaller than level 1 and takes
/// 5 ms more at 100,000 series; higher levels gain little for several times the CPU.
const LEVEL: Compression = Compression::new(2);
/// The bytes of text that are inflated at once.
const CHUNK: usize = 64 * 1024;
/// The proof that the writes and reads below cannot fail.
const IN_MEMORY: &str = "compression and inflation in memory cannot fail";

/// The text format of a scrape.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ExpositionFormat {
    /// Prometheus' text format 0.0.4.
    Text,
    /// OpenMetrics 1.0.0.
    OpenMetrics,
}

/// The gauges of a document, which are served until the next publication: a compressed text without
/// its end.
#[derive(Debug)]
pub struct Exposition {
    /// The beginning of a gzip member.
    member: Bytes,
    /// The checksum of the text, and its length: one of 4 GiB would not fit into the memory of its
    /// account.
    checksum: Crc,
}

/// The way of a text into the compressor: the text of a large account takes several times the
/// memory of its document. prometheus-client writes one label at a time, which without a buffer
/// takes 25 times as long.
struct Compressor(BufWriter<CrcWriter<DeflateEncoder<Vec<u8>>>>);

impl fmt::Write for Compressor {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.write_all(text.as_bytes()).map_err(|_| fmt::Error)
    }
}

impl Exposition {
    /// Encodes `document` for all scrapes. This is CPU work: call it off the runtime's threads.
    #[expect(clippy::missing_panics_doc, reason = "work in memory cannot fail")]
    pub fn new(document: Arc<Document>) -> Self {
        let mut registry = Registry::default();
        registry.register_collector(Box::new(document));
        Self::compress(|text| encode_registry(text, &registry).expect(IN_MEMORY))
    }

    fn compress(write: impl FnOnce(&mut Compressor)) -> Self {
        let deflate = DeflateEncoder::new(HEADER.to_vec(), LEVEL);
        let text = BufWriter::with_capacity(CHUNK, CrcWriter::new(deflate));
        let mut text = Compressor(text);
        write(&mut text);
        text.0.flush().expect(IN_MEMORY);
        let mut checksum = Crc::new();
        checksum.combine(text.0.get_ref().crc());
        let deflate = text.0.get_mut().get_mut();
        // A flush that exactly fills flate2's buffer (1.1.10) omits its end. Another flush adds it.
        while !deflate.get_ref().ends_with(&SYNC) {
            deflate.flush().expect(IN_MEMORY);
        }
        // The dropped encoder writes the end of the stream, into the empty vector that it gets
        // here.
        let mut member = mem::take(deflate.get_mut());
        member.shrink_to_fit();
        Self {
            member: member.into(),
            checksum,
        }
    }

    /// Returns the body of a scrape as one gzip member, in two parts to send in order.
    #[expect(clippy::missing_panics_doc, reason = "work in memory cannot fail")]
    pub fn gzip(&self, format: ExpositionFormat, instruments: &Instruments) -> [Bytes; 2] {
        let end = instruments_in(format, instruments);
        let mut deflate = DeflateEncoder::new(Vec::with_capacity(4096), Compression::fast());
        deflate.write_all(end.as_bytes()).expect(IN_MEMORY);
        let mut member = deflate.finish().expect(IN_MEMORY);
        // `Crc` is not `Clone`; combining it with an empty one copies it.
        let mut checksum = Crc::new();
        checksum.combine(&self.checksum);
        checksum.update(end.as_bytes());
        member.extend_from_slice(&checksum.sum().to_le_bytes());
        // RFC 1952 requires the length modulo 2^32, and `amount` counts in 32 bits.
        member.extend_from_slice(&checksum.amount().to_le_bytes());
        [self.member.clone(), member.into()]
    }

    /// Returns the uncompressed body of a scrape: its length, and parts of at most 64 KiB that are
    /// inflated on demand from the compressed bytes.
    #[expect(clippy::missing_panics_doc, reason = "work in memory cannot fail")]
    pub fn uncompressed(
        &self,
        format: ExpositionFormat,
        instruments: &Instruments,
    ) -> (u64, impl Iterator<Item = Bytes> + use<>) {
        let end = Bytes::from(instruments_in(format, instruments));
        let of_gauges = u64::from(self.checksum.amount());
        let length = of_gauges + end.len() as u64;
        let inflate = DeflateDecoder::new(self.member.slice(HEADER.len()..).reader());
        let mut body = inflate.take(of_gauges).chain(end.reader());
        let parts = iter::from_fn(move || {
            let mut part = vec![0; CHUNK];
            let read = body.read(&mut part).expect(IN_MEMORY);
            part.truncate(read);
            (read > 0).then(|| part.into())
        });
        (length, parts)
    }
}

/// Encodes the instruments, which end the exposition.
fn instruments_in(format: ExpositionFormat, instruments: &Instruments) -> String {
    let mut text = instruments.encode();
    if format == ExpositionFormat::OpenMetrics {
        return text + "# EOF\n";
    }
    // The lines HELP and TYPE of text 0.0.4 name a counter like its samples.
    let names = text
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.strip_suffix(" counter"));
    let names: Vec<_> = names.map(str::to_owned).collect();
    for name in names {
        text = text.replace(&format!(" {name} "), &format!(" {name}_total "));
    }
    text
}

#[cfg(test)]
mod tests;
