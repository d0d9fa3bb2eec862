//! Snapshot to bytes, once per publication; bytes and own metrics to the body of a scrape.
//!
//! Only what is compressed is kept, a small part of the text: a compressed body is shared by all scrapes, while an
//! uncompressed one is written from the snapshot, a chunk at a time as the client reads it. The exporter's own
//! metrics are encoded at the scrape, behind the rest; those that count what polls do are kept too, until one more
//! event is counted.

mod families;
mod gzip;
mod number;
mod status;

use self::families::Cursor;
use crate::{
    instruments::{Format, Instruments},
    snapshot::{PollStatus, Snapshot},
    sync::lock,
};
use bytes::Bytes;
use std::{
    io,
    iter::FusedIterator,
    sync::{Arc, Mutex, OnceLock},
};

/// Size of the parts of an uncompressed body, in bytes; a part is larger by one sample at most. Above 128 KiB an
/// allocator may fetch each part anew from the system.
const CHUNK: usize = 120 * 1024;
/// What one sample more may add to a chunk, unless its labels are long.
const SLACK: usize = 512;

/// What is served until the next publication.
#[derive(Debug)]
pub struct Published {
    pub snapshot: Arc<Snapshot>,
    pub status: PollStatus,
    /// The gauges of the status, as text.
    gauges: Bytes,
    compressed: gzip::Part,
    /// Bytes of text that a publication fixes.
    length: u64,
    /// What a scrape of each format last encoded of the events.
    events: [Mutex<Option<Arc<EncodedEvents>>>; 2],
}

/// The exposition of the exporter's events at one time.
#[derive(Debug)]
struct EncodedEvents {
    version: u64,
    text: Bytes,
    /// The same text, to be sent after [`Published::compressed`]; made by the first scrape that wants it.
    compressed: OnceLock<gzip::Part>,
}

impl Published {
    /// Encodes `snapshot` for all scrapes to come. Costs CPU: call it off the runtime's threads.
    #[must_use]
    pub fn new(snapshot: Arc<Snapshot>, status: PollStatus) -> Self {
        let mut gauges = Vec::with_capacity(4096);
        status::push_status(&snapshot, &status, &mut gauges);
        let mut writer = gzip::Writer::new();
        let mut length = gauges.len() as u64;
        let mut cursor = Cursor::default();
        let mut chunk = Vec::with_capacity(CHUNK + SLACK);
        while !cursor.is_done() {
            chunk.clear();
            families::fill(&snapshot, &mut cursor, &mut chunk, CHUNK);
            length += chunk.len() as u64;
            writer.write(&chunk);
        }
        writer.write(&gauges);
        Self {
            snapshot,
            status,
            gauges: gauges.into(),
            compressed: writer.finish(),
            length,
            events: Default::default(),
        }
    }

    /// The events until now: encoded anew, unless there was none since another scrape did so.
    fn events(&self, format: Format, instruments: &Instruments) -> Arc<EncodedEvents> {
        let place = &self.events[match format {
            Format::Text => 0,
            Format::OpenMetrics => 1,
        }];
        // Held while encoding, so that no scrape is told less than one before it: what is half counted already would show
        // in what this encodes, and not in what another put into its place.
        let mut place = lock(place);
        let version = instruments.events_version();
        if let Some(known) = place.as_ref().filter(|known| known.version == version) {
            return Arc::clone(known);
        }
        let mut text = String::with_capacity(16 * 1024);
        instruments.encode_events(format, &mut text);
        let encoded = Arc::new(EncodedEvents { version, text: text.into(), compressed: OnceLock::new() });
        *place = Some(Arc::clone(&encoded));
        encoded
    }

