//! One gzip member out of a cached beginning and an end made at the scrape.
//!
//! RFC 1952 lets a body have several members, and curl and browsers stop after the first. So the cached part is the
//! member's header and deflate blocks that end with a sync flush, on a byte boundary; the end adds its own blocks, the
//! last of them marked so, the checksum of both parts and their size. RFC 1951 blocks need no knowledge of each other
//! as long as they refer to nothing before themselves, which those of a new compressor do not.

use bytes::Bytes;
use crc32fast::Hasher;
use flate2::{Compress, Compression, FlushCompress, Status};

/// Deflate, no flags, no time of modification, fastest algorithm, written on Unix.
const HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 3];

/// For what is compressed once: clearly fewer bytes than at level 1 for little more CPU. The levels above save little
/// more for several times the CPU.
const LEVEL_OF_BEGINNING: u32 = 2;
/// For what is compressed at each scrape.
const LEVEL_OF_END: u32 = 1;

/// The beginning of a gzip member: header and complete, byte-aligned deflate blocks, none of them the last.
#[derive(Debug)]
pub(super) struct Beginning {
    bytes: Bytes,
    checksum: Hasher,
}

/// Takes the text of a [`Beginning`], part by part.
#[derive(Debug)]
pub(super) struct Writer {
    deflate: Deflate,
    checksum: Hasher,
}

impl Writer {
    pub(super) fn new() -> Self {
        Self { deflate: Deflate::new(LEVEL_OF_BEGINNING, HEADER.to_vec()), checksum: Hasher::new() }
    }

    pub(super) fn write(&mut self, text: &[u8]) {
        self.checksum.update(text);
        self.deflate.write(text, FlushCompress::None);
    }

    pub(super) fn finish(mut self) -> Beginning {
        self.deflate.write(&[], FlushCompress::Sync);
        let mut bytes = self.deflate.out;
        bytes.shrink_to_fit();
        Beginning { bytes: bytes.into(), checksum: self.checksum }
    }
}

impl Beginning {
    /// The whole member: this, and `end` after it. `length` is that of the text of both, in bytes.
    pub(super) fn complete(&self, end: &[u8], length: u64) -> [Bytes; 2] {
        let mut deflate = Deflate::new(LEVEL_OF_END, Vec::with_capacity(4096));
        deflate.write(end, FlushCompress::Finish);
        let mut checksum = self.checksum.clone();
        checksum.update(end);
        let mut out = deflate.out;
        out.extend_from_slice(&checksum.finalize().to_le_bytes());
        #[expect(clippy::cast_possible_truncation, reason = "RFC 1952: the size modulo 2^32")]
        out.extend_from_slice(&(length as u32).to_le_bytes());
        [self.bytes.clone(), out.into()]
    }
}

/// Raw deflate into a growing buffer.
#[derive(Debug)]
struct Deflate {
    compress: Compress,
    out: Vec<u8>,
}

impl Deflate {
    fn new(level: u32, out: Vec<u8>) -> Self {
        Self { compress: Compress::new(Compression::new(level), false), out }
    }

    fn write(&mut self, mut text: &[u8], flush: FlushCompress) {
        loop {
            self.out.reserve(1024);
            let before = self.compress.total_in();
            let status = self
                .compress
                .compress_vec(text, &mut self.out, flush)
                .expect("a compressor without a dictionary takes any bytes until it is finished");
            let taken = usize::try_from(self.compress.total_in() - before).expect("part of a slice fits its length");
            text = &text[taken..];
            let is_flushed = self.out.len() < self.out.capacity();
            if matches!(status, Status::StreamEnd) || (flush != FlushCompress::Finish && text.is_empty() && is_flushed)
            {
                return;
            }
        }
    }
}
