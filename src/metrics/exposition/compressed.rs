//! The text of a publication, compressed once, to which each scrape adds an end of its own.
//!
//! RFC 1952 allows several gzip members in a body, but curl and browsers stop after the first. So this holds the
//! beginning of one member: its header, and deflate blocks up to a sync flush, which ends at a byte boundary. A scrape's
//! end adds its own blocks, then the checksum and the length of the complete text. The blocks of a new compressor refer
//! to nothing before themselves (RFC 1951).

use bytes::{Buf as _, Bytes, buf::Reader};
use flate2::{Compression, Crc, CrcWriter, bufread::DeflateDecoder, write::DeflateEncoder};
use prometheus_client::{encoding::text::encode_registry, registry::Registry};
use std::{
    fmt,
    io::{BufWriter, Read as _, Write},
    mem,
};

/// Deflate, no flags, no time of modification, fastest algorithm, written on Unix.
const HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 3];
/// How a sync flush ends: the length of an empty block, and its complement (RFC 1951, 3.2.4).
const SYNC: [u8; 4] = [0, 0, 0xff, 0xff];
/// For what is compressed once: nearly a third smaller than at level 1, for some 5 ms more at 100,000 series. Higher
/// levels gain little for several times the CPU.
const LEVEL: Compression = Compression::new(2);
/// Bytes of text that are compressed or inflated at once.
const CHUNK: usize = 64 * 1024;
/// Proof that the writes below cannot fail.
const IN_MEMORY: &str = "all that is written stays in memory";

#[derive(Debug)]
pub struct CompressedText {
    /// The beginning of a gzip member.
    member: Bytes,
    /// Of the text.
    checksum: Crc,
    /// Of the text, in bytes.
    length: u64,
}

impl CompressedText {
    /// Encodes and compresses what is registered.
    pub fn new(registry: &Registry) -> Self {
        let mut writer = CrcWriter::new(DeflateEncoder::new(HEADER.to_vec(), LEVEL));
        // The library writes a label at a time: without the buffer, compressing would take 25 times as long.
        let mut text = TextWriter(BufWriter::with_capacity(CHUNK, &mut writer));
        encode_registry(&mut text, registry).expect(IN_MEMORY);
        text.0.flush().expect(IN_MEMORY);
        drop(text);
        // A flush that fills flate2's own buffer (as of 1.1.10) leaves out its end; another flush adds it.
        while !writer.get_ref().get_ref().ends_with(&SYNC) {
            writer.flush().expect(IN_MEMORY);
        }
        // The only way to copy a checksum.
        let mut checksum = Crc::new();
        checksum.combine(writer.crc());
        let deflate = writer.get_mut();
        let length = deflate.total_in();
        // The encoder writes the end of a stream when it is dropped: into the empty vector that it gets here.
        let mut member = mem::take(deflate.get_mut());
        member.shrink_to_fit();
        Self {
            member: member.into(),
            checksum,
            length,
        }
    }

    /// Returns the bytes that all bodies made of it share.
    pub fn shared(&self) -> &Bytes {
        &self.member
    }

    /// This text and then `end` as one gzip member, in the parts to send one after another.
    pub fn gzip(&self, end: &str) -> [Bytes; 2] {
        let mut deflate = DeflateEncoder::new(Vec::with_capacity(4096), Compression::fast());
        deflate.write_all(end.as_bytes()).expect(IN_MEMORY);
        let mut member = deflate.finish().expect(IN_MEMORY);
        let mut checksum = Crc::new();
        checksum.combine(&self.checksum);
        checksum.update(end.as_bytes());
        member.extend_from_slice(&checksum.sum().to_le_bytes());
        // RFC 1952 requires the length modulo 2^32, which is what this counts.
        member.extend_from_slice(&checksum.amount().to_le_bytes());
        [self.member.clone(), member.into()]
    }

    /// This text and then `end`, in parts that are inflated on demand.
    pub fn uncompressed(&self, end: String) -> Uncompressed {
        let inflate = DeflateDecoder::new(self.member.slice(HEADER.len()..).reader());
        Uncompressed {
            inflate,
            length: self.length,
            end: end.into(),
        }
    }
}

/// The parts of an uncompressed body. Holds the compressed one, and no copy of the text.
#[derive(Debug)]
pub struct Uncompressed {
    inflate: DeflateDecoder<Reader<Bytes>>,
    /// How many bytes are still to be inflated.
    length: u64,
    /// What follows them; empty once it is taken.
    end: Bytes,
}

impl Uncompressed {
    /// How many bytes are still to come.
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
            .expect("what was deflated here inflates to its length");
        self.length -= size as u64;
        Some(chunk.into())
    }
}

/// Writes text to a compressor, of larger pieces than the library writes.
struct TextWriter<W: Write>(BufWriter<W>);

impl<W: Write> fmt::Write for TextWriter<W> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.write_all(text.as_bytes()).map_err(|_| fmt::Error)
    }
}