    /// The body of a scrape as one gzip member, in the parts to send one after another.
    #[must_use]
    pub fn gzip(&self, format: Format, instruments: &Instruments) -> [Bytes; 3] {
        let events = self.events(format, instruments);
        let live = live(format, instruments);
        let length = self.length + (events.text.len() + live.len()) as u64;
        let compressed = events.compressed.get_or_init(|| self.compressed.followed_by(&events.text));
        let end = compressed.ended_by(live.as_bytes(), length);
        [self.compressed.bytes.clone(), compressed.bytes.clone(), end]
    }

    /// The uncompressed body of a scrape, in parts that are made as they are asked for.
    #[must_use]
    pub fn identity(self: &Arc<Self>, format: Format, instruments: &Instruments) -> Identity {
        let events = self.events(format, instruments).text.clone();
        let live = live(format, instruments);
        Identity {
            remaining: self.length + (events.len() + live.len()) as u64,
            published: Arc::clone(self),
            cursor: Cursor::default(),
            last: [self.gauges.clone(), events, live.into()].into_iter(),
        }
    }

    /// The whole uncompressed body of a scrape.
    #[must_use]
    pub fn text(&self, format: Format, instruments: &Instruments) -> String {
        let mut out = Vec::with_capacity(usize::try_from(self.length).unwrap_or_default() + 2 * SLACK);
        families::fill(&self.snapshot, &mut Cursor::default(), &mut out, usize::MAX);
        out.extend_from_slice(&self.gauges);
        out.extend_from_slice(own(format, instruments).as_bytes());
        // Labels and literals are UTF-8, and nothing is cut within them: the lossy way loses nothing, and cannot fail.
        String::from_utf8(out).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
    }
}

/// The exposition of the exporter's own metrics, complete: the body of a scrape before the first publication.
#[must_use]
pub fn own(format: Format, instruments: &Instruments) -> String {
    let mut out = String::with_capacity(16 * 1024);
    instruments.encode_events(format, &mut out);
    out + &live(format, instruments)
}

/// The end of every exposition: what each scrape finds changed.
fn live(format: Format, instruments: &Instruments) -> String {
    let mut out = String::with_capacity(4 * 1024);
    instruments.encode_live(format, &mut out);
    if format == Format::OpenMetrics {
        out.push_str("# EOF\n");
    }
    out
}

/// Prints the exposition of `snapshot`, for who wants it once and uncompressed.
///
/// # Errors
/// Those of `out`.
pub fn print(
    snapshot: &Snapshot,
    status: &PollStatus,
    format: Format,
    instruments: &Instruments,
    out: &mut impl io::Write,
) -> io::Result<()> {
    let mut cursor = Cursor::default();
    let mut chunk = Vec::with_capacity(CHUNK + SLACK);
    while !cursor.is_done() {
        chunk.clear();
        families::fill(snapshot, &mut cursor, &mut chunk, CHUNK);
        out.write_all(&chunk)?;
    }
    chunk.clear();
    status::push_status(snapshot, status, &mut chunk);
    out.write_all(&chunk)?;
    out.write_all(own(format, instruments).as_bytes())
}

/// The parts of an uncompressed body. Holds the publication it began with, and no copy of the text.
#[derive(Debug)]
pub struct Identity {
    published: Arc<Published>,
    cursor: Cursor,
    last: std::array::IntoIter<Bytes, 3>,
    remaining: u64,
}

impl Identity {
    /// How many bytes are still to come.
    #[must_use]
    pub fn remaining(&self) -> u64 {
        self.remaining
    }
}

impl Iterator for Identity {
    type Item = Bytes;

    fn next(&mut self) -> Option<Bytes> {
        let mut chunk = Bytes::new();
        if !self.cursor.is_done() {
            let mut out = Vec::with_capacity(CHUNK + SLACK);
            families::fill(&self.published.snapshot, &mut self.cursor, &mut out, CHUNK);
            chunk = out.into();
        }
        if chunk.is_empty() {
            chunk = self.last.next()?;
        }
        self.remaining -= chunk.len() as u64;
        Some(chunk)
    }
}

impl FusedIterator for Identity {}

#[cfg(test)]
mod tests;
