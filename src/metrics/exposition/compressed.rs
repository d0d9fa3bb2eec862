//! The text of a publication, compressed once. Each scrape appends its own end.
//!
//! RFC 1952 allows several gzip members in a body, but curl and browsers stop after the first.
//! [`CompressedText`] therefore holds the beginning of a single member: the header, and deflate
//! blocks up to a sync flush, which ends at a byte boundary. A scrape appends blocks of its own,
//! and then the checksum and the length of the whole text. The appended blocks come from a new
//! compressor, so they refer to no earlier bytes (RFC 1951).

use bytes::{Buf as _, Bytes, buf::Reader};
use flate2::{Compression, Crc, CrcWriter, bufread::DeflateDecoder, write::DeflateEncoder};
use prometheus_client::{encoding::text::encode_registry, registry::Registry};
use std::{
    fmt,
    io::{BufWriter, Read as _, Write},
    mem,
};

/// The gzip header: deflate, no flags, no modification time, fastest algorithm, Unix.
const HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 3];
/// The end of a sync flush: the length of an empty block and its complement (RFC 1951, 3.2.4).
const SYNC: [u8; 4] = [0, 0, 0xff, 0xff];
/// The compression level of publications. Level 2 is nearly a third smaller than level 1 and takes
/// 5 ms more at 100,000 series; higher levels gain little for several times the CPU.
const LEVEL: Compression = Compression::new(2);
/// The bytes of text that are compressed or inflated at once.
const CHUNK: usize = 64 * 1024;
/// The proof that the writes below cannot fail.
const IN_MEMORY: &str = "writes to memory cannot fail";

/// A compressed text without its end.
#[derive(Debug)]
pub struct CompressedText {
    /// The beginning of a gzip member.
    member: Bytes,
    /// The checksum of the text.
    checksum: Crc,
    /// The length of the text, in bytes.
    length: u64,
}

impl CompressedText {
    /// Encodes and compresses the metrics in `registry`.
    pub fn new(registry: &Registry) -> Self {
        let mut writer = CrcWriter::new(DeflateEncoder::new(HEADER.to_vec(), LEVEL));
        // The encoder writes one label at a time. Without the buffer, compression takes 25 times as
        // long.
        let mut text = TextWriter(BufWriter::with_capacity(CHUNK, &mut writer));
        encode_registry(&mut text, registry).expect(IN_MEMORY);
        text.0.flush().expect(IN_MEMORY);
        drop(text);
        // A flush that exactly fills flate2's buffer (1.1.10) omits its end. Another flush adds it.
        while !writer.get_ref().get_ref().ends_with(&SYNC) {
            writer.flush().expect(IN_MEMORY);
        }
        // `Crc` is not `Clone`; combining it with an empty one copies it.
        let mut checksum = Crc::new();
        checksum.combine(writer.crc());
        let deflate = writer.get_mut();
        let length = deflate.total_in();
        // The dropped encoder writes the end of the stream, into the empty vector that it gets
        // here.
        let mut member = mem::take(deflate.get_mut());
        member.shrink_to_fit();
        Self {
            member: member.into(),
            checksum,
            length,
        }
    }

    /// Returns this text and `end` as one gzip member, in two parts to send in order.
    pub fn gzip(&self, end: &str) -> [Bytes; 2] {
        let mut deflate = DeflateEncoder::new(Vec::with_capacity(4096), Compression::fast());
        deflate.write_all(end.as_bytes()).expect(IN_MEMORY);
        let mut member = deflate.finish().expect(IN_MEMORY);
        let mut checksum = Crc::new();
        checksum.combine(&self.checksum);
        checksum.update(end.as_bytes());
        member.extend_from_slice(&checksum.sum().to_le_bytes());
        // RFC 1952 requires the length modulo 2^32, and `amount` counts in 32 bits.
        member.extend_from_slice(&checksum.amount().to_le_bytes());
        [self.member.clone(), member.into()]
    }

    /// Returns this text and `end`, in parts that are inflated on demand.
    pub fn uncompressed(&self, end: String) -> Uncompressed {
        let inflate = DeflateDecoder::new(self.member.slice(HEADER.len()..).reader());
        Uncompressed {
            inflate,
            length: self.length,
            end: end.into(),
        }
    }
}

/// The parts of an uncompressed body. It holds the compressed bytes and no copy of the text.
#[derive(Debug)]
pub struct Uncompressed {
    inflate: DeflateDecoder<Reader<Bytes>>,
    /// The bytes that are still to be inflated.
    length: u64,
    /// The last part; empty once it is taken.
    end: Bytes,
}

impl Uncompressed {
    /// Returns the length of the remaining parts, in bytes.
    pub fn remaining(&self) -> u64 {
        self.length + self.end.len() as u64
    }
}

impl Iterator for Uncompressed {
    type Item = Bytes;

    fn next(&mut self) -> Option<Bytes> {
        if self.length == 0 {
            return Some(mem::take(&mut self.end)).filter(|end| !end.is_empty());
        }
        let size = usize::try_from(self.length).map_or(CHUNK, |length| length.min(CHUNK));
        let mut chunk = vec![0; size];
        self.inflate
            .read_exact(&mut chunk)
            .expect("the text deflated above inflates to its length");
        self.length -= size as u64;
        Some(chunk.into())
    }
}

/// An adapter that collects the encoder's small writes into larger ones.
struct TextWriter<W: Write>(BufWriter<W>);

impl<W: Write> fmt::Write for TextWriter<W> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.write_all(text.as_bytes()).map_err(|_| fmt::Error)
    }
}
