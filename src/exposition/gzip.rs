//! One gzip member out of cached parts and an end made at the scrape.
//!
//! RFC 1952 lets a body have several members, and curl and browsers stop after the first. So the parts are deflate
//! blocks that end with a sync flush, on a byte boundary; the end adds its own blocks, the last of them marked so, the
//! checksum of all parts and their size. RFC 1951 blocks need no knowledge of each other as long as they refer to
//! nothing before themselves, which those of a new compressor do not.

use bytes::Bytes;
use crc32fast::Hasher;
use flate2::{Compress, Compression, FlushCompress, Status};
use std::cell::RefCell;

/// Deflate, no flags, no time of modification, fastest algorithm, written on Unix.
const HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 3];

/// For what is compressed once: clearly fewer bytes than at level 1 for little more CPU. The levels above save little
/// more for several times the CPU.
const LEVEL_OF_BEGINNING: u32 = 2;
/// For what is compressed at scrapes.
const LEVEL_AT_SCRAPE: u32 = 1;

thread_local! {
    // Some 300 KB that need not be allocated and cleared for each scrape.
    static AT_SCRAPE: RefCell<Compress> = RefCell::new(Compress::new(Compression::new(LEVEL_AT_SCRAPE), false));
}

/// Part of a gzip member: complete, byte-aligned deflate blocks, none of them the last; the first part of a member
/// begins with its header.
#[derive(Debug, Clone)]
pub(super) struct Part {
    pub bytes: Bytes,
    checksum: Hasher,
}

/// Takes the text of a member's first [`Part`], piece by piece.
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

    pub(super) fn finish(mut self) -> Part {
        deflate(&mut self.compress, &[], FlushCompress::Sync, &mut self.bytes);
        self.bytes.shrink_to_fit();
        Part { bytes: self.bytes.into(), checksum: self.checksum }
    }
}

impl Part {
    /// The part that holds `text` and follows this one.
    pub(super) fn followed_by(&self, text: &[u8]) -> Self {
        let mut checksum = self.checksum.clone();
        checksum.update(text);
        Self { bytes: compressed(text, FlushCompress::Sync).into(), checksum }
    }

    /// The end of a member whose last part this is. `length` is that of the text of the whole member, in bytes.
    pub(super) fn ended_by(&self, text: &[u8], length: u64) -> Bytes {
        let mut out = compressed(text, FlushCompress::Finish);
        let mut checksum = self.checksum.clone();
        checksum.update(text);
        out.extend_from_slice(&checksum.finalize().to_le_bytes());
        #[expect(clippy::cast_possible_truncation, reason = "RFC 1952: the size modulo 2^32")]
        out.extend_from_slice(&(length as u32).to_le_bytes());
        out.into()
    }
}

fn compressed(text: &[u8], flush: FlushCompress) -> Vec<u8> {
    let mut out = Vec::with_capacity(4096);
    AT_SCRAPE.with_borrow_mut(|compress| {
        compress.reset();
        deflate(compress, text, flush, &mut out);
    });
    out
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
