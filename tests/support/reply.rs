//! What a peer can do to a request, from a well-formed answer to a body without end.

use flate2::{Compress, Compression, FlushCompress, write::GzEncoder};
use std::{
    io::{self, Write},
    thread,
    time::Duration,
};

/// What is done to one request.
#[derive(Debug, Clone)]
pub enum Reply {
    /// A response with a right `Content-Length`, after which the connection is kept.
    Answer { status: u16, headers: Vec<(String, String)>, body: Vec<u8> },
    /// These parts, one after the other, then the end.
    Wire(Vec<Part>, End),
}

#[derive(Debug, Clone)]
pub enum Part {
    Bytes(Vec<u8>),
    /// The same bytes so many times.
    Repeat(Vec<u8>, u64),
    /// One byte a second.
    Drip(Vec<u8>),
    Wait(Duration),
}

/// What becomes of the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Keep,
    Close,
    /// Closed with an RST.
    Reset,
    /// Nothing more is sent, until the peer gives up.
    Hang,
}

const GIBIBYTE: u64 = 1 << 30;
const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n";

impl Reply {
    /// Status 200 and this JSON text.
    pub fn json(body: impl Into<Vec<u8>>) -> Self {
        Self::Answer {
            status: 200,
            headers: vec![("content-type".into(), "application/json".into())],
            body: body.into(),
        }
    }

    /// This status and a JSON object that says so.
    pub fn status(status: u16) -> Self {
        Self::json(format!(r#"{{"message":"status {status}"}}"#)).with_status(status)
    }

    pub fn with_status(mut self, code: u16) -> Self {
        if let Self::Answer { status, .. } = &mut self {
            *status = code;
        }
        self
    }

    /// Adds a header, or replaces the one of that name.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        if let Self::Answer { headers, .. } = &mut self {
            headers.retain(|(known, _)| known != name);
            headers.push((name.into(), value.into()));
        }
        self
    }

    pub fn html() -> Self {
        Self::json("<!doctype html><title>Maintenance</title><p>Back soon.").header("content-type", "text/html")
    }

    pub fn redirect(location: &str) -> Self {
        Self::status(302).header("location", location)
    }

    /// Closed before a byte of the answer was sent.
    pub fn close() -> Self {
        Self::Wire(Vec::new(), End::Close)
    }

    /// Reset before a byte of the answer was sent.
    pub fn reset() -> Self {
        Self::Wire(Vec::new(), End::Reset)
    }

    /// Accepted and never answered.
    pub fn never() -> Self {
        Self::Wire(Vec::new(), End::Hang)
    }

    /// Half of `body` under a `Content-Length` for all of it, then closed.
    pub fn cut_short(body: &str) -> Self {
        Self::Wire(vec![Part::Bytes(Self::half_of(body))], End::Close)
    }

    /// Half of `body` under a `Content-Length` for all of it, then reset.
    pub fn reset_in_the_middle(body: &str) -> Self {
        Self::Wire(vec![Part::Bytes(Self::half_of(body)), Part::Wait(Duration::from_millis(20))], End::Reset)
    }

    fn half_of(body: &str) -> Vec<u8> {
        let mut bytes = format!("{HEAD}content-length: {}\r\n\r\n", body.len()).into_bytes();
        bytes.extend(&body.as_bytes()[..body.len() / 2]);
        bytes
    }

    pub fn garbage() -> Self {
        Self::Wire(vec![Part::Bytes(b"SSH-2.0-OpenSSH_9.2\r\n\r\n".to_vec())], End::Close)
    }

    pub fn bad_chunk() -> Self {
        let bytes = format!("{HEAD}transfer-encoding: chunked\r\n\r\n2\r\n[]\r\nno-size\r\n\r\n");
        Self::Wire(vec![Part::Bytes(bytes.into())], End::Close)
    }

    /// `body`, one byte a second.
    pub fn drip(body: &str) -> Self {
        let head = format!("{HEAD}content-length: {}\r\n\r\n", body.len());
        Self::Wire(vec![Part::Bytes(head.into()), Part::Drip(body.into())], End::Keep)
    }

    pub fn endless_headers() -> Self {
        let line = format!("x-filler: {}\r\n", "f".repeat(1000));
        Self::Wire(vec![Part::Bytes(HEAD.into()), Part::Repeat(line.into(), u64::MAX)], End::Close)
    }

    /// A body of chunks without end, which begins as a JSON array does.
    pub fn endless_chunks() -> Self {
        let head = format!("{HEAD}transfer-encoding: chunked\r\n\r\n1\r\n[\r\n");
        let chunk = format!("10000\r\n{}\r\n", " ".repeat(0x10000));
        Self::Wire(vec![Part::Bytes(head.into()), Part::Repeat(chunk.into(), u64::MAX)], End::Close)
    }

    /// 1 GiB of spaces within brackets: valid JSON, declared in `Content-Length`.
    pub fn gibibyte() -> Self {
        let head = format!("{HEAD}content-length: {}\r\n\r\n[", GIBIBYTE + 2);
        let filler = vec![b' '; 1 << 16];
        let parts = vec![Part::Bytes(head.into()), Part::Repeat(filler, GIBIBYTE >> 16), Part::Bytes(b"]".to_vec())];
        Self::Wire(parts, End::Keep)
    }

    /// A gzip of 1 GiB of zeros: about a mebibyte on the wire.
    pub fn gzip_bomb() -> Self {
        let zeros = vec![0; 1 << 20];
        let mut block = Vec::with_capacity(1 << 13);
        Compress::new(Compression::best(), false).compress_vec(&zeros, &mut block, FlushCompress::Full).unwrap();
        let head = format!("{HEAD}content-encoding: gzip\r\nconnection: close\r\n\r\n");
        let gzip = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
        let parts = vec![Part::Bytes(head.into()), Part::Bytes(gzip), Part::Repeat(block, GIBIBYTE >> 20)];
        Self::Wire(parts, End::Close)
    }

    /// `body`, compressed.
    pub fn gzip(body: &str) -> Self {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(body.as_bytes()).unwrap();
        Self::json(encoder.finish().unwrap()).header("content-encoding", "gzip")
    }

    pub(super) fn end(&self) -> End {
        match self {
            Self::Answer { .. } => End::Keep,
            Self::Wire(_, end) => *end,
        }
    }

    pub(super) fn send(&self, to: &mut impl Write) -> io::Result<()> {
        match self {
            Self::Answer { status, headers, body } => {
                let mut bytes = format!("HTTP/1.1 {status} Scripted\r\ncontent-length: {}\r\n", body.len());
                for (name, value) in headers {
                    bytes += &format!("{name}: {value}\r\n");
                }
                let mut bytes = (bytes + "\r\n").into_bytes();
                bytes.extend(body);
                to.write_all(&bytes)?;
            }
            Self::Wire(parts, _) => parts.iter().try_for_each(|part| part.send(to))?,
        }
        to.flush()
    }
}

impl Part {
    fn send(&self, to: &mut impl Write) -> io::Result<()> {
        match self {
            Self::Bytes(bytes) => to.write_all(bytes)?,
            Self::Repeat(bytes, times) => (0..*times).try_for_each(|_| to.write_all(bytes))?,
            Self::Drip(bytes) => {
                for byte in bytes {
                    to.write_all(&[*byte])?;
                    to.flush()?;
                    thread::sleep(Duration::from_secs(1));
                }
            }
            Self::Wait(duration) => thread::sleep(*duration),
        }
        to.flush()
    }
}
