//! The replies of a peer, from a well-formed response to an endless body.

use flate2::{Compress, Compression, FlushCompress, write::GzEncoder};
use std::{
    io::{self, Write as _},
    sync::Arc,
    thread,
    time::Duration,
};

/// The reply to one request.
#[derive(Clone)]
pub enum Reply {
    /// A response with a correct `Content-Length`, on a connection that is kept alive.
    Answer {
        status: u16,
        headers: Vec<(String, String)>,
        body: Vec<u8>,
    },
    /// The bytes that the function writes, then the end.
    Wire(Write, End),
}

type Write = Arc<dyn Fn(&mut dyn io::Write) -> io::Result<()> + Send + Sync>;

/// The end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Keep,
    Close,
    /// The connection is closed with an RST.
    Reset,
    /// The connection stays silent until the peer gives up.
    Hang,
}

const GIBIBYTE: u64 = 1 << 30;
const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n";

impl Reply {
    /// Returns status 200 with this JSON text.
    pub fn json(body: impl Into<Vec<u8>>) -> Self {
        Self::Answer {
            status: 200,
            headers: vec![("content-type".into(), "application/json".into())],
            body: body.into(),
        }
    }

    /// Returns this status with a JSON object that contains it.
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
        Self::json("<!doctype html><title>Maintenance</title><p>Back soon.")
            .header("content-type", "text/html")
    }

    pub fn redirect(location: &str) -> Self {
        Self::status(302).header("location", location)
    }

    fn wire(
        end: End,
        write: impl Fn(&mut dyn io::Write) -> io::Result<()> + Send + Sync + 'static,
    ) -> Self {
        Self::Wire(Arc::new(write), end)
    }

    /// Closes the connection before the first byte of a response.
    pub fn close() -> Self {
        Self::wire(End::Close, |_| Ok(()))
    }

    /// Resets the connection before the first byte of a response.
    pub fn reset() -> Self {
        Self::wire(End::Reset, |_| Ok(()))
    }

    /// Accepts the request and never responds.
    pub fn never() -> Self {
        Self::wire(End::Hang, |_| Ok(()))
    }

    /// Sends half of `body` under the `Content-Length` of the whole, then closes.
    pub fn cut_short(body: &str) -> Self {
        let half = format!(
            "{HEAD}content-length: {}\r\n\r\n{}",
            body.len(),
            &body[..body.len() / 2]
        );
        Self::wire(End::Close, move |to| to.write_all(half.as_bytes()))
    }

    /// Sends half of `body` under the `Content-Length` of the whole, then resets.
    pub fn reset_in_the_middle(body: &str) -> Self {
        let half = format!(
            "{HEAD}content-length: {}\r\n\r\n{}",
            body.len(),
            &body[..body.len() / 2]
        );
        Self::wire(End::Reset, move |to| {
            to.write_all(half.as_bytes())?;
            // A reset discards bytes that have not arrived yet.
            thread::sleep(Duration::from_millis(20));
            Ok(())
        })
    }

    pub fn garbage() -> Self {
        Self::wire(End::Close, |to| {
            to.write_all(b"SSH-2.0-OpenSSH_9.2\r\n\r\n")
        })
    }

    pub fn bad_chunk() -> Self {
        let bytes = format!("{HEAD}transfer-encoding: chunked\r\n\r\n2\r\n[]\r\nno-size\r\n\r\n");
        Self::wire(End::Close, move |to| to.write_all(bytes.as_bytes()))
    }

    /// Sends `body`, one byte a second.
    pub fn drip(body: &str) -> Self {
        let (head, body) = (
            format!("{HEAD}content-length: {}\r\n\r\n", body.len()),
            body.to_owned(),
        );
        Self::wire(End::Keep, move |to| {
            to.write_all(head.as_bytes())?;
            body.bytes().try_for_each(|byte| {
                to.write_all(&[byte])?;
                to.flush()?;
                thread::sleep(Duration::from_secs(1));
                Ok(())
            })
        })
    }

    /// Sends `head`, then `part` this many times.
    fn repeat(head: String, part: Vec<u8>, times: u64) -> Self {
        Self::wire(End::Close, move |to| {
            to.write_all(head.as_bytes())?;
            (0..times).try_for_each(|_| to.write_all(&part))
        })
    }

    pub fn endless_headers() -> Self {
        Self::repeat(
            HEAD.to_owned(),
            format!("x-filler: {}\r\n", "f".repeat(1000)).into(),
            u64::MAX,
        )
    }

    /// Sends an endless chunked body that begins like a JSON array.
    pub fn endless_chunks() -> Self {
        let head = format!("{HEAD}transfer-encoding: chunked\r\n\r\n1\r\n[\r\n");
        Self::repeat(
            head,
            format!("10000\r\n{}\r\n", " ".repeat(0x10000)).into(),
            u64::MAX,
        )
    }

    /// Sends the start of an array, with a `Content-Length` of 1 GiB.
    pub fn gibibyte() -> Self {
        let head = format!("{HEAD}content-length: {}\r\n\r\n[", GIBIBYTE + 1);
        Self::repeat(head, vec![b' '; 1 << 16], GIBIBYTE >> 16)
    }

    /// Sends a gzip of 1 GiB of zeros: about a mebibyte on the wire.
    pub fn gzip_bomb() -> Self {
        let zeros = vec![0; 1 << 20];
        let mut block = Vec::with_capacity(1 << 13);
        Compress::new(Compression::best(), false)
            .compress_vec(&zeros, &mut block, FlushCompress::Full)
            .unwrap();
        let head = format!("{HEAD}content-encoding: gzip\r\nconnection: close\r\n\r\n");
        Self::wire(End::Close, move |to| {
            to.write_all(head.as_bytes())?;
            to.write_all(&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255])?;
            (0..GIBIBYTE >> 20).try_for_each(|_| to.write_all(&block))
        })
    }

    /// Sends `body` compressed.
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

    pub(super) fn send(&self, to: &mut impl io::Write) -> io::Result<()> {
        match self {
            Self::Answer {
                status,
                headers,
                body,
            } => {
                let mut head = format!(
                    "HTTP/1.1 {status} Scripted\r\ncontent-length: {}\r\n",
                    body.len()
                );
                for (name, value) in headers {
                    head += &format!("{name}: {value}\r\n");
                }
                to.write_all(&[head.as_bytes(), b"\r\n", body].concat())?;
            }
            Self::Wire(write, _) => write(to)?,
        }
        to.flush()
    }
}
