//! One gzip member out of a cached beginning and an end made at the scrape.
//!
//! RFC 1952 lets a body have several members, and curl and browsers stop after the first. So the cached part is the
//! member's header and deflate blocks that end with a sync flush, on a byte boundary; the end adds its own blocks, the
//! last of them marked so, the checksum of both parts and their size. RFC 1951 blocks need no knowledge of each other
//! as long as they refer to nothing before themselves, which those of a new compressor do not.

use bytes::Bytes;
use crc32fast::Hasher;
use flate2::{Compress, Compression, FlushCompress, Status};
use std::cell::RefCell;

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
    compress: Compress,
    bytes: Vec<u8>,
    checksum: Hasher,
}

impl Writer {
    pub(super) fn new() -> Self {
        let compress = Compress::new(Compression::new(LEVEL_OF_BEGINNING), false);
        Self { compress, bytes: HEADER.to_vec(), checksum: Hasher::new() }
    }

    pub(super) fn write(&mut self, text: &[u8]) {
        self.checksum.update(text);
        deflate(&mut self.compress, text, FlushCompress::None, &mut self.bytes);
    }

    pub(super) fn finish(mut self) -> Beginning {
        deflate(&mut self.compress, &[], FlushCompress::Sync, &mut self.bytes);
        self.bytes.shrink_to_fit();
        Beginning { bytes: self.bytes.into(), checksum: self.checksum }
    }
}

impl Beginning {
    /// The whole member: this, and `end` after it. `length` is that of the text of both, in bytes.
    pub(super) fn complete(&self, end: &[u8], length: u64) -> [Bytes; 2] {
        thread_local! {
            // Some 300 KB that need not be allocated and cleared for each scrape.
            static COMPRESS: RefCell<Compress> = RefCell::new(Compress::new(Compression::new(LEVEL_OF_END), false));
        }
        let mut out = Vec::with_capacity(4096);
        COMPRESS.with_borrow_mut(|compress| {
            compress.reset();
            deflate(compress, end, FlushCompress::Finish, &mut out);
        });
        let mut checksum = self.checksum.clone();
        checksum.update(end);
        out.extend_from_slice(&checksum.finalize().to_le_bytes());
        #[expect(clippy::cast_possible_truncation, reason = "RFC 1952: the size modulo 2^32")]
        out.extend_from_slice(&(length as u32).to_le_bytes());
        [self.bytes.clone(), out.into()]
    }
}

/// Appends `text`, compressed, to `out`, and flushes as asked.
fn deflate(compress: &mut Compress, mut text: &[u8], flush: FlushCompress, out: &mut Vec<u8>) {
    loop {
        out.reserve(1024);
        let before = compress.total_in();
        let status = compress
            .compress_vec(text, out, flush)
            .expect("a compressor without a dictionary takes any bytes until it is finished");
        let taken = usize::try_from(compress.total_in() - before).expect("part of a slice fits its length");
        text = &text[taken..];
        let is_flushed = out.len() < out.capacity();
        if matches!(status, Status::StreamEnd) || (flush != FlushCompress::Finish && text.is_empty() && is_flushed) {
            return;
        }
    }
}
